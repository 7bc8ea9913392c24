-- Nodes that take no work (CN_BLACKLIST), and how many runs of a group of jobs there may be (CN_GROUP_LIMITS). NULL is "for
-- good", or "as many as there are". Where a job may run stands with its policy (CN_JOB_POLICIES).
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_BLACKLIST (
    SCHED_NAME TEXT NOT NULL,
    NODE_NAME TEXT NOT NULL,
    KIND TEXT NOT NULL,
    REASON TEXT,
    WHO TEXT NOT NULL,
    UNTIL_MS INTEGER,
    MADE_MS INTEGER NOT NULL,
    PRIMARY KEY (SCHED_NAME, NODE_NAME, KIND)
);

CREATE TABLE IF NOT EXISTS {p}CN_GROUP_LIMITS (
    SCHED_NAME TEXT NOT NULL,
    JOB_GROUP TEXT NOT NULL,
    PER_NODE INTEGER,
    PER_CLUSTER INTEGER,
    WHO TEXT NOT NULL,
    MADE_MS INTEGER NOT NULL,
    PRIMARY KEY (SCHED_NAME, JOB_GROUP)
);
