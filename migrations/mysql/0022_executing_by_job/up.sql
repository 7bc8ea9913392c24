-- Finds the fires of a job that are executing, without going through those of all jobs: each candidate that may not run beside
-- another of its job asks for them. There are no indexes of some rows only.
-- {p} is the table prefix, {i} the prefix without a schema, {s} the schema.
-- It is looked for first: the server commits at once, so it may be there while the version is not noted.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'CREATE INDEX IDX_{i}CN_FT_J ON {p}FIRED_TRIGGERS (SCHED_NAME, JOB_NAME, JOB_GROUP, TRIGGER_NAME)')
    FROM information_schema.statistics
    WHERE table_schema = {s} AND table_name = '{i}FIRED_TRIGGERS' AND index_name = 'IDX_{i}CN_FT_J');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;
