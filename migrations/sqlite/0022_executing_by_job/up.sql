-- Finds the fires of a job that are executing, without going through those of all jobs: each candidate that may not run beside
-- another of its job asks for them.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE INDEX IF NOT EXISTS IDX_{i}CN_FT_J ON {p}FIRED_TRIGGERS (SCHED_NAME, JOB_NAME, JOB_GROUP, TRIGGER_NAME)
    WHERE STATE = 'EXECUTING';
