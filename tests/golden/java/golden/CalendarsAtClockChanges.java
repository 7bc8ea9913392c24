package golden;

import java.io.ByteArrayOutputStream;
import java.io.ObjectOutputStream;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Date;
import java.util.List;
import java.util.Random;
import java.util.TimeZone;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.quartz.impl.calendar.BaseCalendar;
import org.quartz.impl.calendar.CronCalendar;
import org.quartz.impl.calendar.DailyCalendar;
import org.quartz.impl.calendar.HolidayCalendar;
import org.quartz.impl.calendar.MonthlyCalendar;
import org.quartz.impl.calendar.WeeklyCalendar;

/** Asks real Quartz about calendars at instants around clock changes and around 1970; prints one JSON record a line. */
public final class CalendarsAtClockChanges {
    private static final String[] ZONES = {
        "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Havana", "Europe/London", "America/Santiago", "UTC"
    };
    /** Seconds, minutes and hours that a cron calendar excludes, up to whole days. */
    private static final String[] EXPRESSIONS = {
        "0 * * * * ?", "0/10 * * * * ?", "30-40 * * * * ?", "* 0 * * * ?", "* 0/15 * * * ?", "* 30-59 * * * ?",
        "0 0 * * * ?", "* * 0 * * ?", "* * 1 * * ?", "* * 2 * * ?", "* * 3 * * ?", "* * 1-2 * * ?", "* * 0-3 ? * SUN",
        "* * 0-7,18-23 ? * *", "0 30 2 * * ?", "* 30 1-2 * * ?", "* * 4-5 25 10 ?", "* * 1-3 ? * SUN", "15 45 1 ? * SUN",
        "59 59 * * * ?", "* 59 1 * * ?", "0 0 0 1 11 ?", "* * 23 * * ?"
    };

    private static final Random RANDOM = new Random(20261123);

    private CalendarsAtClockChanges() {}

    public static void main(String[] arguments) throws Exception {
        TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
        int records = Integer.parseInt(arguments[0]);
        for (int i = 0; i < records; i++) {
            String zone = ZONES[RANDOM.nextInt(ZONES.length)];
            StringBuilder definition = new StringBuilder();
            BaseCalendar calendar = random(zone, definition, i, 0);
            List<String> queries = new ArrayList<>();
            for (long at : instants(zone)) {
                queries.add("[" + at + "," + answer(() -> calendar.isTimeIncluded(at)) + ","
                    + answer(() -> calendar.getNextIncludedTime(at)) + "]");
            }
            ByteArrayOutputStream bytes = new ByteArrayOutputStream();
            new ObjectOutputStream(bytes).writeObject(calendar);
            System.out.println(String.format("{\"id\":\"cc-%04d\",\"default_tz\":\"UTC\",\"calendar\":%s,\"queries\":[%s],\"bytes\":\"%s\"}",
                i, definition, String.join(",", queries), Base64.getEncoder().encodeToString(bytes.toByteArray())));
        }
    }

    /** A value, the exception that was thrown, or that there was no answer within five seconds. */
    @SuppressWarnings("removal") // Quartz's endless loops look at no interruption.
    private static String answer(Callable<Object> question) throws InterruptedException {
        FutureTask<Object> task = new FutureTask<>(question);
        Thread thread = new Thread(task);
        thread.start();
        try {
            return String.valueOf(task.get(5, TimeUnit.SECONDS));
        } catch (TimeoutException slow) {
            thread.stop();
            return "\"hang\"";
        } catch (ExecutionException thrown) {
            return "\"error: " + thrown.getCause() + "\"";
        }
    }

