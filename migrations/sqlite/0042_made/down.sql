-- Drops what up.sql made. {p} is the table prefix, {i} the prefix without a schema: with a schema,
-- name it before the index.

DROP INDEX IF EXISTS IDX_{i}CN_C_M;

DROP INDEX IF EXISTS IDX_{i}CN_Q_M;
