-- Locks of the application (CN_LOCKS), one row for each that is held; the primary key lets only one hold it. A row whose time
-- is over may be taken over, with a larger fence.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_LOCKS (
    SCHED_NAME VARCHAR(120) NOT NULL,
    LOCK_NAME VARCHAR(200) NOT NULL,
    HOLDER VARCHAR(32) NOT NULL,
    INSTANCE_NAME VARCHAR(200) NOT NULL,
    FENCE BIGINT NOT NULL,
    TAKEN_MS BIGINT NOT NULL,
    TTL_MS BIGINT NOT NULL,
    EXPIRES_MS BIGINT NOT NULL,
    PRIMARY KEY (SCHED_NAME, LOCK_NAME)
);
