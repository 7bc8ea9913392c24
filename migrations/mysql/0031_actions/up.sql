-- What people, and programs by the administrative API, have done (CN_ACTIONS), one row for each
-- job, trigger, node … that it was done to. The id begins with the time, in hexadecimal digits:
-- the order of the ids is that of the actions. {p} is the table prefix, {i} the prefix without a
-- schema.

CREATE TABLE IF NOT EXISTS {p}CN_ACTIONS (
    SCHED_NAME VARCHAR(120) NOT NULL,
    ACTION_ID VARCHAR(32) NOT NULL,
    MADE_MS BIGINT NOT NULL,
    ACTOR VARCHAR(250) NOT NULL,
    NODE_NAME VARCHAR(200) NOT NULL,
    ACTION_NAME VARCHAR(40) NOT NULL,
    SUBJECT_KIND VARCHAR(20) NOT NULL,
    SUBJECT VARCHAR(401) NOT NULL,
    DETAIL VARCHAR(500),
    PRIMARY KEY (SCHED_NAME, ACTION_ID),
    KEY IDX_{i}CN_A_S (SCHED_NAME, SUBJECT, ACTION_ID)
) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
