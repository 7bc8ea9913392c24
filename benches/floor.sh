# shellcheck shell=bash
# The floor: what a drain changes in the tables, in bare SQL, a set a statement. Sourced by benches/run.
#
# Of a one-shot that is fired: its row of TRIGGERS and of SIMPLE_TRIGGERS go, and one of FIRED_TRIGGERS comes, in one
# transaction; in a second one that row goes, and one of CN_HISTORY comes if a history is written. Nothing is decided, no
# fence drawn, no row read that is not needed: nobody can be faster who keeps the same rows.

FLOOR_RATE=
FLOOR_WAL=

# Statements to our PostgreSQL, as its administrator.
pg() { psql -X -q -t -A -v ON_ERROR_STOP=1 "${CARNELIAN_TEST_POSTGRES/carnelian:carnelian@/postgres@}" "$@" || die "psql failed"; }

# Statements to our MariaDB.
maria() { mariadb --no-defaults --socket="$SERVERS_DIR/mariadb/socket" --user=root --batch --skip-column-names carnelian_test "$@"; }

# What the run before has left is nobody's burden.
pg_settle() { pg -c 'VACUUM (ANALYZE)' -c CHECKPOINT >/dev/null; }

# `pg_floor FIRES BATCH CLIENTS`: sets FLOOR_RATE to fires a second, and FLOOR_WAL to bytes of WAL a fire.
pg_floor() {
    local fires=$1 batch=$2 clients=$3 script=$SERVERS_DIR/floor.sql out=$SERVERS_DIR/floor.out left before after
    pg >/dev/null <<SQL
SET client_min_messages = warning;
DELETE FROM qrtz_triggers WHERE sched_name = 'FLOOR';
DELETE FROM qrtz_simple_triggers WHERE sched_name = 'FLOOR';
DELETE FROM qrtz_fired_triggers WHERE sched_name = 'FLOOR';
DELETE FROM qrtz_cn_history WHERE sched_name = 'FLOOR';
CREATE SEQUENCE IF NOT EXISTS floor_sequence CACHE 1000;
VACUUM (ANALYZE);
-- Before the rows come, as where a node is measured: their pages are not logged whole once more.
CHECKPOINT;
INSERT INTO qrtz_triggers (sched_name, trigger_name, trigger_group, job_name, job_group, next_fire_time, priority,
    trigger_state, trigger_type, start_time, end_time, misfire_instr)
SELECT 'FLOOR', 'due-' || n, 'bench', 'due-from-0', 'bench', 1, 5, 'WAITING', 'SIMPLE', 1, 0, -1
FROM generate_series(1, $fires) n;
INSERT INTO qrtz_simple_triggers (sched_name, trigger_name, trigger_group, repeat_count, repeat_interval, times_triggered)
SELECT 'FLOOR', 'due-' || n, 'bench', 0, 0, 0 FROM generate_series(1, $fires) n;
ANALYZE qrtz_triggers, qrtz_simple_triggers;
SQL
    cat >"$script" <<'SQL'
WITH due AS MATERIALIZED (
    SELECT trigger_name, trigger_group, job_name, job_group, next_fire_time, priority FROM qrtz_triggers
    WHERE sched_name = 'FLOOR' AND trigger_state = 'WAITING' AND next_fire_time <= 1
    ORDER BY next_fire_time, priority DESC LIMIT :batch FOR UPDATE SKIP LOCKED),
gone AS (
    DELETE FROM qrtz_triggers t USING due
    WHERE t.sched_name = 'FLOOR' AND t.trigger_name = due.trigger_name AND t.trigger_group = due.trigger_group),
gone_too AS (
    DELETE FROM qrtz_simple_triggers t USING due
    WHERE t.sched_name = 'FLOOR' AND t.trigger_name = due.trigger_name AND t.trigger_group = due.trigger_group),
fired AS (
    INSERT INTO qrtz_fired_triggers (sched_name, entry_id, trigger_name, trigger_group, instance_name, fired_time, sched_time,
        priority, state, job_name, job_group, is_nonconcurrent, requests_recovery)
    SELECT 'FLOOR', '0123456789abcdef-0123456789abcdef-' || nextval('floor_sequence'), trigger_name, trigger_group, 'bench-1',
        1, next_fire_time, priority, 'EXECUTING', job_name, job_group, false, false FROM due
    RETURNING entry_id)
SELECT array_agg(entry_id)::text AS ids FROM fired \gset
SQL
    if [ "$HISTORY" = on ]; then
        cat >>"$script" <<'SQL'
WITH done AS (DELETE FROM qrtz_fired_triggers WHERE sched_name = 'FLOOR' AND entry_id = ANY (:ids::text[]) RETURNING *)
INSERT INTO qrtz_cn_history (sched_name, fire_id, trigger_name, trigger_group, job_name, job_group, job_type, instance_name,
    sched_ms, fired_ms, ended_ms, run_ms, outcome, attempt, root_fire_id)
SELECT sched_name, entry_id, trigger_name, trigger_group, job_name, job_group, 'carnelian.bench', instance_name,
    sched_time, fired_time, 2, 1, 'succeeded', 1, entry_id FROM done;
SQL
    else
        echo "DELETE FROM qrtz_fired_triggers WHERE sched_name = 'FLOOR' AND entry_id = ANY (:ids::text[]);" >>"$script"
    fi
    before=$(pg -c 'SELECT (pg_current_wal_insert_lsn() - $$0/0$$::pg_lsn)::bigint')
    pgbench -n -M prepared -c "$clients" -j "$clients" -t $((fires / batch / clients)) -D "batch=$batch" -f "$script" \
        "${CARNELIAN_TEST_POSTGRES/carnelian:carnelian@/postgres@}" >"$out" 2>&1 || { show_log "$out"; die "pgbench failed"; }
    after=$(pg -c 'SELECT (pg_current_wal_insert_lsn() - $$0/0$$::pg_lsn)::bigint')
    left=$(pg -c "SELECT (SELECT count(*) FROM qrtz_triggers WHERE sched_name = 'FLOOR')
        + (SELECT count(*) FROM qrtz_fired_triggers WHERE sched_name = 'FLOOR')")
    # Batches that meet at the end may find less than there is.
    [ "$left" -le $((batch * clients + fires % (batch * clients))) ] || die "the floor has left $left of $fires"
    FLOOR_RATE=$(awk -v fires=$((fires - left)) '
        /^number of transactions actually processed/ { split($NF, n, "/"); transactions = n[1] }
        /^tps/ { tps = $3 }
        END { if (tps > 0) printf "%.1f", fires / (transactions / tps); else exit 1 }' "$out") ||
        { show_log "$out"; die "pgbench says no rate"; }
    FLOOR_WAL=$(((after - before) / (fires - left)))
}

# `maria_floor FIRES BATCH`: sets FLOOR_RATE to fires a second, of one client. The keys of a batch are kept in a temporary
# table: joins of the shared tables deadlock.
maria_floor() {
    local fires=$1 batch=$2 history=0 micros left
    [ "$HISTORY" = off ] || history=1
    maria >/dev/null <<SQL || die "the floor's triggers cannot be stored"
DELETE FROM QRTZ_TRIGGERS WHERE SCHED_NAME = 'FLOOR';
DELETE FROM QRTZ_SIMPLE_TRIGGERS WHERE SCHED_NAME = 'FLOOR';
DELETE FROM QRTZ_FIRED_TRIGGERS WHERE SCHED_NAME = 'FLOOR';
DELETE FROM QRTZ_CN_HISTORY WHERE SCHED_NAME = 'FLOOR';
INSERT INTO QRTZ_TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, JOB_NAME, JOB_GROUP, NEXT_FIRE_TIME, PRIORITY,
    TRIGGER_STATE, TRIGGER_TYPE, START_TIME, END_TIME, MISFIRE_INSTR)
SELECT 'FLOOR', CONCAT('due-', seq), 'bench', 'due-from-0', 'bench', 1, 5, 'WAITING', 'SIMPLE', 1, 0, -1 FROM seq_1_to_$fires;
INSERT INTO QRTZ_SIMPLE_TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, REPEAT_COUNT, REPEAT_INTERVAL, TIMES_TRIGGERED)
SELECT 'FLOOR', CONCAT('due-', seq), 'bench', 0, 0, 0 FROM seq_1_to_$fires;
ANALYZE TABLE QRTZ_TRIGGERS, QRTZ_SIMPLE_TRIGGERS;
DROP PROCEDURE IF EXISTS floor_drain;
DELIMITER //
CREATE PROCEDURE floor_drain(IN batches INT, IN size INT, IN history BOOL)
BEGIN
    DECLARE number INT DEFAULT 0;
    SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED;
    CREATE OR REPLACE TEMPORARY TABLE floor_keys ENGINE = MEMORY AS
        SELECT t.TRIGGER_NAME, t.TRIGGER_GROUP, t.JOB_NAME, t.JOB_GROUP, t.NEXT_FIRE_TIME, t.PRIORITY, f.ENTRY_ID
        FROM QRTZ_TRIGGERS t LEFT JOIN QRTZ_FIRED_TRIGGERS f ON FALSE LIMIT 0;
    WHILE number < batches DO
        START TRANSACTION;
        INSERT INTO floor_keys
            SELECT TRIGGER_NAME, TRIGGER_GROUP, JOB_NAME, JOB_GROUP, NEXT_FIRE_TIME, PRIORITY,
                CONCAT('0123456789abcdef-0123456789abcdef-', TRIGGER_NAME)
            FROM QRTZ_TRIGGERS WHERE SCHED_NAME = 'FLOOR' AND TRIGGER_STATE = 'WAITING' AND NEXT_FIRE_TIME <= 1
            ORDER BY NEXT_FIRE_TIME, PRIORITY DESC LIMIT size FOR UPDATE SKIP LOCKED;
        DELETE t FROM floor_keys k STRAIGHT_JOIN QRTZ_TRIGGERS t ON t.SCHED_NAME = 'FLOOR'
            AND t.TRIGGER_NAME = k.TRIGGER_NAME AND t.TRIGGER_GROUP = k.TRIGGER_GROUP;
        DELETE t FROM floor_keys k STRAIGHT_JOIN QRTZ_SIMPLE_TRIGGERS t ON t.SCHED_NAME = 'FLOOR'
            AND t.TRIGGER_NAME = k.TRIGGER_NAME AND t.TRIGGER_GROUP = k.TRIGGER_GROUP;
        INSERT INTO QRTZ_FIRED_TRIGGERS (SCHED_NAME, ENTRY_ID, TRIGGER_NAME, TRIGGER_GROUP, INSTANCE_NAME, FIRED_TIME,
                SCHED_TIME, PRIORITY, STATE, JOB_NAME, JOB_GROUP, IS_NONCONCURRENT, REQUESTS_RECOVERY)
            SELECT 'FLOOR', ENTRY_ID, TRIGGER_NAME, TRIGGER_GROUP, 'bench-1', 1, NEXT_FIRE_TIME, PRIORITY, 'EXECUTING',
                JOB_NAME, JOB_GROUP, '0', '0' FROM floor_keys;
        COMMIT;
        START TRANSACTION;
        DELETE f FROM floor_keys k STRAIGHT_JOIN QRTZ_FIRED_TRIGGERS f ON f.SCHED_NAME = 'FLOOR' AND f.ENTRY_ID = k.ENTRY_ID;
        IF history THEN
            INSERT INTO QRTZ_CN_HISTORY (SCHED_NAME, FIRE_ID, TRIGGER_NAME, TRIGGER_GROUP, JOB_NAME, JOB_GROUP, JOB_TYPE,
                    INSTANCE_NAME, SCHED_MS, FIRED_MS, ENDED_MS, RUN_MS, OUTCOME, ATTEMPT, ROOT_FIRE_ID)
                SELECT 'FLOOR', ENTRY_ID, TRIGGER_NAME, TRIGGER_GROUP, JOB_NAME, JOB_GROUP, 'carnelian.bench', 'bench-1',
                    NEXT_FIRE_TIME, 1, 2, 1, 'succeeded', 1, ENTRY_ID FROM floor_keys;
        END IF;
        COMMIT;
        DELETE FROM floor_keys;
        SET number = number + 1;
    END WHILE;
END//
DELIMITER ;
SQL
    micros=$(maria -e "SET @begun = NOW(6); CALL floor_drain($((fires / batch)), $batch, $history);
        SELECT TIMESTAMPDIFF(MICROSECOND, @begun, NOW(6))") || die "the floor of MariaDB failed"
    left=$(maria -e "SELECT (SELECT COUNT(*) FROM QRTZ_TRIGGERS WHERE SCHED_NAME = 'FLOOR')
        + (SELECT COUNT(*) FROM QRTZ_FIRED_TRIGGERS WHERE SCHED_NAME = 'FLOOR')")
    [ "$left" -le $((fires % batch)) ] || die "the floor has left $left of $fires"
    FLOOR_RATE=$(awk -v fires=$((fires - left)) -v micros="$micros" 'BEGIN { printf "%.1f", fires / (micros / 1000000) }')
}

# --- storing --------------------------------------------------------------------------------------------------------
# What a call that stores triggers changes in the tables: a row of TRIGGERS and one of SIMPLE_TRIGGERS for each and, if they
# come with a job each, one of JOB_DETAILS; a transaction a call. Nothing is looked up, announced or noted.

# The data of a job without data, as hexadecimal digits.
empty_data() { od -An -v -tx1 "$HERE/../src/data_map/empty_map.ser" | tr -d ' \n'; }

# `pg_store_floor CALLS SIZE [jobs]`: sets FLOOR_RATE to triggers a second by COPY, the fastest way into PostgreSQL.
pg_store_floor() {
    local calls=$1 size=$2 jobs=${3-} script=$SERVERS_DIR/store.sql call table
    pg -c "DELETE FROM qrtz_triggers WHERE sched_name = 'FLOOR'" -c "DELETE FROM qrtz_simple_triggers WHERE sched_name = 'FLOOR'" \
        -c "DELETE FROM qrtz_job_details WHERE sched_name = 'FLOOR'" >/dev/null
    pg_settle
    echo 'SELECT clock_timestamp() AS begun \gset' >"$script"
    for ((call = 0; call < calls; call++)); do
        awk -v first=$((call * size)) -v size="$size" -v jobs="$jobs" -v call="$call" -v data="$(empty_data)" -v to="$SERVERS_DIR/store-" '
            BEGIN {
                for (i = first; i < first + size; i++) {
                    name = "floor-" i; job = jobs != "" ? name : "floor-" call
                    print "FLOOR\t" name "\tbench\t" job "\tbench\t4000000000000\t-1\t5\tWAITING\tSIMPLE\t4000000000000\t0\t-1\t\\\\x" > (to "triggers-" call)
                    print "FLOOR\t" name "\tbench\t0\t0\t0" > (to "simple-" call)
                    if (jobs != "") print "FLOOR\t" name "\tbench\tcarnelian.bench\tf\tf\tf\tf\t\\\\x" data > (to "jobs-" call)
                }
            }'
        {
            echo 'BEGIN;'
            [ -z "$jobs" ] || echo "\\copy qrtz_job_details (sched_name, job_name, job_group, job_class_name, is_durable, is_nonconcurrent, is_update_data, requests_recovery, job_data) from '${SERVERS_DIR}/store-jobs-$call'"
            echo "\\copy qrtz_triggers (sched_name, trigger_name, trigger_group, job_name, job_group, next_fire_time, prev_fire_time, priority, trigger_state, trigger_type, start_time, end_time, misfire_instr, job_data) from '${SERVERS_DIR}/store-triggers-$call'"
            echo "\\copy qrtz_simple_triggers (sched_name, trigger_name, trigger_group, repeat_count, repeat_interval, times_triggered) from '${SERVERS_DIR}/store-simple-$call'"
            echo 'COMMIT;'
        } >>"$script"
    done
    echo "SELECT round($((calls * size)) / extract(epoch FROM clock_timestamp() - :'begun'), 1);" >>"$script"
    FLOOR_RATE=$(pg -f "$script") || exit 1
    for table in triggers simple jobs; do rm -f "$SERVERS_DIR/store-$table-"*; done
}

# `pg_call_floor CALLS`: sets FLOOR_RATE to transactions a second of one client, each of which inserts the two rows of a trigger.
pg_call_floor() {
    local script=$SERVERS_DIR/call.sql out=$SERVERS_DIR/call.out
    pg -c "SET client_min_messages = warning" -c "CREATE SEQUENCE IF NOT EXISTS floor_sequence CACHE 1000" >/dev/null
    cat >"$script" <<'SQL'
WITH stored AS (
    INSERT INTO qrtz_triggers (sched_name, trigger_name, trigger_group, job_name, job_group, next_fire_time, prev_fire_time,
        priority, trigger_state, trigger_type, start_time, end_time, misfire_instr)
    VALUES ('FLOOR', 'call-' || nextval('floor_sequence'), 'bench', 'floor', 'bench', 4000000000000, -1, 5, 'WAITING', 'SIMPLE',
        4000000000000, 0, -1) RETURNING trigger_name)
INSERT INTO qrtz_simple_triggers (sched_name, trigger_name, trigger_group, repeat_count, repeat_interval, times_triggered)
SELECT 'FLOOR', trigger_name, 'bench', 0, 0, 0 FROM stored;
SQL
    pgbench -n -M prepared -c 1 -t "$1" -f "$script" "${CARNELIAN_TEST_POSTGRES/carnelian:carnelian@/postgres@}" >"$out" 2>&1 ||
        { show_log "$out"; die "pgbench failed"; }
    FLOOR_RATE=$(awk '/^tps/ { print $3 }' "$out")
}

# `store_statements CALLS SIZE ROWS JOBS`: the statements of such calls for MariaDB and SQLite. `ROWS` makes the numbers from
# FIRST to LAST as `n`; `||` joins texts.
store_statements() {
    local calls=$1 size=$2 rows=$3 jobs=$4 begin=$5 call numbers job
    for ((call = 0; call < calls; call++)); do
        numbers=${rows//FIRST/$((call * size + 1))}
        numbers=${numbers//LAST/$(((call + 1) * size))}
        job="'floor-$call'"
        echo "$begin;"
        [ -z "$jobs" ] || {
            job="'floor-' || n"
            echo "INSERT INTO QRTZ_JOB_DETAILS (SCHED_NAME, JOB_NAME, JOB_GROUP, JOB_CLASS_NAME, IS_DURABLE, IS_NONCONCURRENT,
                IS_UPDATE_DATA, REQUESTS_RECOVERY, JOB_DATA) SELECT 'FLOOR', $job, 'bench', 'carnelian.bench', '0', '0', '0', '0',
                X'$(empty_data)' FROM $numbers;"
        }
        echo "INSERT INTO QRTZ_TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, JOB_NAME, JOB_GROUP, NEXT_FIRE_TIME,
            PREV_FIRE_TIME, PRIORITY, TRIGGER_STATE, TRIGGER_TYPE, START_TIME, END_TIME, MISFIRE_INSTR, JOB_DATA)
            SELECT 'FLOOR', 'floor-' || n, 'bench', $job, 'bench', 4000000000000, -1, 5, 'WAITING', 'SIMPLE', 4000000000000, 0, -1, ''
            FROM $numbers;
        INSERT INTO QRTZ_SIMPLE_TRIGGERS (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP, REPEAT_COUNT, REPEAT_INTERVAL, TIMES_TRIGGERED)
            SELECT 'FLOOR', 'floor-' || n, 'bench', 0, 0, 0 FROM $numbers;
        COMMIT;"
    done
}

FLOOR_TABLES=(QRTZ_TRIGGERS QRTZ_SIMPLE_TRIGGERS QRTZ_JOB_DETAILS)

# `maria_store_floor CALLS SIZE [jobs]`: sets FLOOR_RATE to triggers a second of one client.
maria_store_floor() {
    local micros table
    for table in "${FLOOR_TABLES[@]}"; do maria -e "DELETE FROM $table WHERE SCHED_NAME = 'FLOOR'" || die "no floor"; done
    micros=$({
        echo "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED; SET sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT'); SET @begun = NOW(6);"
        store_statements "$1" "$2" '(SELECT seq AS n FROM seq_FIRST_to_LAST) AS numbers' "${3-}" 'START TRANSACTION'
        echo "SELECT TIMESTAMPDIFF(MICROSECOND, @begun, NOW(6));"
    } | maria) || die "the floor of MariaDB failed"
    FLOOR_RATE=$(awk -v n=$(($1 * $2)) -v micros="$micros" 'BEGIN { printf "%.1f", n / (micros / 1000000) }')
}

# `sqlite_store_floor FILE CALLS SIZE [jobs]`: sets FLOOR_RATE to triggers a second of one connection, each commit flushed.
sqlite_store_floor() {
    local file=$1
    FLOOR_RATE=$(store_statements "$2" "$3" \
        '(WITH RECURSIVE numbers (n) AS (SELECT FIRST UNION ALL SELECT n + 1 FROM numbers WHERE n < LAST) SELECT n FROM numbers)' \
        "${4-}" 'BEGIN IMMEDIATE' | python3 -c '
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("PRAGMA journal_mode = WAL")
db.execute("PRAGMA synchronous = FULL")
for table in sys.argv[3:]:
    db.execute("DELETE FROM " + table + " WHERE SCHED_NAME = ?", ("FLOOR",))
statements = sys.stdin.read().split(";")
begun = time.monotonic()
for statement in statements:
    db.execute(statement)
print(round(int(sys.argv[2]) / (time.monotonic() - begun), 1))
' "$file" $(($2 * $3)) "${FLOOR_TABLES[@]}") || die "the floor of SQLite failed"
}
