package golden;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Date;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.quartz.SchedulerException;
import org.quartz.Trigger.CompletedExecutionInstruction;
import org.quartz.impl.jdbcjobstore.JobStoreTX;
import org.quartz.spi.OperableTrigger;
import org.quartz.spi.TriggerFiredBundle;
import org.quartz.spi.TriggerFiredResult;

/** Operations on a store one after the other, and what each changed in the tables: a record of `transitions`. */
final class Script implements AutoCloseable {
    private final Store store;
    private final JobStoreTX quartz;
    private final Map<String, Object> record;
    private final List<Object> steps = new ArrayList<>();
    private final Map<String, OperableTrigger> reserved = new HashMap<>();
    private final Map<String, TriggerFiredBundle> fired = new HashMap<>();
    private Map<String, Object> before = Json.object(
        "triggers", List.of(), "jobs", List.of(), "paused_groups", List.of(), "calendars", List.of(), "fired", List.of());

    Script(String url, String id, boolean useProperties, boolean running) throws Exception {
        store = new Store(url, useProperties, running);
        quartz = store.quartz;
        record = Json.object("id", id, "now", Store.NOW, "default_tz", "UTC", "use_properties", useProperties,
            "misfire_threshold", 60_000, "near", false, "scheduler_running", running, "steps", steps);
    }

    String text() {
        return Json.text(record);
    }

    /** Does one operation; its arguments are pairs of name and value. Returns its result. */
    Object step(String op, Object... pairs) throws Exception {
        Map<String, Object> args = Json.object(pairs);
        Map<String, Object> step = Json.object("op", op, "args", args);
        Object result = null;
        try {
            result = run(op, args);
            if (result != null && !result.equals(false)) {
                step.put("result", result);
            }
        } catch (SchedulerException error) {
            step.put("error", error.getClass().getName() + ": " + error.getMessage());
        }
        Map<String, Object> after = store.sections();
        Map<String, Object> changed = new java.util.LinkedHashMap<>();
        after.forEach((section, rows) -> {
            if (!rows.equals(before.get(section))) {
                changed.put(section, rows);
            }
        });
        step.put("changed", changed);
        before = after;
        steps.add(step);
        return result;
    }

    private Object run(String op, Map<String, Object> args) throws Exception {
        String key = (String) args.get("key");
        switch (op) {
            case "add_job" -> quartz.storeJob(Definitions.job((Map<?, ?>) args.get("job")), (Boolean) args.get("replace"));
            case "schedule_job" -> {
                OperableTrigger trigger = first(args);
                quartz.storeJobAndTrigger(Definitions.job((Map<?, ?>) args.get("job")), trigger);
                return trigger.getNextFireTime().getTime();
            }
            case "schedule_trigger" -> {
                OperableTrigger trigger = first(args);
                quartz.storeTrigger(trigger, false);
                return trigger.getNextFireTime().getTime();
            }
            case "unschedule_job" -> {
                return quartz.removeTrigger(Definitions.trigger(key));
            }
            case "delete_job" -> {
                // As QuartzScheduler.deleteJob does.
                boolean found = false;
                for (OperableTrigger trigger : quartz.getTriggersForJob(Definitions.job(key))) {
                    found |= quartz.removeTrigger(trigger.getKey());
                }
                return quartz.removeJob(Definitions.job(key)) || found;
            }
            case "pause_trigger" -> quartz.pauseTrigger(Definitions.trigger(key));
            case "resume_trigger" -> quartz.resumeTrigger(Definitions.trigger(key));
            case "pause_job" -> quartz.pauseJob(Definitions.job(key));
            case "resume_job" -> quartz.resumeJob(Definitions.job(key));
            case "pause_triggers" -> quartz.pauseTriggers(Definitions.matcher(args));
            case "resume_triggers" -> quartz.resumeTriggers(Definitions.matcher(args));
            case "pause_jobs" -> quartz.pauseJobs(Definitions.matcher(args));
            case "resume_jobs" -> quartz.resumeJobs(Definitions.matcher(args));
            case "pause_all" -> quartz.pauseAll();
            case "resume_all" -> quartz.resumeAll();
            case "reset_error" -> quartz.resetTriggerFromErrorState(Definitions.trigger(key));
            case "store_acquire" -> {
                List<Object> names = new ArrayList<>();
                List<OperableTrigger> taken = quartz.acquireNextTriggers(
                    (Long) args.get("no_later_than"), (Integer) args.get("max_count"), (Long) args.get("time_window"));
                for (OperableTrigger trigger : taken) {
                    names.add(trigger.getKey().toString());
                    reserved.put(trigger.getKey().toString(), trigger);
                }
                return names;
            }
            case "store_release" -> quartz.releaseAcquiredTrigger(reserved.remove(key));
            case "store_fired" -> {
                return fire(key);
            }
            case "store_complete" -> {
                TriggerFiredBundle bundle = fired.remove(key);
                quartz.triggeredJobComplete(bundle.getTrigger(), bundle.getJobDetail(),
                    CompletedExecutionInstruction.valueOf((String) args.get("instruction")));
            }
            default -> throw new IllegalArgumentException(op);
        }
        return null;
    }

    /** The trigger of a step with its first fire time, as QuartzScheduler computes it before it asks the store. */
    private static OperableTrigger first(Map<String, Object> args) throws SchedulerException {
        OperableTrigger trigger = Definitions.trigger((Map<?, ?>) args.get("trigger"));
        trigger.validate();
        if (trigger.computeFirstFireTime(null) == null) {
            throw new SchedulerException("Based on configured schedule, the given trigger will never fire.");
        }
        return trigger;
    }

    private Object fire(String key) throws Exception {
        OperableTrigger trigger = reserved.remove(key);
        TriggerFiredResult result = quartz.triggersFired(List.of(trigger)).get(0);
        TriggerFiredBundle bundle = result.getTriggerFiredBundle();
        if (bundle == null) {
            reserved.put(key, trigger);
            return null;
        }
        fired.put(key, bundle);
        return Json.object("fire_time", Store.NOW, "scheduled", ms(bundle.getScheduledFireTime()),
            "prev", ms(bundle.getPrevFireTime()), "next", ms(bundle.getNextFireTime()), "recovering", bundle.isRecovering());
    }

    private static Long ms(Date time) {
        return time == null ? null : time.getTime();
    }

    @Override
    public void close() throws SQLException {
        store.close();
    }
}
