# shellcheck shell=bash
# Throw-away database servers for tests. Sourced by tests/run and .ci/run (bash, `set -u`), never run by itself.
#
#   need_packages KIND…   install what is missing (build, postgres, mariadb, galera, pgbouncer, patroni, interop,
#                         prometheus, browser), or fail with what to install
#   compile_interop       compiles the Java node of tests/interop; exports CARNELIAN_TEST_INTEROP
#   start_postgres        exports CARNELIAN_TEST_POSTGRES
#   start_mariadb         exports CARNELIAN_TEST_MYSQL; the server below MARIADB_BASE if it is set
#   stop_servers          stops both by pid and removes their directory; for an EXIT trap, safe to repeat
#   verdict STATUS        prints `NAME ok` or `NAME failed: why`, as the last line of a script; for an EXIT trap
#
# Call the start functions in the script's own shell, not in `$(…)`: the servers end when the shell that started them
# does, even if it was killed. They listen on 127.0.0.1 only and keep everything in one temporary directory.

SERVERS_DIR=
POSTGRES_PID=
MARIADB_PID=

# For tests: what a crash of the machine would lose is no loss. benches/run sets these to what a real server has.
# Statements of tests are too short for compiled ones to be worth their compilation.
POSTGRES_SETTINGS=(-c fsync=off -c full_page_writes=off -c jit=off -c shared_buffers=256MB)
MARIADB_SETTINGS=(--innodb-flush-log-at-trx-commit=2 --innodb-flush-method=nosync --innodb-doublewrite=0)

say() { printf '%s\n' "$*" >&2; }
die() { WHY=$*; say "error: $*"; exit 1; }
verdict() {
    if [ "$1" = 0 ]; then echo "$(basename "$0") ok"; else echo "$(basename "$0") failed: ${WHY:-see above}"; fi
}
have() { command -v "$1" >/dev/null 2>&1; }

# --- what must be installed -------------------------------------------------------------------------------------

# The directory of initdb and postgres: POSTGRES_BIN if it is set. Debian keeps them out of PATH; the newest version wins.
postgres_bin() {
    local initdb
    [ -z "${POSTGRES_BIN-}" ] || { echo "$POSTGRES_BIN"; return; }
    initdb=$(compgen -G '/usr/lib/postgresql/*/bin/initdb' | sort -V | tail -n 1)
    [ -n "$initdb" ] || initdb=$(command -v initdb) || return 1
    dirname "$initdb"
}

# A program of MariaDB that may live in an sbin directory outside of PATH.
mariadb_program() {
    PATH=$PATH:/usr/sbin:/usr/local/sbin command -v "$1"
}

# Prints the Debian packages that are missing for the given kinds.
missing_packages() {
    local kind
    for kind in "$@"; do
        case $kind in
        build)
            have cc || echo gcc
            have pkg-config || echo pkg-config
            have python3 || echo python3
            have pg_config || pkg-config --exists libpq 2>/dev/null || echo libpq-dev
            pkg-config --exists libmariadb 2>/dev/null || pkg-config --exists mysqlclient 2>/dev/null || echo libmariadb-dev
            ;;
        postgres) postgres_bin >/dev/null && have psql || echo postgresql ;;
        mariadb)
            mariadb_program mariadbd >/dev/null && have mariadb-install-db && have mariadb || echo mariadb-server
            ;;
        # Beside mariadb. rsync brings the data of one member to another.
        galera)
            compgen -G '/usr/lib*/galera*/libgalera_smm.so' >/dev/null || echo galera-4
            have rsync || echo rsync
            ;;
        interop)
            have javac && have java && have jar || echo default-jdk-headless
            # The package of Quartz brings c3p0, HikariCP and slf4j, which it needs.
            [ -e /usr/share/java/quartz2.jar ] && [ -e /usr/share/java/c3p0.jar ] || echo libquartz2-java
            [ -e /usr/share/java/HikariCP.jar ] || echo libhikaricp-java
            [ -e /usr/share/java/slf4j-simple.jar ] || echo libslf4j-java
            [ -e /usr/share/java/postgresql.jar ] || echo libpostgresql-jdbc-java
            [ -e /usr/share/java/mariadb-java-client.jar ] || echo libmariadb-java
            ;;
        pgbouncer) PATH=$PATH:/usr/sbin have pgbouncer || echo pgbouncer ;;
        patroni)
            have patroni && have patronictl || echo patroni
            have etcd || echo etcd-server
            have etcdctl || echo etcd-client
            have curl || echo curl
            [ -e /usr/lib/python3/dist-packages/etcd ] || echo python3-etcd
            ;;
        # Only its checker of rules, promtool: no server is started.
        prometheus) have promtool || echo prometheus ;;
        browser) have chromium || echo chromium ;;
        *) die "need_packages: no such kind: $kind" ;;
        esac
    done
}

