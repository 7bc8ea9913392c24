-- Drops what up.sql made.
-- {p} is the table prefix, {i} the prefix without a schema.

DROP INDEX IDX_{i}CN_FT_R ON {p}FIRED_TRIGGERS;
