-- When the job of a running fire last made progress, and how long it may go without (CN_BEATS): NULL for one that need not
-- say. The times are the store's.
-- {p} is the table prefix, {i} the prefix without a schema, {s} the schema.
-- It is looked for first: the server commits at once, so it may be there while the version is not noted.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'ALTER TABLE {p}CN_BEATS ADD COLUMN PROGRESS_MS BIGINT, ADD COLUMN PROGRESS_LIMIT_MS BIGINT')
    FROM information_schema.columns
    WHERE table_schema = {s} AND table_name = '{i}CN_BEATS' AND column_name = 'PROGRESS_MS');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;
