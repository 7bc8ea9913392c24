-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

DROP TABLE IF EXISTS {p}CN_COMMITS;
DROP TABLE IF EXISTS {p}CN_RECOVERIES;
DROP TABLE IF EXISTS {p}CN_INSTANCES;
DROP TABLE IF EXISTS {p}CN_FENCES;
