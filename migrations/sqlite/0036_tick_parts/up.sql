-- The parts of ticks whose jobs are followed once for a whole tick (CN_TICK_PARTS), until the
-- last part has ended: the parts that have ended have an outcome. {p} is the table prefix, {i}
-- the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_TICK_PARTS (
    SCHED_NAME TEXT NOT NULL,
    TICK TEXT NOT NULL,
    PART TEXT NOT NULL,
    JOB_NAME TEXT NOT NULL,
    JOB_GROUP TEXT NOT NULL,
    OUTCOME TEXT NULL,
    FIRE_ID TEXT NULL,
    RESULT TEXT NULL,
    MADE_MS INTEGER NOT NULL,
    PRIMARY KEY (SCHED_NAME, TICK, PART)
);
