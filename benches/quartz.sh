# shellcheck shell=bash
# Real Quartz beside ours: the same work on tables of its own script, on the same server, tuned. Sourced by benches/run.
#
# Tuned: 20 workers, batches of 20 acquired within the lock, a pool of 25 connections.

# What it is called in the table; its version is that of the jar.
QUARTZ=

prepare_quartz() {
    local version
    need_packages interop
    "$HERE/../tests/interop/compile" "$SERVERS_DIR/quartz" "$HERE/quartz" || die "benches/quartz cannot be compiled"
    version=$(readlink -f /usr/share/java/quartz2.jar | sed 's/.*quartz2-//; s/\.jar$//')
    QUARTZ="Quartz $version, tuned"
}

# `quartz_tables SERVER`: fresh ones, in a database of their own, and the properties to get there in quartz-SERVER. What runs
# of ours have left to be written is written first.
quartz_tables() {
    local server=$1 scripts=$SERVERS_DIR/quartz/classes/org/quartz/impl/jdbcjobstore host name=carnelian_test_quartz
    local store=() quiet='-c client_min_messages=error'
    case $server in
    memory) store=('org.quartz.jobStore.class = org.quartz.simpl.RAMJobStore') ;;
    postgres)
        host=${CARNELIAN_TEST_POSTGRES#*@}
        pg_settle
        PGOPTIONS=$quiet pg -c "DROP DATABASE IF EXISTS $name" -c "CREATE DATABASE $name OWNER carnelian" >/dev/null
        PGOPTIONS=$quiet quartz_psql carnelian:carnelian -f "$scripts/tables_postgres.sql" >/dev/null
        store=('org.quartz.jobStore.driverDelegateClass = org.quartz.impl.jdbcjobstore.PostgreSQLDelegate'
            'org.quartz.dataSource.main.driver = org.postgresql.Driver'
            "org.quartz.dataSource.main.URL = jdbc:postgresql://${host%/*}/$name")
        ;;
    mariadb)
        host=${CARNELIAN_TEST_MYSQL#*@}
        maria -e "DROP DATABASE IF EXISTS $name; CREATE DATABASE $name" >/dev/null || die "no database for Quartz"
        mariadb --no-defaults --socket="$SERVERS_DIR/mariadb/socket" --user=root "$name" \
            <"$scripts/tables_mysql_innodb.sql" >/dev/null || die "the tables of Quartz cannot be made"
        store=('org.quartz.jobStore.driverDelegateClass = org.quartz.impl.jdbcjobstore.StdJDBCDelegate'
            'org.quartz.dataSource.main.driver = org.mariadb.jdbc.Driver'
            "org.quartz.dataSource.main.URL = jdbc:mariadb://${host%/*}/$name")
        ;;
    esac
    [ "$server" = memory ] || store+=('org.quartz.jobStore.class = org.quartz.impl.jdbcjobstore.JobStoreTX'
        'org.quartz.jobStore.isClustered = true' 'org.quartz.jobStore.useProperties = true'
        'org.quartz.jobStore.acquireTriggersWithinLock = true' 'org.quartz.jobStore.dataSource = main'
        'org.quartz.dataSource.main.provider = hikaricp' 'org.quartz.dataSource.main.maxConnections = 25'
        'org.quartz.dataSource.main.user = carnelian' 'org.quartz.dataSource.main.password = carnelian')
    # What is due for long is no misfire here, as in `carnelian bench`.
    printf '%s\n' 'org.quartz.scheduler.instanceName = bench' 'org.quartz.scheduler.instanceId = AUTO' \
        'org.quartz.scheduler.skipUpdateCheck = true' 'org.quartz.threadPool.threadCount = 20' \
        'org.quartz.scheduler.batchTriggerAcquisitionMaxCount = 20' 'org.quartz.jobStore.misfireThreshold = 3600000' \
        "${store[@]}" >"$SERVERS_DIR/quartz-$server.properties"
}

# `quartz_psql USER …`: statements in that database, as the owner of the tables or the administrator.
quartz_psql() {
    local url=${CARNELIAN_TEST_POSTGRES/carnelian:carnelian@/$1@}
    shift
    psql -X -q -t -A -v ON_ERROR_STOP=1 "${url%/*}/carnelian_test_quartz" "$@" || die "psql failed"
}

# Triggers of tomorrow in its tables on PostgreSQL; its foreign keys would be looked up one by one.
quartz_stored() {
    quartz_psql postgres -v triggers="$1" >/dev/null <<'SQL'
SET session_replication_role = replica;
INSERT INTO qrtz_job_details (sched_name, job_name, job_group, job_class_name, is_durable, is_nonconcurrent, is_update_data,
    requests_recovery, job_data)
VALUES ('bench', 'future', 'DEFAULT', 'QuartzBench$Nothing', true, false, false, false, '');
INSERT INTO qrtz_triggers (sched_name, trigger_name, trigger_group, job_name, job_group, next_fire_time, prev_fire_time,
    priority, trigger_state, trigger_type, start_time, end_time, misfire_instr, job_data)
SELECT 'bench', 'future-' || n, 'DEFAULT', 'future', 'DEFAULT', at, -1, 5, 'WAITING', 'SIMPLE', at, 0, 0, ''
FROM (SELECT n, (extract(epoch FROM now())::bigint + 86400) * 1000 + n AS at FROM generate_series(1, :triggers) n) AS future;
INSERT INTO qrtz_simple_triggers (sched_name, trigger_name, trigger_group, repeat_count, repeat_interval, times_triggered)
SELECT 'bench', 'future-' || n, 'DEFAULT', 0, 0, 0 FROM generate_series(1, :triggers) n;
VACUUM ANALYZE;
CHECKPOINT;
SQL
}

# `quartz SERVER WORK NUMBER…`: its figures are in $SERVERS_DIR/quartz-answer. Two processors: the collector that starts no
# threads of its own is the fastest there.
quartz() {
    local server=$1
    shift
    timeout 600 java -XX:+UseSerialGC -Xms512m -Xmx1g -Dorg.slf4j.simpleLogger.defaultLogLevel=warn \
        -cp "$SERVERS_DIR/quartz/classes:$(cat "$SERVERS_DIR/quartz/classpath")" QuartzBench \
        "$SERVERS_DIR/quartz-$server.properties" "$@" >"$SERVERS_DIR/quartz-answer" 2>"$SERVERS_DIR/quartz.log" ||
        { show_log "$SERVERS_DIR/quartz.log"; die "Quartz failed at $*"; }
}

# A figure of the last answer.
theirs() {
    sed -n "s/^\"$1\": //p" "$SERVERS_DIR/quartz-answer" | grep . || die "Quartz does not say $1: $(cat "$SERVERS_DIR/quartz-answer")"
}
