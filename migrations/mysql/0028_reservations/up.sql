-- Finds reservations whose time has come, without going through all that executes. There are no indexes of some rows only. MySQL
-- itself does not know IF NOT EXISTS here.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE INDEX /*M! IF NOT EXISTS */ IDX_{i}CN_FT_R ON {p}FIRED_TRIGGERS (SCHED_NAME, STATE, SCHED_TIME);
