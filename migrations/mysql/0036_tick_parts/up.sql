-- The parts of ticks whose jobs are followed once for a whole tick (CN_TICK_PARTS), until the
-- last part has ended: the parts that have ended have an outcome. {p} is the table prefix, {i}
-- the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_TICK_PARTS (
    SCHED_NAME VARCHAR(120) NOT NULL,
    TICK VARCHAR(40) NOT NULL,
    PART VARCHAR(16) NOT NULL,
    JOB_NAME VARCHAR(190) NOT NULL,
    JOB_GROUP VARCHAR(190) NOT NULL,
    OUTCOME VARCHAR(16) NULL,
    FIRE_ID VARCHAR(190) NULL,
    RESULT VARCHAR(1000) NULL,
    MADE_MS BIGINT NOT NULL,
    PRIMARY KEY (SCHED_NAME, TICK, PART)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