    /** Instants within some hours of a clock change of the zone, some to the millisecond, and some around 1970. */
    private static long[] instants(String zone) {
        long[] instants = new long[14];
        for (int i = 0; i < instants.length; i++) {
            long from = 1_735_689_600_000L + RANDOM.nextInt(4 * 365) * 86_400_000L;
            ZoneOffsetTransition change = ZoneId.of(zone).getRules().nextTransition(java.time.Instant.ofEpochMilli(from));
            long at = change == null ? from : change.getInstant().toEpochMilli();
            long steps = RANDOM.nextInt(8 * 60) - 4 * 60;
            instants[i] = switch (RANDOM.nextInt(4)) {
                case 0 -> at + steps * 60_000;
                case 1 -> at + steps * 60_000 - 1;
                case 2 -> at + steps * 1000;
                default -> at + RANDOM.nextInt(4 * 3_600_000) - 2 * 3_600_000;
            };
        }
        instants[11] = -1;
        instants[12] = RANDOM.nextInt(3) - 1;
        instants[13] = -RANDOM.nextInt(100_000_000);
        return instants;
    }

    private static BaseCalendar random(String zone, StringBuilder definition, int number, int depth) throws Exception {
        int kind = depth == 0 ? (RANDOM.nextInt(10) < 7 ? 0 : 1 + RANDOM.nextInt(5)) : RANDOM.nextInt(6);
        TimeZone timeZone = TimeZone.getTimeZone(zone);
        String rest;
        BaseCalendar calendar;
        switch (kind) {
            case 0 -> {
                String expression = EXPRESSIONS[RANDOM.nextInt(EXPRESSIONS.length)];
                calendar = new CronCalendar(null, expression, timeZone);
                rest = "\"type\":\"cron\",\"expr\":\"" + expression + "\"";
            }
            case 1 -> {
                int from = RANDOM.nextInt(4 * 60);
                int to = from + 1 + RANDOM.nextInt(4 * 60);
                DailyCalendar daily = new DailyCalendar(null, from / 60, from % 60, 0, 0, to / 60, to % 60, 59, 999);
                daily.setTimeZone(timeZone);
                boolean invert = RANDOM.nextBoolean();
                daily.setInvertTimeRange(invert);
                calendar = daily;
                rest = String.format("\"type\":\"daily\",\"from\":\"%02d:%02d:00:000\",\"to\":\"%02d:%02d:59:999\",\"invert\":%b",
                    from / 60, from % 60, to / 60, to % 60, invert);
            }
            case 2 -> {
                WeeklyCalendar weekly = new WeeklyCalendar(timeZone);
                weekly.setDaysExcluded(new boolean[8]);
                int day = 1 + RANDOM.nextInt(7);
                weekly.setDayExcluded(day, true);
                calendar = weekly;
                rest = "\"type\":\"weekly\",\"days\":[" + day + "]";
            }
            case 3 -> {
                MonthlyCalendar monthly = new MonthlyCalendar(timeZone);
                int day = 1 + RANDOM.nextInt(31);
                monthly.setDayExcluded(day, true);
                calendar = monthly;
                rest = "\"type\":\"monthly\",\"days\":[" + day + "]";
            }
            case 4 -> {
                calendar = new BaseCalendar(timeZone);
                rest = "\"type\":\"base\"";
            }
            default -> {
                HolidayCalendar holiday = new HolidayCalendar(timeZone);
                ZoneOffsetTransition change =
                    ZoneId.of(zone).getRules().nextTransition(java.time.Instant.ofEpochMilli(1_772_366_400_000L));
                long day = (change == null ? 1_772_366_400_000L : change.getInstant().toEpochMilli()) + 3_600_000L;
                holiday.addExcludedDate(new Date(day));
                calendar = holiday;
                rest = "\"type\":\"holiday\",\"dates_added\":[" + day + "],\"dates_stored\":[" + holiday.getExcludedDates().first().getTime() + "]";
            }
        }
        StringBuilder base = new StringBuilder("null");
        if (depth == 0 && !(calendar instanceof HolidayCalendar) && RANDOM.nextInt(5) == 0) {
            base.setLength(0);
            calendar.setBaseCalendar(random(zone, base, number, depth + 1));
        }
        definition.append("{").append(rest).append(",\"tz\":\"").append(zone).append("\",\"description\":null,\"base\":").append(base).append("}");
        return calendar;
    }
}
