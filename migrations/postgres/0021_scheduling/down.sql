-- Drops what up.sql made.
-- {p} is the table prefix.

DROP FUNCTION IF EXISTS {p}CN_SCHEDULE;
