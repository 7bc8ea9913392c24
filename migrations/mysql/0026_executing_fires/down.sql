-- Drops what up.sql made, and makes again what it dropped.
-- {p} is the table prefix, {i} the prefix without a schema, {s} the schema.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'CREATE INDEX IDX_{i}CN_FT_J ON {p}FIRED_TRIGGERS (SCHED_NAME, JOB_NAME, JOB_GROUP, TRIGGER_NAME)')
    FROM information_schema.statistics
    WHERE table_schema = {s} AND table_name = '{i}FIRED_TRIGGERS' AND index_name = 'IDX_{i}CN_FT_J');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;

DROP INDEX IDX_{i}CN_FT_E ON {p}FIRED_TRIGGERS;
