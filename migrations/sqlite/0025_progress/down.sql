-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

ALTER TABLE {p}CN_BEATS DROP COLUMN PROGRESS_LIMIT_MS;

ALTER TABLE {p}CN_BEATS DROP COLUMN PROGRESS_MS;
