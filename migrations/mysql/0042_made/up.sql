-- Finds the tokens of commits (CN_COMMITS) and the requests (CN_REQUESTS) that have been kept long
-- enough, a page at a time, however many there are.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE INDEX /*M! IF NOT EXISTS */ IDX_{i}CN_C_M ON {p}CN_COMMITS (SCHED_NAME, MADE_MS);

CREATE INDEX /*M! IF NOT EXISTS */ IDX_{i}CN_Q_M ON {p}CN_REQUESTS (SCHED_NAME, MADE_MS);
