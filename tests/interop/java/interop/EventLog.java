package interop;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;
import org.quartz.JobDataMap;
import org.quartz.JobExecutionContext;
import org.quartz.Scheduler;
import org.quartz.SchedulerException;

/** The event log of the demo jobs, in the form of examples/demo/log.rs: one JSON line per event, one write each. */
public final class EventLog {
    private static OutputStream out = System.out;

    private EventLog() {}

    /** Logs to this file, which other processes may write to as well (O_APPEND). */
    static void open(String path) throws IOException {
        out = new FileOutputStream(path, true);
    }

    /** What every event of a run says. Quartz knows no fence and no first fire of a chain. */
    public static Map<String, Object> facts(String type, long attempt, JobExecutionContext context)
            throws SchedulerException {
        long scheduled = context.getScheduledFireTime().getTime();
        boolean recovering = context.isRecovering();
        Map<String, Object> facts = new LinkedHashMap<>();
        facts.put("pid", ProcessHandle.current().pid());
        facts.put("instance", context.getScheduler().getSchedulerInstanceId());
        facts.put("fire_id", context.getFireInstanceId());
        facts.put("fence", null);
        facts.put("origin_fire_id", null);
        facts.put("trigger", context.getTrigger().getKey().toString());
        facts.put("job", context.getJobDetail().getKey().toString());
        facts.put("type", type);
        facts.put("scheduled_ms", scheduled);
        facts.put("original_scheduled_ms", recovering ? originalSchedule(context) : scheduled);
        facts.put("recovering", recovering);
        facts.put("attempt", attempt);
        return facts;
    }

    private static long originalSchedule(JobExecutionContext context) {
        String key = Scheduler.FAILED_JOB_ORIGINAL_TRIGGER_SCHEDULED_FIRETIME_IN_MILLISECONDS;
        return Long.parseLong(context.getMergedJobDataMap().getString(key));
    }

    /** A run begins, with the data it sees. */
    public static void start(Map<String, Object> facts, JobDataMap seen) {
        Map<String, Object> data = new TreeMap<>();
        for (String key : seen.getKeys()) {
            data.put(key, String.valueOf(seen.get(key)));
        }
        write("START", facts, Map.of("data", data));
    }

    public static void write(String event, Map<String, Object> facts, Map<String, Object> more) {
        Map<String, Object> all = new LinkedHashMap<>(facts);
        all.put("event", event);
        all.put("mono_ns", System.nanoTime());
        all.put("wall_ms", System.currentTimeMillis());
        all.putAll(more);
        StringBuilder line = new StringBuilder();
        json(line, all);
        byte[] bytes = line.append('\n').toString().getBytes(StandardCharsets.UTF_8);
        try {
            out.write(bytes);
        } catch (IOException e) {
            throw new UncheckedIOException("an event cannot be logged", e);
        }
    }

    private static void json(StringBuilder text, Object value) {
        if (value instanceof Map) {
            char separator = '{';
            for (Map.Entry<?, ?> entry : ((Map<?, ?>) value).entrySet()) {
                text.append(separator);
                json(text, entry.getKey());
                text.append(':');
                json(text, entry.getValue());
                separator = ',';
            }
            text.append(separator == '{' ? "{}" : "}");
        } else if (value instanceof String) {
            text.append('"');
            for (char c : ((String) value).toCharArray()) {
                if (c == '"' || c == '\\') {
                    text.append('\\').append(c);
                } else if (c < ' ' || c > '~') {
                    text.append(String.format("\\u%04x", (int) c));
                } else {
                    text.append(c);
                }
            }
            text.append('"');
        } else {
            text.append(value);
        }
    }
}
