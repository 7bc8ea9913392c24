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
