-- Finds the triggers that an audit looks at, without going through those that wait or are paused:
-- of very many triggers few are in these states, and the index has only those. {p} is the table
-- prefix, {i} the prefix without a schema.

CREATE INDEX IF NOT EXISTS IDX_{i}CN_T_U ON {p}TRIGGERS (SCHED_NAME, TRIGGER_STATE)
    WHERE TRIGGER_STATE IN ('ACQUIRED', 'BLOCKED', 'PAUSED_BLOCKED', 'COMPLETE');
