package interop;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Date;
import java.util.List;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.quartz.Job;
import org.quartz.JobBuilder;
import org.quartz.JobDataMap;
import org.quartz.JobKey;
import org.quartz.Scheduler;
import org.quartz.SimpleScheduleBuilder;
import org.quartz.SimpleTrigger;
import org.quartz.TriggerBuilder;
import org.quartz.TriggerKey;
import org.quartz.impl.matchers.GroupMatcher;

/** What the test tells this node to do, word by word: the API of Quartz, by a line of text. */
final class Commands {
    private final Scheduler scheduler;

    Commands(Scheduler scheduler) {
        this.scheduler = scheduler;
    }

    /** Carries out one line; returns the answer. */
    String run(String line) throws Exception {
        List<String> words = Arrays.asList(line.split(" "));
        String first = words.size() > 1 ? words.get(1) : "";
        switch (words.get(0)) {
            case "monotonic":
                return Long.toString(System.nanoTime());
            case "standby":
                scheduler.standby();
                return "";
            case "start":
                scheduler.start();
                return "";
            case "pause-trigger":
                scheduler.pauseTrigger(trigger(first));
                return "";
            case "resume-trigger":
                scheduler.resumeTrigger(trigger(first));
                return "";
            case "pause-job":
                scheduler.pauseJob(job(first));
                return "";
            case "resume-job":
                scheduler.resumeJob(job(first));
                return "";
            case "pause-group":
                scheduler.pauseTriggers(GroupMatcher.triggerGroupEquals(first));
                return "";
            case "resume-group":
                scheduler.resumeTriggers(GroupMatcher.triggerGroupEquals(first));
                return "";
            case "pause-all":
                scheduler.pauseAll();
                return "";
            case "resume-all":
                scheduler.resumeAll();
                return "";
            case "state":
                return scheduler.getTriggerState(trigger(first)).name();
            case "reschedule":
                return String.valueOf(scheduler.rescheduleJob(trigger(first), simple(words)));
            case "schedule":
                return schedule(words);
            case "data":
                return data(scheduler.getJobDetail(job(first)).getJobDataMap());
            default:
                throw new IllegalArgumentException("no such command: " + line);
        }
    }

    /** schedule KEY EVERY_MS FIRES TYPE KEY=KIND:VALUE…, job and trigger of one key, recoverable. */
    private String schedule(List<String> words) throws Exception {
        JobDataMap data = new JobDataMap();
        for (String entry : words.subList(5, words.size())) {
            String[] parts = entry.split("[=:]", 3);
            data.put(parts[0], value(parts[1], parts[2]));
        }
        Class<? extends Job> type = Class.forName(words.get(4)).asSubclass(Job.class);
        JobBuilder job = JobBuilder.newJob(type).withIdentity(job(words.get(1))).usingJobData(data);
        return String.valueOf(scheduler.scheduleJob(job.storeDurably().requestRecovery().build(), simple(words)));
    }

    /** A trigger of words 1 to 3: KEY EVERY_MS FIRES, from now on. */
    private static SimpleTrigger simple(List<String> words) {
        SimpleScheduleBuilder schedule = SimpleScheduleBuilder.simpleSchedule()
                .withIntervalInMilliseconds(Long.parseLong(words.get(2)))
                .withRepeatCount(Integer.parseInt(words.get(3)) - 1)
                .withMisfireHandlingInstructionIgnoreMisfires();
        TriggerKey key = trigger(words.get(1));
        return TriggerBuilder.newTrigger().withIdentity(key).forJob(key.getName(), key.getGroup())
                .withSchedule(schedule).startAt(new Date()).build();
    }

    private static Object value(String kind, String text) {
        switch (kind) {
            case "int":
                return Integer.valueOf(text);
            case "long":
                return Long.valueOf(text);
            case "double":
                return Double.valueOf(text);
            case "bool":
                return Boolean.valueOf(text);
            case "date":
                return new Date(Long.parseLong(text));
            case "list":
                return new ArrayList<>(List.of(text.split(",")));
            default:
                return text;
        }
    }

    /** Every entry with its class, in order of the keys: n=java.lang.Integer:3 … */
    private static String data(JobDataMap data) {
        return new TreeMap<>(data.getWrappedMap()).entrySet().stream()
                .map(e -> e.getKey() + "=" + e.getValue().getClass().getName() + ":" + show(e.getValue()))
                .collect(Collectors.joining(" "));
    }

    private static String show(Object value) {
        return value instanceof Date ? Long.toString(((Date) value).getTime()) : value.toString();
    }

    private static TriggerKey trigger(String key) {
        String[] parts = key.split("\\.", 2);
        return TriggerKey.triggerKey(parts[1], parts[0]);
    }

    private static JobKey job(String key) {
        String[] parts = key.split("\\.", 2);
        return JobKey.jobKey(parts[1], parts[0]);
    }
}
