-- When the job of a running fire last made progress, and how long it may go without (CN_BEATS): NULL for one that need not
-- say. The times are the store's.
-- {p} is the table prefix, {i} the prefix without a schema.

ALTER TABLE {p}CN_BEATS ADD COLUMN IF NOT EXISTS PROGRESS_MS BIGINT, ADD COLUMN IF NOT EXISTS PROGRESS_LIMIT_MS BIGINT;
