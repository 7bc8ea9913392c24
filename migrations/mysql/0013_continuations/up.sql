-- Which jobs follow the runs of others (CN_CONTINUATIONS): a row for each parent and child. CHILD_HASH stands for the key
-- of the child, in the names of its triggers too; SINCE_FENCE is smaller than the fence of any run that the row is for.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_CONTINUATIONS (
    SCHED_NAME VARCHAR(120) NOT NULL,
    PARENT_NAME VARCHAR(190) NOT NULL,
    PARENT_GROUP VARCHAR(190) NOT NULL,
    CHILD_HASH VARCHAR(16) NOT NULL,
    PARENT_TYPE VARCHAR(250) NOT NULL,
    CHILD_NAME VARCHAR(190) NOT NULL,
    CHILD_GROUP VARCHAR(190) NOT NULL,
    ON_OUTCOME VARCHAR(16) NOT NULL,
    SINCE_FENCE BIGINT NOT NULL,
    DATA LONGBLOB,
    PRIMARY KEY (SCHED_NAME, PARENT_NAME, PARENT_GROUP, CHILD_HASH),
    KEY IDX_{i}CN_C_C (SCHED_NAME, CHILD_NAME, CHILD_GROUP)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
