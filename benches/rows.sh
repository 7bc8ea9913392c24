# shellcheck shell=bash
# The rows of the table that benches/run prints. Sourced by it; a row that cannot be measured ends the run.

# --- the machine ----------------------------------------------------------------------------------------------------

describe() {
    local cpu memory versions=()
    cpu=$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)
    memory=$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)
    [ -z "$POSTGRES_PID" ] || versions+=("PostgreSQL $(pg -c 'SHOW server_version' | cut -d ' ' -f 1)")
    [ -z "$MARIADB_PID" ] || versions+=("MariaDB $(maria -e 'SELECT VERSION()' | cut -d - -f 1)")
    printf '%s, %s cores (%s), %s, Linux %s' "$(date -u +%F)" "$(nproc)" "${cpu:-unknown}" "$memory" "$(uname -r)"
    [ -z "$with_quartz" ] || versions+=("Java $(java -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p')")
    printf ', %s' ${versions[@]+"${versions[@]}"} "history $HISTORY"
    [ -z "${CARNELIAN_BENCH_REALTIME-}" ] || printf ', real-time class'
    [ -z "$smoke" ] || printf ', SMOKE: figures mean nothing'
    printf '.\n\n'
}

# --- ours -----------------------------------------------------------------------------------------------------------

# `configure NAME URL [PROPERTY…]`: a properties file, and the tables.
configure() {
    local name=$1 url=$2 property
    shift 2
    {
        printf 'org.quartz.scheduler.instanceName = bench\norg.quartz.jobStore.isClustered = true\n'
        printf 'org.quartz.jobStore.dataSource = main\norg.quartz.dataSource.main.URL = %s\n' "$url"
        printf 'org.quartz.dataSource.main.maxConnections = 12\n'
        for property in "$@"; do printf '%s\n' "$property"; done
    } >"$SERVERS_DIR/$name.properties"
    "$BINARY" --config "$SERVERS_DIR/$name.properties" migrate >/dev/null || die "$name: the tables cannot be made"
}

# `ours NAME OPTION…`: runs the bench; its answer is in $SERVERS_DIR/answer.
ours() {
    local name=$1
    shift
    "$BINARY" --config "$SERVERS_DIR/$name.properties" bench --json --history "$HISTORY" "$@" \
        >"$SERVERS_DIR/answer" || die "$name: carnelian bench $* failed"
}

# `answer FIELD` or `answer OBJECT FIELD`: a number of the last answer, which has a field a line.
answer() {
    local object= field=$1
    [ $# = 1 ] || object=$1 field=$2
    awk -v object="$object" -v field="$field" '
        object != "" && index($0, "\"" object "\":") { inside = 1 }
        inside && /}/ { inside = 0 }
        (object == "" || inside) && match($0, "^ *\"" field "\": *[-0-9.e+]+") {
            sub(/^[^:]*: */, ""); sub(/,$/, ""); print; found = 1; exit
        }
        END { if (!found) exit 1 }' "$SERVERS_DIR/answer" || die "the bench does not say $*: $(cat "$SERVERS_DIR/answer")"
}

