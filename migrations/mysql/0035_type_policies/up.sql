-- The policies of job types (CN_TYPE_POLICIES): what holds for the jobs of a type whose own
-- policies say nothing else. A row stays when the nodes that wrote it are gone, for those that
-- recover their work. {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_TYPE_POLICIES (
    SCHED_NAME VARCHAR(120) NOT NULL,
    JOB_TYPE VARCHAR(250) NOT NULL,
    POLICY VARCHAR(4000) NOT NULL,
    PRIMARY KEY (SCHED_NAME, JOB_TYPE)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
