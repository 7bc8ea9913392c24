-- Which jobs follow the runs of others (CN_CONTINUATIONS): a row for each parent and child. CHILD_HASH stands for the key
-- of the child, in the names of its triggers too; SINCE_FENCE is smaller than the fence of any run that the row is for.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_CONTINUATIONS (
    SCHED_NAME TEXT NOT NULL,
    PARENT_NAME TEXT NOT NULL,
    PARENT_GROUP TEXT NOT NULL,
    CHILD_HASH TEXT NOT NULL,
    PARENT_TYPE TEXT NOT NULL,
    CHILD_NAME TEXT NOT NULL,
    CHILD_GROUP TEXT NOT NULL,
    ON_OUTCOME TEXT NOT NULL,
    SINCE_FENCE INTEGER NOT NULL,
    DATA BLOB,
    PRIMARY KEY (SCHED_NAME, PARENT_NAME, PARENT_GROUP, CHILD_HASH)
);

CREATE INDEX IF NOT EXISTS IDX_{i}CN_C_C ON {p}CN_CONTINUATIONS (SCHED_NAME, CHILD_NAME, CHILD_GROUP);
