-- Fires that nodes have taken before a worker was free for them (CN_AHEAD, a row for each batch), and which of them have
-- begun (CN_BEGUN, a row for each node: all up to LAST_FENCE, but for the ranges in WAITING). Whoever finds the node dead
-- gives the others back as if they had never been taken. FIRES is JSON.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_AHEAD (
    SCHED_NAME TEXT NOT NULL,
    INSTANCE_NAME TEXT NOT NULL,
    LAST_FENCE INTEGER NOT NULL,
    FIRES TEXT NOT NULL,
    PRIMARY KEY (SCHED_NAME, INSTANCE_NAME, LAST_FENCE)
);

CREATE TABLE IF NOT EXISTS {p}CN_BEGUN (
    SCHED_NAME TEXT NOT NULL,
    INSTANCE_NAME TEXT NOT NULL,
    INCARNATION TEXT NOT NULL,
    MARK_NUMBER INTEGER NOT NULL,
    LAST_FENCE INTEGER NOT NULL,
    WAITING TEXT NOT NULL,
    CLOSED INTEGER NOT NULL,
    PRIMARY KEY (SCHED_NAME, INSTANCE_NAME)
);