need_packages() {
    local missing sudo=()
    mapfile -t missing < <(missing_packages "$@")
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || sudo=(sudo -n)
    if have apt-get && { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }; then
        # A person is asked; a machine that builds has nobody to ask.
        if [ -t 0 ] && [ -t 2 ]; then
            local answer
            say "these packages are missing: ${missing[*]}"
            read -r -p 'install them with apt-get? [y/N] ' answer
            [[ $answer == [yY]* ]] || die "not installed: ${missing[*]}
install them and run again, e.g. sudo apt-get install ${missing[*]}"
        fi
        say "installing: ${missing[*]}"
        "${sudo[@]}" apt-get update -qq >&2 || die "apt-get update failed; needed: ${missing[*]}"
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
            "${missing[@]}" >&2 || die "apt-get could not install: ${missing[*]}"
        mapfile -t missing < <(missing_packages "$@")
        [ ${#missing[@]} -eq 0 ] || die "installed, and still not found: ${missing[*]}"
    else
        die "not installed (names as on Debian): ${missing[*]}
install them and run again, e.g. sudo apt-get install ${missing[*]}"
    fi
}

# Into the target folder of the project, the current directory.
compile_interop() {
    local folder=${CARGO_TARGET_DIR:-target}/interop
    tests/interop/compile "$folder" || die "the Java node of tests/interop cannot be compiled"
    CARNELIAN_TEST_INTEROP=$(cd "$folder" && pwd) || die "no $folder"
    export CARNELIAN_TEST_INTEROP
}

# --- parts of both servers ----------------------------------------------------------------------------------------

# As `user` when we are root (PostgreSQL refuses to run as root), else as ourselves.
run_as() {
    local user=$1
    shift
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid="$user" --regid="$user" --init-groups -- "$@"
    else
        "$@"
    fi
}

# Starts a server in the background in a session of its own, so that Ctrl-C reaches the tests and not their server, and
# with a signal for the case that this shell is killed. Everything here is `exec`: `$!` is the server itself.
launch() {
    local user=$1 on_parent_death=$2 log=$3
    shift 3
    local as=()
    [ "$(id -u)" = 0 ] && as=(--reuid="$user" --regid="$user" --init-groups)
    setsid setpriv "${as[@]}" --pdeathsig "$on_parent_death" -- "$@" >>"$log" 2>&1 </dev/null &
}

# One directory for both, created at first use. Short: socket paths are limited to 107 bytes.
servers_dir() {
    [ -z "$SERVERS_DIR" ] || return 0
    have setpriv || die "not installed: setpriv (util-linux)"
    local base=${TMPDIR:-/tmp}
    if [ "$(id -u)" = 0 ] || [ ${#base} -gt 60 ]; then base=/tmp; fi
    SERVERS_DIR=$(mktemp -d "$base/carnelian-test.XXXXXX") || die "no temporary directory under $base"
    chmod 711 "$SERVERS_DIR"
}

# A directory in it, owned by the user that the server runs as.
own_dir() {
    mkdir "$1" || die "cannot make $1"
    chmod 700 "$1"
    [ "$(id -u)" != 0 ] || chown "$2" "$1" || die "no user $2 to run the server as"
}

# A port below the range that the system gives to clients, with nobody listening.
free_port() {
    local port
    while :; do
        port=$((20000 + RANDOM % 10000))
        (: </dev/tcp/127.0.0.1/$port) 2>/dev/null || break
    done
    echo "$port"
}

# `until_ready PID COMMAND…`: until the command succeeds, or the server ended, or a minute has passed.
until_ready() {
    local pid=$1 tries
    shift
    for ((tries = 0; tries < 600; tries++)); do
        "$@" >/dev/null 2>&1 && return 0
        kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

show_log() {
    say "--- $1"
    tail -n 30 "$1" >&2
    say "---"
}

# `end_server PID SIGNAL…`: the first signal and 20 seconds of patience, then each next one with five.
end_server() {
    local pid=$1 patience=200 signal tries
    shift
    for signal in "$@" KILL; do
        kill -s "$signal" "$pid" 2>/dev/null || break
        for ((tries = 0; tries < patience; tries++)); do
            kill -0 "$pid" 2>/dev/null || break 2
            sleep 0.1
        done
        patience=50
    done
    wait "$pid" 2>/dev/null
}

# --- PostgreSQL ---------------------------------------------------------------------------------------------------

start_postgres() {
    servers_dir
    local bin dir=$SERVERS_DIR/postgres log=$SERVERS_DIR/postgres.log port attempt admin seen
    bin=$(postgres_bin) || die "no initdb found: install postgresql"
    own_dir "$dir" postgres
    run_as postgres env LC_ALL=C "$bin/initdb" -D "$dir/data" -U postgres --auth=trust --encoding=UTF8 --no-locale --no-sync \
        >"$log" 2>&1 || { show_log "$log"; die "initdb failed"; }

    # Somebody may take the port between the look and the start: then another one.
    for attempt in 1 2 3 4 5; do
        port=$(free_port)
        admin=(env LC_ALL=C psql -X -q -t -A -v ON_ERROR_STOP=1 -h 127.0.0.1 -p "$port" -U postgres)
        # Who asks for another language than C gets German, where the server has been translated.
        launch postgres INT "$log" env LC_ALL=C LANGUAGE=de "$bin/postgres" -D "$dir/data" -p "$port" \
            -c listen_addresses=127.0.0.1 -c unix_socket_directories= \
            -c max_connections=300 "${POSTGRES_SETTINGS[@]}"
        POSTGRES_PID=$!
        until_ready "$POSTGRES_PID" "${admin[@]}" -d postgres -c 'SELECT 1' && break
        end_server "$POSTGRES_PID" INT QUIT
        POSTGRES_PID=
        [ "$attempt" -lt 5 ] && grep -q 'Address already in use' "$log" && continue
        show_log "$log"
        die "PostgreSQL did not start"
    done

    seen=$("${admin[@]}" -d postgres -c 'SHOW data_directory')
    [ "$seen" = "$dir/data" ] || die "port $port answers for another PostgreSQL: $seen"
    # Not a superuser: the tests show that none is needed. carnelian_rows is given rights on rows;
    # to carnelian_abroad the server speaks another language; carnelian_few has two connections.
    # pg_monitor is for the tests' own looks.
    "${admin[@]}" -d postgres >>"$log" 2>&1 <<'SQL' || { show_log "$log"; die "cannot create carnelian_test"; }
CREATE ROLE carnelian LOGIN CREATEDB PASSWORD 'carnelian';
CREATE ROLE carnelian_rows LOGIN PASSWORD 'carnelian_rows';
CREATE ROLE carnelian_abroad LOGIN PASSWORD 'carnelian_abroad' IN ROLE carnelian;
ALTER ROLE carnelian_abroad SET lc_messages = 'C.UTF-8';
CREATE ROLE carnelian_few LOGIN CONNECTION LIMIT 2 PASSWORD 'carnelian_few' IN ROLE carnelian;
GRANT pg_monitor TO carnelian;
CREATE DATABASE carnelian_test OWNER carnelian;
SQL
    export CARNELIAN_TEST_POSTGRES="postgres://carnelian:carnelian@127.0.0.1:$port/carnelian_test"
}

# --- MariaDB ------------------------------------------------------------------------------------------------------

start_mariadb() {
    servers_dir
    local dir=$SERVERS_DIR/mariadb log=$SERVERS_DIR/mariadb.log server install port attempt admin seen
    server=$(mariadb_program mariadbd) || die "no mariadbd found: install mariadb-server"
    install=(mariadb-install-db --no-defaults)
    if [ -n "${MARIADB_BASE-}" ]; then
        server=$MARIADB_BASE/bin/mariadbd
        install=("$MARIADB_BASE/bin/mariadb-install-db" --no-defaults "--basedir=$MARIADB_BASE" --skip-name-resolve)
    fi
    own_dir "$dir" mysql
    run_as mysql mkdir "$dir/tmp" || die "cannot make $dir/tmp"
    run_as mysql env TMPDIR="$dir/tmp" "${install[@]}" --datadir="$dir/data" \
        --auth-root-authentication-method=normal --skip-test-db >"$log" 2>&1 ||
        { show_log "$log"; die "mariadb-install-db failed"; }
    admin=(mariadb --no-defaults --socket="$dir/socket" --user=root --batch --skip-column-names)

    for attempt in 1 2 3 4 5; do
        port=$(free_port)
        launch mysql TERM "$log" "$server" --no-defaults --datadir="$dir/data" --tmpdir="$dir/tmp" \
            --socket="$dir/socket" --pid-file="$dir/pid" --port="$port" --skip-networking=0 --bind-address=127.0.0.1 \
            --max-connections=300 --character-set-server=utf8mb4 "${MARIADB_SETTINGS[@]}"
        MARIADB_PID=$!
        until_ready "$MARIADB_PID" "${admin[@]}" -e 'SELECT 1' && break
        end_server "$MARIADB_PID" TERM
        MARIADB_PID=
        [ "$attempt" -lt 5 ] && grep -q 'Address already in use' "$log" && continue
        show_log "$log"
        die "MariaDB did not start"
    done

    # Databases named carnelian_test… belong to the tests; beyond them they may only look (PROCESS). No anonymous user:
    # it would come before ours for connections from localhost.
    "${admin[@]}" >>"$log" 2>&1 <<'SQL' || { show_log "$log"; die "cannot create carnelian_test"; }
DELETE FROM mysql.global_priv WHERE User = '';
FLUSH PRIVILEGES;
CREATE DATABASE carnelian_test;
CREATE USER carnelian@'%' IDENTIFIED BY 'carnelian';
CREATE USER carnelian_rows@'%' IDENTIFIED BY 'carnelian_rows';
GRANT ALL ON `carnelian\_test%`.* TO carnelian@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON `carnelian\_test%`.* TO carnelian_rows@'%';
GRANT PROCESS ON *.* TO carnelian@'%';
SQL
    # Over the port that the tests will use, as the user that they will use.
    seen=$(mariadb --no-defaults --protocol=TCP --host=127.0.0.1 --port="$port" --user=carnelian --password=carnelian \
        --batch --skip-column-names -e 'SELECT @@datadir' carnelian_test 2>>"$log")
    [ "$seen" = "$dir/data/" ] || { show_log "$log"; die "port $port answers for another MariaDB: '$seen'"; }
    export CARNELIAN_TEST_MYSQL="mysql://carnelian:carnelian@127.0.0.1:$port/carnelian_test"
}

# --- the end ------------------------------------------------------------------------------------------------------

stop_servers() {
    if [ -n "$POSTGRES_PID" ]; then end_server "$POSTGRES_PID" INT QUIT; fi
    POSTGRES_PID=
    if [ -n "$MARIADB_PID" ]; then end_server "$MARIADB_PID" TERM; fi
    MARIADB_PID=
    case $SERVERS_DIR in
    */carnelian-test.??????) rm -rf "$SERVERS_DIR" ;;
    esac
    SERVERS_DIR=
}
