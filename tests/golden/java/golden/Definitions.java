package golden;

import java.util.Date;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.quartz.DateBuilder.IntervalUnit;
import org.quartz.Job;
import org.quartz.JobDetail;
import org.quartz.JobKey;
import org.quartz.TimeOfDay;
import org.quartz.TriggerKey;
import org.quartz.impl.JobDetailImpl;
import org.quartz.impl.matchers.GroupMatcher;
import org.quartz.impl.triggers.AbstractTrigger;
import org.quartz.impl.triggers.DailyTimeIntervalTriggerImpl;
import org.quartz.impl.triggers.SimpleTriggerImpl;
import org.quartz.spi.OperableTrigger;

/** Jobs, triggers and matchers built from their definitions in a record. */
final class Definitions {
    private Definitions() {}

    static JobDetail job(Map<?, ?> definition) throws Exception {
        String name = ((Boolean) definition.get("nonconcurrent") ? "NonConcurrent" : "Plain") + "Job";
        JobDetailImpl job = new JobDetailImpl();
        job.setKey(new JobKey((String) definition.get("name"), (String) definition.get("group")));
        job.setJobClass(Class.forName("golden.jobs." + name).asSubclass(Job.class));
        job.setDurability((Boolean) definition.get("durable"));
        job.setRequestsRecovery((Boolean) definition.get("recovery"));
        return job;
    }

    static OperableTrigger trigger(Map<?, ?> definition) {
        AbstractTrigger<?> trigger;
        if (definition.get("type").equals("SIMPLE")) {
            SimpleTriggerImpl simple = new SimpleTriggerImpl();
            simple.setRepeatCount((Integer) definition.get("repeat_count"));
            simple.setRepeatInterval((Long) definition.get("repeat_interval"));
            trigger = simple;
        } else {
            trigger = daily(definition);
        }
        trigger.setKey(new TriggerKey((String) definition.get("name"), (String) definition.get("group")));
        if (definition.get("job") != null) {
            trigger.setJobKey(job((String) definition.get("job")));
        }
        trigger.setStartTime(new Date((Long) definition.get("start")));
        if (definition.get("end") != null) {
            trigger.setEndTime(new Date((Long) definition.get("end")));
        }
        trigger.setMisfireInstruction((Integer) definition.get("misfire"));
        trigger.setPriority((Integer) definition.get("priority"));
        return trigger;
    }

    private static DailyTimeIntervalTriggerImpl daily(Map<?, ?> definition) {
        DailyTimeIntervalTriggerImpl daily = new DailyTimeIntervalTriggerImpl();
        daily.setRepeatInterval((Integer) definition.get("interval"));
        daily.setRepeatIntervalUnit(IntervalUnit.valueOf((String) definition.get("unit")));
        daily.setRepeatCount((Integer) definition.get("repeat_count"));
        Set<Integer> days = new HashSet<>();
        ((List<?>) definition.get("days_of_week")).forEach(day -> days.add((Integer) day));
        daily.setDaysOfWeek(days);
        if (definition.get("start_tod") != null) {
            daily.setStartTimeOfDay(time((String) definition.get("start_tod")));
        }
        if (definition.get("end_tod") != null) {
            daily.setEndTimeOfDay(time((String) definition.get("end_tod")));
        }
        return daily;
    }

    private static TimeOfDay time(String text) {
        String[] parts = text.split(":");
        return new TimeOfDay(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]), Integer.parseInt(parts[2]));
    }

    static JobKey job(String key) {
        return new JobKey(key.substring(key.indexOf('.') + 1), key.substring(0, key.indexOf('.')));
    }

    static TriggerKey trigger(String key) {
        return new TriggerKey(key.substring(key.indexOf('.') + 1), key.substring(0, key.indexOf('.')));
    }

    static <K extends org.quartz.utils.Key<K>> GroupMatcher<K> matcher(Map<String, Object> args) {
        String value = (String) args.get("value");
        return switch ((String) args.get("matcher")) {
            case "EQUALS" -> GroupMatcher.groupEquals(value);
            case "STARTS_WITH" -> GroupMatcher.groupStartsWith(value);
            case "ENDS_WITH" -> GroupMatcher.groupEndsWith(value);
            case "CONTAINS" -> GroupMatcher.groupContains(value);
            default -> GroupMatcher.anyGroup();
        };
    }
}
