-- What the job of a run was known by when it ran, and the trace that the run belongs to
-- (CN_HISTORY): NULL where there was nothing; the incarnations of nodes with their addresses
-- (CN_INCARNATIONS), by which the ids of fires tell where a run was; and the last run of each
-- job on each node (CN_LAST_RUNS), of jobs that run on several. {p} is the table prefix, {i} the
-- prefix without a schema, {s} the schema. It is looked for first: the server commits at once,
-- so it may be there while the version is not noted.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE {p}CN_HISTORY ADD COLUMN BIZ_KEY VARCHAR(190), ADD COLUMN JOB_OWNER VARCHAR(190), ADD COLUMN DISPLAY_NAME VARCHAR(190), ADD COLUMN JOB_DESCRIPTION VARCHAR(250), ADD COLUMN TRACE_ID VARCHAR(32), ADD KEY IDX_{i}CN_H_B (SCHED_NAME, BIZ_KEY, ENDED_MS), ADD KEY IDX_{i}CN_H_T (SCHED_NAME, TRACE_ID, ENDED_MS)')
    FROM information_schema.columns
    WHERE table_schema = {s} AND table_name = '{i}CN_HISTORY' AND column_name = 'TRACE_ID');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;

CREATE TABLE IF NOT EXISTS {p}CN_INCARNATIONS (
    SCHED_NAME VARCHAR(120) NOT NULL,
    INCARNATION VARCHAR(32) NOT NULL,
    INSTANCE_NAME VARCHAR(190) NOT NULL,
    HOST_NAME VARCHAR(255),
    IP_ADDRESS VARCHAR(64),
    REGISTERED_MS BIGINT NOT NULL,
    PRIMARY KEY (SCHED_NAME, INCARNATION)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS {p}CN_LAST_RUNS (
    SCHED_NAME VARCHAR(120) NOT NULL,
    JOB_NAME VARCHAR(190) NOT NULL,
    JOB_GROUP VARCHAR(190) NOT NULL,
    INSTANCE_NAME VARCHAR(190) NOT NULL,
    FIRE_ID VARCHAR(95) NOT NULL,
    ENDED_MS BIGINT NOT NULL,
    RUN_MS BIGINT,
    OUTCOME VARCHAR(16) NOT NULL,
    ERROR TEXT,
    PRIMARY KEY (SCHED_NAME, JOB_NAME, JOB_GROUP, INSTANCE_NAME)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
