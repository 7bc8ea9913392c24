-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

DROP TABLE IF EXISTS {p}CN_ORPHANS;
DROP TABLE IF EXISTS {p}CN_JOB_VERSIONS;
DROP TABLE IF EXISTS {p}CN_JOB_TYPES;
