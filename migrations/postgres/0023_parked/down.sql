-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

ALTER TABLE {p}CN_RECOVERIES DROP COLUMN TAKEOVERS;
DROP TABLE IF EXISTS {p}CN_PARKED;
