-- Stores new jobs and triggers by one call that is a transaction of its own: whoever schedules
-- waits for one answer, and holds no lock while statements travel. {p} is the table prefix.

-- All of these jobs and simple triggers are stored, or none of them. They are if each job is new,
-- or is stored where it should be; no trigger has the key; and, if that is asked, no node of Quartz
-- is a member. The answer is the time at which they were stored, in epoch milliseconds; none if
-- they were not, and the caller has to look closer.
--
-- A trigger begins paused if its group is (while all are, its group is from then on), and blocked
-- if a fire of its job executes that lets no other run beside it. One without a start starts now.
-- `node_ms` is the time by the node's clock, where that counts. Listeners are notified on the
-- channel, if there is one, of triggers that start within `soon_ms`.
--
-- Most calls are for one trigger, with its job or without: those do without lists, which takes two
-- thirds of the time. Of many it is not asked whether their keys are there, which takes a quarter of
-- the time: a primary key refuses the call then, and the caller looks closer.
--
-- Claims of due triggers and ends of plain fires, which share the lock, happen beside it; nothing
-- else does. Each statement sees what was committed before it began, so what comes after the lock
-- sees all that its holders before have done.
CREATE OR REPLACE FUNCTION {p}CN_SCHEDULE(
    scheduler TEXT, call_token TEXT, channel TEXT, news TEXT, last_count BIGINT, node_ms BIGINT, soon_ms BIGINT,
    not_beside_quartz BOOLEAN,
    new_names TEXT[], new_groups TEXT[], new_descriptions TEXT[], new_types TEXT[], new_durable BOOLEAN[],
    new_nonconcurrent BOOLEAN[], new_update_data BOOLEAN[], new_recovery BOOLEAN[], new_data BYTEA[],
    trigger_names TEXT[], trigger_groups TEXT[], job_names TEXT[], job_groups TEXT[], of_new_jobs BOOLEAN[],
    descriptions TEXT[], priorities BIGINT[], starts BIGINT[], ends BIGINT[], misfires BIGINT[], data BYTEA[],
    repeats BIGINT[], intervals BIGINT[]
) RETURNS BIGINT LANGUAGE plpgsql AS $$
DECLARE
    stored_ms BIGINT;
    is_stored BOOLEAN;
    is_paused BOOLEAN;
    is_blocked BOOLEAN;
    is_many BOOLEAN := cardinality(new_names) + cardinality(trigger_names) > 256;
    paused TEXT[];
    blocking TEXT[];
