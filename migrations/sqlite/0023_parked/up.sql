-- Work that is set aside (CN_PARKED): its trigger waits in ERROR, and the row says why; and how often in a row dead work was
-- taken over.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_PARKED (
    SCHED_NAME TEXT NOT NULL,
    TRIGGER_NAME TEXT NOT NULL,
    TRIGGER_GROUP TEXT NOT NULL,
    FIRE_ID TEXT NULL,
    REASON TEXT NOT NULL,
    TAKEOVERS INTEGER NOT NULL,
    SINCE_MS INTEGER NOT NULL,
    PRIMARY KEY (SCHED_NAME, TRIGGER_NAME, TRIGGER_GROUP)
);

ALTER TABLE {p}CN_RECOVERIES ADD COLUMN TAKEOVERS INTEGER NOT NULL DEFAULT 0;
