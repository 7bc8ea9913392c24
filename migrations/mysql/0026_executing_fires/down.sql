-- Drops what up.sql made, and makes again what it dropped.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE INDEX /*M! IF NOT EXISTS */ IDX_{i}CN_FT_J ON {p}FIRED_TRIGGERS (SCHED_NAME, JOB_NAME, JOB_GROUP, TRIGGER_NAME);

DROP INDEX IDX_{i}CN_FT_E ON {p}FIRED_TRIGGERS;
