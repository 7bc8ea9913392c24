-- Which process a node is (CN_PROCESSES), under its incarnation: who starts under its name learns whether it is gone. PROCESS is
-- pid, start, namespace of pids, boot and host.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_PROCESSES (
    SCHED_NAME TEXT NOT NULL,
    INSTANCE_NAME TEXT NOT NULL,
    INCARNATION TEXT NOT NULL,
    PROCESS TEXT NOT NULL,
    PRIMARY KEY (SCHED_NAME, INSTANCE_NAME)
);
