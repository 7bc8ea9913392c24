-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

ALTER TABLE {p}CN_TICK_PARTS DROP COLUMN TRACEPARENT;
