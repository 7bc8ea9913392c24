-- Which process a node is (CN_PROCESSES), under its incarnation: who starts under its name learns whether it is gone. PROCESS is
-- pid, start, namespace of pids, boot and host.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_PROCESSES (
    SCHED_NAME VARCHAR(120) NOT NULL,
    INSTANCE_NAME VARCHAR(200) NOT NULL,
    INCARNATION VARCHAR(32) NOT NULL,
    PROCESS VARCHAR(500) NOT NULL,
    PRIMARY KEY (SCHED_NAME, INSTANCE_NAME)
);
