-- Finds reservations whose time has come, without going through all that executes: few rows are reserved, and the index has only
-- those.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE INDEX IF NOT EXISTS IDX_{i}CN_FT_R ON {p}FIRED_TRIGGERS (SCHED_NAME, SCHED_TIME) WHERE STATE = 'ACQUIRED';
