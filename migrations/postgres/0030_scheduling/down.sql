-- Drops what an earlier up.sql made here, which 0044_scheduling leaves to older nodes.
-- {p} is the table prefix.

DROP FUNCTION IF EXISTS {p}CN_SCHEDULE(text, text, text, text, bigint, bigint, boolean, text[], text[], text[], text[],
    boolean[], boolean[], boolean[], boolean[], bytea[], text[], text[], text[], text[], boolean[], text[], bigint[],
    bigint[], bigint[], bigint[], bytea[], bigint[], bigint[]);
