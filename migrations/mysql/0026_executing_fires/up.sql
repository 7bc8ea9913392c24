-- Finds the executing fires of a job, of a trigger and of a group of jobs, without going through those of all others: whatever asks
-- whether a job executes names this index, or names what no other index has, and a planner has no choice (executing.rs). What is
-- not reserved executes. The flag comes before the trigger: whether a fire lets no other run beside it is asked of jobs of which
-- thousands execute.
--
-- It has the fires of jobs that may run beside themselves as well, and costs each of them 2 to 4 µs. An index of the others only
-- would not do: of a job that is not durable each end asks whether another of its fires executes, so do the runs of a trigger
-- with a policy, limits of groups, and a job that was replaced by one that runs once at a time while it runs.
-- There are no indexes of some rows only.
-- {p} is the table prefix, {i} the prefix without a schema, {s} the schema. The indexes are looked
-- for first: the server commits at once, so they may be as they should while the version is not
-- noted.

SET @carnelian = (SELECT IF(COUNT(*) > 0, 'DO 0', 'CREATE INDEX IDX_{i}CN_FT_E ON {p}FIRED_TRIGGERS (SCHED_NAME, JOB_GROUP, JOB_NAME, IS_NONCONCURRENT, TRIGGER_NAME)')
    FROM information_schema.statistics
    WHERE table_schema = {s} AND table_name = '{i}FIRED_TRIGGERS' AND index_name = 'IDX_{i}CN_FT_E');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;

SET @carnelian = (SELECT IF(COUNT(*) = 0, 'DO 0', 'DROP INDEX IDX_{i}CN_FT_J ON {p}FIRED_TRIGGERS')
    FROM information_schema.statistics
    WHERE table_schema = {s} AND table_name = '{i}FIRED_TRIGGERS' AND index_name = 'IDX_{i}CN_FT_J');
PREPARE carnelian FROM @carnelian;
EXECUTE carnelian;
DEALLOCATE PREPARE carnelian;
