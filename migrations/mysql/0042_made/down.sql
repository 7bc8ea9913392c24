-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

DROP INDEX IDX_{i}CN_C_M ON {p}CN_COMMITS;

DROP INDEX IDX_{i}CN_Q_M ON {p}CN_REQUESTS;
