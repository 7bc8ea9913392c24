-- Finds the executing fires of a job, of a trigger and of a group of jobs, without going through those of all others: whatever asks
-- whether a job executes names this index, or names what no other index has, and a planner has no choice (executing.rs). What is
-- not reserved executes. The flag comes before the trigger: whether a fire lets no other run beside it is asked of jobs of which
-- thousands execute.
--
-- It has the fires of jobs that may run beside themselves as well, and costs each of them 2 to 4 µs. An index of the others only
-- would not do: of a job that is not durable each end asks whether another of its fires executes, so do the runs of a trigger
-- with a policy, limits of groups, and a job that was replaced by one that runs once at a time while it runs.
--
-- The collation is that of nothing else here, and the cheapest.
-- {p} is the table prefix, {i} the prefix without a schema, {q} the schema with its dot.

CREATE INDEX IF NOT EXISTS IDX_{i}CN_FT_E ON {p}FIRED_TRIGGERS (SCHED_NAME COLLATE "C", JOB_GROUP COLLATE "C",
    JOB_NAME COLLATE "C", IS_NONCONCURRENT, TRIGGER_NAME COLLATE "C") WHERE STATE <> 'ACQUIRED';

DROP INDEX IF EXISTS {q}IDX_{i}CN_FT_J;
