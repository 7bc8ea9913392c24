-- Drops what up.sql made.
-- {p} is the table prefix.

DROP FUNCTION IF EXISTS {p}CN_SCHEDULE(text, text, text, text, bigint, bigint, bigint, boolean, text[], text[], text[], text[],
    boolean[], boolean[], boolean[], boolean[], bytea[], text[], text[], text[], text[], boolean[], text[], bigint[],
    bigint[], bigint[], bigint[], bytea[], bigint[], bigint[]);
