-- Nodes that take no work (CN_BLACKLIST), and how many runs of a group of jobs there may be (CN_GROUP_LIMITS). NULL is "for
-- good", or "as many as there are". Where a job may run stands with its policy (CN_JOB_POLICIES).
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_BLACKLIST (
    SCHED_NAME VARCHAR(120) NOT NULL,
    NODE_NAME VARCHAR(200) NOT NULL,
    KIND VARCHAR(16) NOT NULL,
    REASON VARCHAR(250),
    WHO VARCHAR(250) NOT NULL,
    UNTIL_MS BIGINT,
    MADE_MS BIGINT NOT NULL,
    PRIMARY KEY (SCHED_NAME, NODE_NAME, KIND)
);

CREATE TABLE IF NOT EXISTS {p}CN_GROUP_LIMITS (
    SCHED_NAME VARCHAR(120) NOT NULL,
    JOB_GROUP VARCHAR(200) NOT NULL,
    PER_NODE BIGINT,
    PER_CLUSTER BIGINT,
    WHO VARCHAR(250) NOT NULL,
    MADE_MS BIGINT NOT NULL,
    PRIMARY KEY (SCHED_NAME, JOB_GROUP)
);
