-- Locks of the application (CN_LOCKS), one row for each that is held; the primary key lets only one hold it. A row whose time
-- is over may be taken over, with a larger fence.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_LOCKS (
    SCHED_NAME TEXT NOT NULL,
    LOCK_NAME TEXT NOT NULL,
    HOLDER TEXT NOT NULL,
    INSTANCE_NAME TEXT NOT NULL,
    FENCE INTEGER NOT NULL,
    TAKEN_MS INTEGER NOT NULL,
    TTL_MS INTEGER NOT NULL,
    EXPIRES_MS INTEGER NOT NULL,
    PRIMARY KEY (SCHED_NAME, LOCK_NAME)
);