number() { awk -v n="$1" 'BEGIN { printf "%.0f", n }'; }
digits() { awk -v n="$1" -v d="$2" 'BEGIN { printf "%.*f", d, n }'; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { if (b > 0) printf "%.2f", a / b; else print "-" }'; }
line() { printf '| %s | %s | %s | %s |\n' "$@"; }

# `beside_quartz WORK OURS [FIGURE]`: the row of real Quartz, of which a rate is in the last answer; says how much work it was.
beside_quartz() {
    local its
    its=$(theirs "${3:-fires_per_second}") || exit 1
    line "the same; Quartz: $1" "$(number "$2")/s" "$QUARTZ: $(number "$its")/s" "$(ratio "$2" "$its")"
}

DRAIN=(--threads 20)
OWN_RATE=

# Our figure for a small store on PostgreSQL, which other rows are compared with; measured once.
own_rate() {
    [ -z "$OWN_RATE" ] || return 0
    pg_settle
    ours postgres "${DRAIN[@]}" --triggers "$DRAINED"
    OWN_RATE=$(answer fires_per_second)
}

# --- the rows -------------------------------------------------------------------------------------------------------

row_drain() {
    local floor small recovering
    own_rate
    pg_floor "$DRAINED" "$FLOOR_BATCH" 1 && floor=$FLOOR_RATE
    line "drain of $DRAINED one-shots, 1 node, 20 workers" "$(number "$OWN_RATE")/s" \
        "floor, batches of $FLOOR_BATCH, 1 client: $(number "$floor")/s" "$(ratio "$OWN_RATE" "$floor")"
    cp "$SERVERS_DIR/answer" "$SERVERS_DIR/plain"
    pg_settle
    ours postgres "${DRAIN[@]}" --triggers "$DRAINED" --recovery
    recovering=$(answer fires_per_second)
    cp "$SERVERS_DIR/plain" "$SERVERS_DIR/answer"
    line "the same, of jobs that request recovery" "$(number "$recovering")/s" "the same floor" "$(ratio "$recovering" "$floor")"
    pg_floor "$DRAINED" 20 1 && small=$FLOOR_RATE
    line "the same" "" "floor, batches of 20, 1 client: $(number "$small")/s" "$(ratio "$OWN_RATE" "$small")"
    pg_floor "$DRAINED" "$FLOOR_BATCH" 4 && floor=$FLOOR_RATE
    line "the same" "" "floor, batches of $FLOOR_BATCH, 4 clients: $(number "$floor")/s" "$(ratio "$OWN_RATE" "$floor")"
    if [ -n "$with_quartz" ]; then
        quartz_tables postgres
        quartz postgres drain "$QUARTZ_DRAINED" "$QUARTZ_ROUNDS" 120
        beside_quartz "$QUARTZ_DRAINED one-shots, median of $QUARTZ_ROUNDS" "$OWN_RATE"
    fi
    line "statements, commits, WAL bytes of a fire" \
        "$(digits "$(answer statements_per_fire)" 3), $(digits "$(answer commits_per_fire)" 4), $(number "$(answer wal_bytes_per_fire)")" \
        "WAL of the floor: $(number "$FLOOR_WAL")" "$(ratio "$(answer wal_bytes_per_fire)" "$FLOOR_WAL")"
}

row_stored() {
    local rate
    own_rate
    pg_settle
    ours postgres "${DRAIN[@]}" --triggers "$DRAINED" --stored "$STORED"
    rate=$(answer fires_per_second)
    line "drain of $DRAINED with $STORED future triggers stored" "$(number "$rate")/s" "none stored: $(number "$OWN_RATE")/s" \
        "$(ratio "$rate" "$OWN_RATE")"
    [ -n "$with_quartz" ] || return 0
    quartz_tables postgres
    quartz_stored "$STORED"
    quartz postgres drain "$QUARTZ_DRAINED" 1 "$QUARTZ_SECONDS"
    beside_quartz "what of $QUARTZ_DRAINED it makes in $QUARTZ_SECONDS s" "$rate"
}

row_backlog() {
    local backlog rate rates=()
    own_rate
    for backlog in "${BACKLOGS[@]}"; do
        pg_settle
        ours postgres "${DRAIN[@]}" --triggers "$backlog"
        rate=$(answer fires_per_second)
        line "backlog of $backlog due at once" "$(number "$rate")/s" "$DRAINED due: $(number "$OWN_RATE")/s" \
            "$(ratio "$rate" "$OWN_RATE")"
        rates+=("$rate")
    done
    [ -n "$with_quartz" ] || return 0
    quartz_tables postgres
    quartz postgres drain "$QUARTZ_BACKLOG" 1 "$QUARTZ_SECONDS"
    beside_quartz "what of $QUARTZ_BACKLOG it makes in $QUARTZ_SECONDS s" "${rates[0]}"
}

row_nodes() {
    local nodes rate least
    own_rate
    for nodes in 2 4; do
        pg_settle
        ours postgres "${DRAIN[@]}" --triggers "$DRAINED" --nodes "$nodes"
        rate=$(answer fires_per_second)
        least=$(awk -v all="$DRAINED" -v nodes="$nodes" '
            /"nodes": \[/ { inside = 1 } inside && /"fires":/ { gsub(/[^0-9]/, ""); if (least == "" || $0 + 0 < least) least = $0 + 0 }
            END { printf "%.2f", least * nodes / all }' "$SERVERS_DIR/answer")
        line "$nodes nodes; the least that a node got of its share: $least" "$(number "$rate")/s" \
            "1 node: $(number "$OWN_RATE")/s" "$(ratio "$rate" "$OWN_RATE")"
    done
}

# Each flush a millisecond longer, until `usual_flushes`.
long_flushes() {
    pg -c "ALTER SYSTEM SET commit_delay = 1000" -c "ALTER SYSTEM SET commit_siblings = 0" -c "SELECT pg_reload_conf()" >/dev/null
}

usual_flushes() {
    pg -c "ALTER SYSTEM RESET commit_delay" -c "ALTER SYSTEM RESET commit_siblings" -c "SELECT pg_reload_conf()" >/dev/null
}

# As many nodes, under one lock and under a lock for each.
row_schedulers() {
    local flush nodes one many
    for flush in '' ', each flush 1 ms longer'; do
        [ -z "$flush" ] || long_flushes
        for nodes in 2 4; do
            pg_settle
            ours postgres "${DRAIN[@]}" --triggers "$DRAINED" --nodes "$nodes"
            one=$(answer fires_per_second)
            pg_settle
            ours postgres "${DRAIN[@]}" --triggers "$DRAINED" --nodes "$nodes" --schedulers "$nodes"
            many=$(answer fires_per_second)
            line "$nodes schedulers of a node each$flush" "$(number "$many")/s" "1 scheduler, $nodes nodes: $(number "$one")/s" \
                "$(ratio "$many" "$one")"
        done
    done
    usual_flushes
}

row_flush() {
    local rate
    own_rate
    long_flushes
    pg_settle
    ours postgres "${DRAIN[@]}" --triggers "$DRAINED"
    rate=$(answer fires_per_second)
    usual_flushes
    line "drain of $DRAINED, each flush 1 ms longer" "$(number "$rate")/s" "flush as it is: $(number "$OWN_RATE")/s" \
        "$(ratio "$rate" "$OWN_RATE")"
}

row_paced() {
    local times paced
    for times in 1 5; do
        paced=$((PACED * times))
        pg_settle
        ours postgres "${DRAIN[@]}" --triggers "$paced" --repeat $((PACES - 1)) --every 1s
        line "$paced triggers, each every second for $PACES s: $(answer fires) fires, none missing" \
            "lateness p50 $(answer lateness_ms p50) ms, p99 $(answer lateness_ms p99) ms, max $(answer lateness_ms max) ms" "" ""
        [ -n "$with_quartz" ] || continue
        quartz_tables postgres
        quartz postgres paced "$paced" "$PACES"
        line "the same, $(number "$(theirs fires)") fires, without the first of each trigger" "" \
            "$QUARTZ: p50 $(number "$(theirs p50)") ms, p99 $(number "$(theirs p99)") ms, max $(number "$(theirs max)") ms" ""
    done
}

row_latency() {
    local where name
    pg_settle
    ours postgres --latency --triggers "$SAMPLES"
    for where in same_node_ms other_node_ms; do
        name='the node that stored it'
        [ $where = same_node_ms ] || name='another node'
        line "schedule to start, by $name" \
            "p50 $(digits "$(answer $where p50)" 1) ms, p99 $(digits "$(answer $where p99)" 1) ms, max $(digits "$(answer $where max)" 1) ms" \
            "the call alone: p50 $(digits "$(answer $where call_p50)" 1) ms" ""
    done
    [ -n "$with_quartz" ] || return 0
    quartz_tables postgres
    quartz postgres latency "$SAMPLES"
    line "schedule to start, by the node that stored it" "p50 $(digits "$(answer same_node_ms p50)" 1) ms" \
        "$QUARTZ: p50 $(digits "$(theirs p50)" 1) ms, p99 $(digits "$(theirs p99)" 1) ms, max $(digits "$(theirs max)" 1) ms" \
        "$(ratio "$(answer same_node_ms p50)" "$(theirs p50)")"
}

row_scheduling() {
    local one
    pg_settle
    ours postgres --schedule --triggers "$CALLS" --threads 8
    one=$(answer one_thread per_second)
    if [ -n "$with_quartz" ]; then
        quartz_tables postgres
        quartz postgres calls $((CALLS / 2)) 8 "$QUARTZ_BULK"
    fi
    line "scheduling calls, a trigger of a stored job, 1 thread" "$(number "$one")/s" "" ""
    [ -z "$with_quartz" ] || beside_quartz "$((CALLS / 2)) calls" "$one" one_thread
    line "the same, 8 threads" "$(number "$(answer threads per_second)")/s" "1 thread: $(number "$one")/s" \
        "$(ratio "$(answer threads per_second)" "$one")"
    [ -z "$with_quartz" ] || beside_quartz "$((CALLS / 2)) calls" "$(answer threads per_second)" threads
    line "a job and its trigger, 1 thread" "$(number "$(answer job_and_trigger per_second)")/s" "" ""
    [ -z "$with_quartz" ] || beside_quartz "$((CALLS / 2)) calls" "$(answer job_and_trigger per_second)" job_and_trigger
    line "10,000 triggers of a job a call" "$(number "$(answer bulk per_second)")/s" "" ""
    [ -z "$with_quartz" ] || beside_quartz "$QUARTZ_BULK triggers a call" "$(answer bulk per_second)" bulk
}

# `storing DATABASE PROPERTIES CALL_FLOOR STORE_FLOOR`: calls of one trigger and of many, each beside the bare inserts of the same
# rows, which these functions measure: one trigger a call, and many.
storing() {
    local database=$1 properties=$2 call_floor=$3 store_floor=$4 size=$((CALLS < 10000 ? CALLS : 10000))
    ours "$properties" --schedule --triggers "$CALLS" --threads 8
    $call_floor "$((CALLS / 5))"
    line "$database: a trigger of a stored job a call, 1 thread" "$(number "$(answer one_thread per_second)")/s" \
        "floor, bare inserts: $(number "$FLOOR_RATE")/s" "$(ratio "$(answer one_thread per_second)" "$FLOOR_RATE")"
    $store_floor 10 "$size"
    line "$database: $size triggers of a job a call" "$(number "$(answer bulk per_second)")/s" \
        "floor, bare inserts: $(number "$FLOOR_RATE")/s" "$(ratio "$(answer bulk per_second)" "$FLOOR_RATE")"
    $store_floor 10 "$size" jobs
    line "$database: $size jobs with a trigger each a call" "$(number "$(answer bulk_jobs per_second)")/s" \
        "floor, bare inserts: $(number "$FLOOR_RATE")/s" "$(ratio "$(answer bulk_jobs per_second)" "$FLOOR_RATE")"
}

maria_call_floor() { maria_store_floor "$1" 1; }
sqlite_store() { sqlite_store_floor "$SERVERS_DIR/storing.db" "$@"; }
sqlite_call_floor() { sqlite_store "$1" 1; }

row_storing() {
    pg_settle
    storing PostgreSQL postgres pg_call_floor pg_store_floor
    storing MariaDB mariadb maria_call_floor maria_store_floor
    configure sqlite-storing "sqlite:$SERVERS_DIR/storing.db"
    storing SQLite sqlite-storing sqlite_call_floor sqlite_store
}

row_mariadb() {
    local rate
    ours mariadb "${DRAIN[@]}" --triggers "$DRAINED"
    rate=$(answer fires_per_second)
    maria_floor "$DRAINED" "$FLOOR_BATCH"
    line "MariaDB: drain of $DRAINED one-shots, 1 node, 20 workers" "$(number "$rate")/s" \
        "floor, batches of $FLOOR_BATCH, 1 client: $(number "$FLOOR_RATE")/s" "$(ratio "$rate" "$FLOOR_RATE")"
    [ -n "$with_quartz" ] || return 0
    quartz_tables mariadb
    quartz mariadb drain "$QUARTZ_DRAINED" "$QUARTZ_ROUNDS" 120
    beside_quartz "$QUARTZ_DRAINED one-shots, median of $QUARTZ_ROUNDS" "$rate"
}

row_sqlite() {
    local mode properties
    for mode in full normal; do
        properties=()
        [ $mode = full ] || properties=("carnelian.dataSource.synchronous = $mode")
        # In a part of its own: a version without the setting has no such row, and says why.
        (FAILED= configure "sqlite-$mode" "sqlite:$SERVERS_DIR/$mode.db" ${properties[@]+"${properties[@]}"}) || {
            [ $mode = normal ] || die "no tables in SQLite"
            line "SQLite file, synchronous $mode" "this version has no such setting" "" ""
            continue
        }
        ours "sqlite-$mode" "${DRAIN[@]}" --triggers "$FEW"
        line "SQLite file, synchronous $mode: drain of $FEW one-shots" "$(number "$(answer fires_per_second)")/s" "" ""
    done
}

row_memory() {
    printf 'org.quartz.jobStore.class = RAMJobStore\n' >"$SERVERS_DIR/memory.properties"
    ours memory "${DRAIN[@]}" --triggers "$IN_MEMORY"
    line "store in memory: drain of $IN_MEMORY one-shots, 20 workers" "$(number "$(answer fires_per_second)")/s" "" ""
    [ -n "$with_quartz" ] || return 0
    quartz_tables memory
    quartz memory drain $((QUARTZ_DRAINED * 20)) "$QUARTZ_ROUNDS" 120
    beside_quartz "$((QUARTZ_DRAINED * 20)) one-shots, median of $QUARTZ_ROUNDS" "$(answer fires_per_second)"
}
