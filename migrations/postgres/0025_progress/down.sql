-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

ALTER TABLE {p}CN_BEATS DROP COLUMN IF EXISTS PROGRESS_MS, DROP COLUMN IF EXISTS PROGRESS_LIMIT_MS;
