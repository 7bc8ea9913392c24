-- What is new (CN_CHANGES), one row per scheduler: counters that a change moves on in its own transaction, so that other
-- nodes see by one cheap look that there is news. Made by `carnelian migrate` with the locks.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_CHANGES (
    SCHED_NAME VARCHAR(120) NOT NULL,
    CHANGES BIGINT(20) NOT NULL,
    CANCELS BIGINT(20) NOT NULL,
    PRIMARY KEY (SCHED_NAME)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
