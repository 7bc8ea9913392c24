-- Finds the triggers that an audit looks at, without going through those that wait or are paused:
-- of very many triggers few are in these states, and the index has only those. The collation is
-- that of nothing else here: other statements with such a state are to look for their triggers by
-- other indexes. {p} is the table prefix, {i} the prefix without a schema.

CREATE INDEX IF NOT EXISTS IDX_{i}CN_T_U ON {p}TRIGGERS (SCHED_NAME, TRIGGER_STATE)
    WHERE TRIGGER_STATE COLLATE "C" IN ('ACQUIRED', 'BLOCKED', 'PAUSED_BLOCKED', 'COMPLETE');
