-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

DROP TABLE IF EXISTS {p}CN_ACTIONS;
