-- What people, and programs by the administrative API, have done (CN_ACTIONS), one row for each
-- job, trigger, node … that it was done to. The id begins with the time, in hexadecimal digits:
-- the order of the ids is that of the actions. {p} is the table prefix, {i} the prefix without a
-- schema.

CREATE TABLE IF NOT EXISTS {p}CN_ACTIONS (
    SCHED_NAME TEXT NOT NULL,
    ACTION_ID TEXT NOT NULL,
    MADE_MS INTEGER NOT NULL,
    ACTOR TEXT NOT NULL,
    NODE_NAME TEXT NOT NULL,
    ACTION_NAME TEXT NOT NULL,
    SUBJECT_KIND TEXT NOT NULL,
    SUBJECT TEXT NOT NULL,
    DETAIL TEXT,
    PRIMARY KEY (SCHED_NAME, ACTION_ID)
);

CREATE INDEX IF NOT EXISTS IDX_{i}CN_A_S ON {p}CN_ACTIONS (SCHED_NAME, SUBJECT, ACTION_ID);
