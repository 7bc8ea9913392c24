-- Fires that nodes have taken before a worker was free for them (CN_AHEAD, a row for each batch), and which of them have
-- begun (CN_BEGUN, a row for each node: all up to LAST_FENCE, but for the ranges in WAITING). Whoever finds the node dead
-- gives the others back as if they had never been taken. FIRES is JSON.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_AHEAD (
    SCHED_NAME VARCHAR(120) NOT NULL,
    INSTANCE_NAME VARCHAR(200) NOT NULL,
    LAST_FENCE BIGINT NOT NULL,
    FIRES TEXT NOT NULL,
    PRIMARY KEY (SCHED_NAME, INSTANCE_NAME, LAST_FENCE)
);

-- Its row is written for every few fires, and is worth nothing but for the death of a node alone. A server that crashes
-- forgets it: then all that was taken ahead counts as begun.
CREATE UNLOGGED TABLE IF NOT EXISTS {p}CN_BEGUN (
    SCHED_NAME VARCHAR(120) NOT NULL,
    INSTANCE_NAME VARCHAR(200) NOT NULL,
    INCARNATION VARCHAR(32) NOT NULL,
    MARK_NUMBER BIGINT NOT NULL,
    LAST_FENCE BIGINT NOT NULL,
    WAITING TEXT NOT NULL,
    CLOSED BIGINT NOT NULL,
    PRIMARY KEY (SCHED_NAME, INSTANCE_NAME)
);
