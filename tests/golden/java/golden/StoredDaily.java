package golden;

import java.util.ArrayList;
import java.util.Date;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TimeZone;
import java.util.TreeSet;
import org.quartz.DailyTimeIntervalTrigger;
import org.quartz.TimeOfDay;
import org.quartz.TriggerKey;
import org.quartz.impl.triggers.DailyTimeIntervalTriggerImpl;
import org.quartz.spi.OperableTrigger;

/** Asks real Quartz what a daily trigger is after it was stored and read; prints one JSON record a line. */
public final class StoredDaily {
    private static final String[] ZONES = {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata"};
    private static final Random RANDOM = new Random(20261126);

    private StoredDaily() {}

    public static void main(String[] arguments) throws Exception {
        int records = Integer.parseInt(arguments[1]);
        for (int i = 0; i < records; i++) {
            String zone = ZONES[i % ZONES.length];
            TimeZone.setDefault(TimeZone.getTimeZone(zone));
            Map<String, Object> definition = definition(i);
            OperableTrigger trigger = Definitions.trigger(definition);
            Map<String, Object> record = Json.object(
                "id", String.format("sd-%03d", i), "now", Store.NOW, "default_tz", zone, "use_properties", i % 2 == 0,
                "misfire_threshold", 60_000, "trigger", definition);
            record.put("first", ms(trigger.computeFirstFireTime(null)));
            if (trigger.getNextFireTime() != null) {
                try (Store store = new Store(arguments[0], i % 2 == 0, false)) {
                    Map<String, Object> job = Json.object("name", "j", "group", "J", "durable", false, "nonconcurrent", false,
                        "persist_data", false, "recovery", false, "description", null);
                    store.quartz.storeJobAndTrigger(Definitions.job(job), trigger);
                    record.put("row", ((List<?>) store.sections().get("triggers")).get(0));
                    read(record, store.quartz.retrieveTrigger(new TriggerKey("t", "T")));
                }
            }
            System.out.println(Json.text(record));
        }
    }

    private static Map<String, Object> definition(int i) {
        int from = RANDOM.nextInt(20 * 60);
        int to = from + 1 + RANDOM.nextInt(24 * 60 - 1 - from);
        TreeSet<Integer> days = new TreeSet<>();
        for (int day = RANDOM.nextInt(8); day >= 0; day--) {
            days.add(1 + RANDOM.nextInt(7));
        }
        String unit = new String[] {"SECOND", "MINUTE", "HOUR"}[RANDOM.nextInt(3)];
        int interval = unit.equals("SECOND") ? 600 + RANDOM.nextInt(20_000) : unit.equals("MINUTE") ? 10 + RANDOM.nextInt(600)
            : 1 + RANDOM.nextInt(23);
        long start = 1_893_456_000_000L + RANDOM.nextInt(365 * 24 * 60) * 60_000L;
        return Json.object("type", "DAILY_I", "interval", interval, "unit", unit,
            "repeat_count", RANDOM.nextInt(3) == 0 ? RANDOM.nextInt(6) : -1, "days_of_week", new ArrayList<>(days),
            "start_tod", RANDOM.nextInt(3) == 0 ? null : String.format("%02d:%02d:%02d", from / 60, from % 60, RANDOM.nextInt(60)),
            "end_tod", i % 3 == 0 ? String.format("%02d:%02d:59", to / 60, to % 60) : null,
            "start", start, "end", RANDOM.nextInt(3) == 0 ? start + (1 + RANDOM.nextInt(10 * 24)) * 3_600_000L : null,
            "misfire", 0, "name", "t", "group", "T", "job", "J.j", "priority", 5, "calendar", null);
    }

    private static void read(Map<String, Object> record, OperableTrigger stored) {
        DailyTimeIntervalTriggerImpl daily = (DailyTimeIntervalTriggerImpl) stored;
        record.put("read", Json.object("start_tod", text(daily.getStartTimeOfDay()), "end_tod", text(daily.getEndTimeOfDay()),
            "days_of_week", new ArrayList<>(new TreeSet<>(daily.getDaysOfWeek())), "interval", daily.getRepeatInterval(),
            "unit", daily.getRepeatIntervalUnit().name(), "repeat_count", daily.getRepeatCount(),
            "start", ms(daily.getStartTime()), "end", ms(daily.getEndTime()), "next", ms(daily.getNextFireTime()),
            "final", ms(((DailyTimeIntervalTrigger) daily).getFinalFireTime())));
        List<Object> chain = new ArrayList<>();
        for (int n = 0; n < 12 && daily.getNextFireTime() != null; n++) {
            daily.triggered(null);
            chain.add(ms(daily.getNextFireTime()));
        }
        record.put("chain", chain);
    }

    private static String text(TimeOfDay time) {
        return time == null ? null : String.format("%02d:%02d:%02d", time.getHour(), time.getMinute(), time.getSecond());
    }

    private static Long ms(Date time) {
        return time == null ? null : time.getTime();
    }
}
