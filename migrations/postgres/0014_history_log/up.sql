-- What runs have logged (CN_HISTORY_LOG), as JSON; one row for each run of which lines were kept. It goes with its row of
-- CN_HISTORY.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE TABLE IF NOT EXISTS {p}CN_HISTORY_LOG (
    SCHED_NAME VARCHAR(120) NOT NULL,
    FIRE_ID VARCHAR(95) NOT NULL,
    LOG_LINES TEXT NOT NULL,
    PRIMARY KEY (SCHED_NAME, FIRE_ID)
);
