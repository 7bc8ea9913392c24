-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

ALTER TABLE {p}CN_NODES DROP COLUMN ALARMS;
