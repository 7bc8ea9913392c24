package golden;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TimeZone;

/** Asks real Quartz what becomes of triggers with few fires by how these end; prints one record of `transitions` a line. */
public final class EndsInError {
    private static final String[] INSTRUCTIONS = {
        "NOOP", "SET_TRIGGER_ERROR", "SET_ALL_JOB_TRIGGERS_ERROR", "SET_TRIGGER_COMPLETE", "SET_ALL_JOB_TRIGGERS_COMPLETE",
        "DELETE_TRIGGER"
    };
    private static final long START = 1_893_456_000_000L;

    private static final Random RANDOM = new Random(20261125);

    private EndsInError() {}

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        int records = Integer.parseInt(arguments[1]);
        for (int i = 0; i < records; i++) {
            try (Script script = new Script(arguments[0], String.format("ee-%03d", i), i % 2 == 0, i % 3 == 0)) {
                Map<String, Object> job = Json.object("name", "j", "group", "J", "durable", RANDOM.nextBoolean(),
                    "nonconcurrent", RANDOM.nextInt(3) == 0, "persist_data", false, "recovery", RANDOM.nextInt(3) == 0,
                    "description", null);
                script.step("schedule_job", "job", job, "trigger", simple(0, i % 3));
                for (int n = RANDOM.nextInt(3); n > 0; n--) {
                    script.step("schedule_trigger", "trigger", simple(n, RANDOM.nextInt(3)));
                }
                run(script, INSTRUCTIONS[i % INSTRUCTIONS.length]);
                for (int n = 2 + RANDOM.nextInt(4); n > 0; n--) {
                    switch (RANDOM.nextInt(6)) {
                        case 0 -> script.step("reset_error", "key", "T.t" + RANDOM.nextInt(3));
                        case 1 -> script.step("pause_trigger", "key", "T.t" + RANDOM.nextInt(3));
                        case 2 -> script.step("resume_trigger", "key", "T.t" + RANDOM.nextInt(3));
                        default -> run(script, INSTRUCTIONS[RANDOM.nextInt(INSTRUCTIONS.length)]);
                    }
                }
                script.step("reset_error", "key", "T.t0");
                System.out.println(script.text());
            }
        }
    }

    private static Map<String, Object> simple(int n, int repeats) {
        return Json.object("type", "SIMPLE", "repeat_count", repeats, "repeat_interval", 60_000L, "start", START + n * 1000L,
            "end", null, "misfire", 0, "name", "t" + n, "group", "T", "job", "J.j", "priority", 5, "calendar", null);
    }

    /** Takes what comes next, fires it, and ends it so, now and then with the pause or the end of another in between. */
    private static void run(Script script, String instruction) throws Exception {
        int most = 1 + RANDOM.nextInt(2);
        Object taken = script.step("store_acquire", "no_later_than", START + 600_000L, "max_count", most, "time_window", 600_000L);
        List<String> fired = new ArrayList<>();
        for (Object key : (List<?>) taken) {
            if (script.step("store_fired", "key", key) != null) {
                fired.add((String) key);
            }
        }
        if (RANDOM.nextInt(4) == 0) {
            script.step("pause_trigger", "key", "T.t" + RANDOM.nextInt(3));
        }
        for (String key : fired) {
            script.step("store_complete", "key", key, "instruction", instruction, "job_data_changed", false);
        }
    }
}
