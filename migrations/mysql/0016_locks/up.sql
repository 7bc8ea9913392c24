-- Locks of the application (CN_LOCKS), one row for each that is held; the primary key lets only one hold it. A row whose time
-- is over may be taken over, with a larger fence.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_LOCKS (
    SCHED_NAME VARCHAR(120) NOT NULL,
    LOCK_NAME VARCHAR(190) NOT NULL,
    HOLDER VARCHAR(32) NOT NULL,
    INSTANCE_NAME VARCHAR(190) NOT NULL,
    FENCE BIGINT(20) NOT NULL,
    TAKEN_MS BIGINT(20) NOT NULL,
    TTL_MS BIGINT(20) NOT NULL,
    EXPIRES_MS BIGINT(20) NOT NULL,
    PRIMARY KEY (SCHED_NAME, LOCK_NAME)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
