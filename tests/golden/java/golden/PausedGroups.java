package golden;

import java.util.Random;
import java.util.TimeZone;

/** Asks real Quartz about groups that are paused and resumed in many orders; prints one record of `transitions` a line. */
public final class PausedGroups {
    private static final String[] GROUPS = {"A", "AB", "B", "BA", "_$_A", "a_b", "axb", "DEFAULT"};
    /** Among them parts of the marker of pauseAll, `_$_ALL_GROUPS_PAUSED_$_`, and what its statement takes for a wildcard. */
    private static final String[] VALUES =
        {"A", "AB", "B", "_$_", "_$_ALL", "GROUPS", "PAUSED_$_", "_", "a_b", "axb", "none", "_$_ALL_GROUPS_PAUSED_$_"};
    private static final String[] MATCHERS = {"EQUALS", "STARTS_WITH", "ENDS_WITH", "CONTAINS", "ANYTHING"};

    private static final Random RANDOM = new Random(20261124);

    private PausedGroups() {}

    private static <T> T one(T[] of) {
        return of[RANDOM.nextInt(of.length)];
    }

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        int records = Integer.parseInt(arguments[1]);
        for (int i = 0; i < records; i++) {
            try (Script script = new Script(arguments[0], String.format("pg-%03d", i), i % 2 == 0, i % 3 == 0)) {
                int[] stored = {0};
                for (int n = 0; n < 4; n++) {
                    store(script, stored);
                }
                // Each matcher at least once right after a pause of all.
                if (i < MATCHERS.length * 4) {
                    script.step("pause_all");
                    script.step("resume_triggers", "matcher", MATCHERS[i % MATCHERS.length],
                        "value", i % MATCHERS.length == 4 ? null : VALUES[i / 5 * 3]);
                    store(script, stored);
                }
                for (int n = 8 + RANDOM.nextInt(8); n > 0; n--) {
                    change(script, stored);
                }
                System.out.println(script.text());
            }
        }
    }

    private static void store(Script script, int[] stored) throws Exception {
        int n = stored[0]++;
        String group = one(GROUPS);
        String jobs = one(GROUPS);
        script.step("schedule_job",
            "job", Json.object("name", "j" + n, "group", jobs, "durable", RANDOM.nextBoolean(), "nonconcurrent", false,
                "persist_data", false, "recovery", false, "description", null),
            "trigger", Json.object("type", "SIMPLE", "repeat_count", RANDOM.nextInt(3), "repeat_interval", 60_000L,
                "start", 1_893_456_000_000L + n * 1000L, "end", null, "misfire", 0, "name", "t" + n, "group", group,
                "job", jobs + ".j" + n, "priority", 5, "calendar", null));
    }

    private static void change(Script script, int[] stored) throws Exception {
        String matcher = one(MATCHERS);
        Object[] of = {"matcher", matcher, "value", matcher.equals("ANYTHING") ? null : one(VALUES)};
        switch (RANDOM.nextInt(16)) {
            case 0, 1, 2 -> script.step("pause_triggers", of);
            case 3, 4, 5, 6 -> script.step("resume_triggers", of);
            case 7 -> script.step("pause_jobs", of);
            case 8 -> script.step("resume_jobs", of);
            case 9, 10 -> script.step("pause_all");
            case 11 -> script.step("resume_all");
            default -> store(script, stored);
        }
    }
}
