-- Finds what is due although it is late, without going through all that waits for the misfire handler: few triggers ignore
-- misfires, and the index has only those.
-- {p} is the table prefix, {i} the prefix without a schema.

CREATE INDEX IF NOT EXISTS IDX_{i}CN_T_I ON {p}TRIGGERS (SCHED_NAME, NEXT_FIRE_TIME)
    WHERE TRIGGER_STATE = 'WAITING' AND (MISFIRE_INSTR = -1 OR TRIGGER_TYPE = 'RRULE_IG');
