-- Finds reservations whose time has come, without going through all that executes. There are no indexes of some rows only.
-- {p} is the table prefix, {i} the prefix without a schema, {s} the schema.
-- It is looked for first: the server commits at once, so it may be there while the version is not noted.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'CREATE INDEX IDX_{i}CN_FT_R ON {p}FIRED_TRIGGERS (SCHED_NAME, STATE, SCHED_TIME)')
    FROM information_schema.statistics
    WHERE table_schema = {s} AND table_name = '{i}FIRED_TRIGGERS' AND index_name = 'IDX_{i}CN_FT_R');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;