BEGIN
    PERFORM 1 FROM {p}LOCKS WHERE sched_name = scheduler AND lock_name = 'TRIGGER_ACCESS' FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RETURN NULL;
    END IF;
    IF not_beside_quartz AND EXISTS (
        SELECT 1 FROM {p}SCHEDULER_STATE s WHERE s.sched_name = scheduler AND NOT EXISTS (
            SELECT 1 FROM {p}CN_INSTANCES i WHERE i.sched_name = s.sched_name AND i.instance_name = s.instance_name)
    ) THEN
        RETURN NULL;
    END IF;
    stored_ms := COALESCE(node_ms, floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint);
    IF cardinality(trigger_names) = 1 AND cardinality(new_names) <= 1 THEN
        SELECT (j.job_name IS NULL) = of_new_jobs[1] AND NOT EXISTS (SELECT 1 FROM {p}TRIGGERS t
                WHERE t.sched_name = scheduler AND t.trigger_name = trigger_names[1] AND t.trigger_group = trigger_groups[1]),
            EXISTS (SELECT 1 FROM {p}PAUSED_TRIGGER_GRPS q WHERE q.sched_name = scheduler
                AND q.trigger_group IN (trigger_groups[1], '_$_ALL_GROUPS_PAUSED_$_')),
            (SELECT count(*) FROM (SELECT 1 FROM {p}FIRED_TRIGGERS f WHERE f.sched_name COLLATE "C" = scheduler
                AND f.job_group COLLATE "C" = job_groups[1] AND f.job_name COLLATE "C" = job_names[1]
                AND f.state <> 'ACQUIRED' AND f.is_nonconcurrent = TRUE LIMIT 1) AS first) > 0
            INTO is_stored, is_paused, is_blocked
            FROM (SELECT 1) AS one LEFT JOIN {p}JOB_DETAILS j ON j.sched_name = scheduler AND j.job_name = job_names[1]
                AND j.job_group = job_groups[1];
        IF is_stored AND cardinality(new_names) = 1 THEN
            INSERT INTO {p}JOB_DETAILS (sched_name, job_name, job_group, description, job_class_name, is_durable,
                is_nonconcurrent, is_update_data, requests_recovery, job_data)
            VALUES (scheduler, new_names[1], new_groups[1], new_descriptions[1], new_types[1], new_durable[1],
                new_nonconcurrent[1], new_update_data[1], new_recovery[1], new_data[1]);
        END IF;
        IF is_stored THEN
            INSERT INTO {p}TRIGGERS (sched_name, trigger_name, trigger_group, job_name, job_group, description,
                next_fire_time, prev_fire_time, priority, trigger_state, trigger_type, start_time, end_time, misfire_instr,
                job_data)
            VALUES (scheduler, trigger_names[1], trigger_groups[1], job_names[1], job_groups[1], descriptions[1],
                COALESCE(starts[1], stored_ms), -1, priorities[1],
                CASE WHEN is_paused THEN CASE WHEN is_blocked THEN 'PAUSED_BLOCKED' ELSE 'PAUSED' END
                    WHEN is_blocked THEN 'BLOCKED' ELSE 'WAITING' END, 'SIMPLE', COALESCE(starts[1], stored_ms),
                ends[1], misfires[1], data[1]);
            INSERT INTO {p}SIMPLE_TRIGGERS (sched_name, trigger_name, trigger_group, repeat_count, repeat_interval,
                times_triggered)
            VALUES (scheduler, trigger_names[1], trigger_groups[1], repeats[1], intervals[1], 0);
        END IF;
    ELSE
        paused := ARRAY(SELECT q.trigger_group FROM {p}PAUSED_TRIGGER_GRPS q WHERE q.sched_name = scheduler);
        is_paused := '_$_ALL_GROUPS_PAUSED_$_' = ANY (paused);
        -- Each test is a look by key, which the planner does not turn into a join, once for each
        -- job. Fires are looked up by the index of those that execute, in its collation, and not by
        -- the primary key, whatever statistics say.
        blocking := ARRAY(SELECT length(g.j_name) || ' ' || g.j_name || g.j_group
            FROM (SELECT DISTINCT * FROM unnest(job_names, job_groups)) AS g (j_name, j_group)
            WHERE (SELECT count(*) FROM (SELECT 1 FROM {p}FIRED_TRIGGERS f WHERE f.sched_name COLLATE "C" = scheduler
                AND f.job_group COLLATE "C" = g.j_group AND f.job_name COLLATE "C" = g.j_name
                AND f.state <> 'ACQUIRED' AND f.is_nonconcurrent = TRUE LIMIT 1) AS first) > 0);
        is_blocked := cardinality(blocking) > 0;
        is_stored := NOT EXISTS (
            SELECT 1 FROM (SELECT DISTINCT * FROM unnest(job_names, job_groups, of_new_jobs)) AS g (j_name, j_group, of_new)
            WHERE NOT g.of_new AND (SELECT count(*) FROM {p}JOB_DETAILS j WHERE j.sched_name = scheduler
                AND j.job_name = g.j_name AND j.job_group = g.j_group) = 0
        ) AND (is_many OR NOT EXISTS (
            SELECT 1 FROM unnest(new_names, new_groups) AS g (j_name, j_group)
            WHERE (SELECT count(*) FROM {p}JOB_DETAILS j WHERE j.sched_name = scheduler AND j.job_name = g.j_name
                AND j.job_group = g.j_group) > 0
        ) AND NOT EXISTS (
            SELECT 1 FROM unnest(trigger_names, trigger_groups) AS g (t_name, t_group)
            WHERE (SELECT count(*) FROM {p}TRIGGERS t WHERE t.sched_name = scheduler AND t.trigger_name = g.t_name
                AND t.trigger_group = g.t_group) > 0
        ));
        IF is_stored THEN
            INSERT INTO {p}JOB_DETAILS (sched_name, job_name, job_group, description, job_class_name, is_durable,
                is_nonconcurrent, is_update_data, requests_recovery, job_data)
            SELECT scheduler, j.* FROM unnest(new_names, new_groups, new_descriptions, new_types, new_durable,
                new_nonconcurrent, new_update_data, new_recovery, new_data) AS j;
            INSERT INTO {p}TRIGGERS (sched_name, trigger_name, trigger_group, job_name, job_group, description,
                next_fire_time, prev_fire_time, priority, trigger_state, trigger_type, start_time, end_time, misfire_instr,
                job_data)
            SELECT scheduler, t.t_name, t.t_group, t.j_name, t.j_group, t.description, COALESCE(t.start_ms, stored_ms),
                -1, t.priority,
                CASE WHEN is_blocked AND length(t.j_name) || ' ' || t.j_name || t.j_group = ANY (blocking) THEN
                        CASE WHEN is_paused OR t.t_group = ANY (paused) THEN 'PAUSED_BLOCKED' ELSE 'BLOCKED' END
                    WHEN is_paused OR t.t_group = ANY (paused) THEN 'PAUSED' ELSE 'WAITING' END,
                'SIMPLE', COALESCE(t.start_ms, stored_ms), t.end_ms, t.misfire, t.data
            FROM unnest(trigger_names, trigger_groups, job_names, job_groups, descriptions, priorities, starts, ends, misfires,
                data) AS t (t_name, t_group, j_name, j_group, description, priority, start_ms, end_ms, misfire, data);
            INSERT INTO {p}SIMPLE_TRIGGERS (sched_name, trigger_name, trigger_group, repeat_count, repeat_interval,
                times_triggered)
            SELECT scheduler, t.*, 0 FROM unnest(trigger_names, trigger_groups, repeats, intervals) AS t;
        END IF;
    END IF;
    IF NOT is_stored THEN
        RETURN NULL;
    END IF;
    IF is_paused THEN
        INSERT INTO {p}PAUSED_TRIGGER_GRPS (sched_name, trigger_group)
        SELECT DISTINCT scheduler, g FROM unnest(trigger_groups) AS g WHERE EXISTS (SELECT 1 FROM {p}PAUSED_TRIGGER_GRPS q
            WHERE q.sched_name = scheduler AND q.trigger_group = '_$_ALL_GROUPS_PAUSED_$_')
        ON CONFLICT DO NOTHING;
    END IF;
    INSERT INTO {p}CN_COMMITS (sched_name, token, made_ms) VALUES (scheduler, call_token, stored_ms);
    UPDATE {p}CN_CHANGES SET changes = CASE WHEN changes >= last_count THEN 1 ELSE changes + 1 END WHERE sched_name = scheduler;
    -- Of what is due later, all nodes learn from a poll in time. A notification holds up all that
    -- commit on the server.
    IF channel IS NOT NULL AND EXISTS (
        SELECT 1 FROM unnest(starts) AS start_ms WHERE COALESCE(start_ms, stored_ms) <= stored_ms + soon_ms
    ) THEN
        PERFORM pg_notify(channel, news);
    END IF;
    RETURN stored_ms;
END
$$;
