-- Drops what up.sql made, and makes again what it dropped.
-- {p} is the table prefix, {i} the prefix without a schema: with a schema, name it before the index.

CREATE INDEX IF NOT EXISTS IDX_{i}CN_FT_J ON {p}FIRED_TRIGGERS (SCHED_NAME, JOB_NAME, JOB_GROUP, TRIGGER_NAME)
    WHERE STATE = 'EXECUTING';

DROP INDEX IF EXISTS IDX_{i}CN_FT_E;
