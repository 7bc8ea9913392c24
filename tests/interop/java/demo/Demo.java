package demo;

import interop.EventLog;
import java.time.Duration;
import java.util.Map;
import org.quartz.Job;
import org.quartz.JobDataMap;
import org.quartz.JobExecutionContext;
import org.quartz.JobExecutionException;
import org.quartz.SchedulerException;

/**
 * A demo job: its START and END are logged, whatever it does. The subclasses bear the demo type names, since Quartz
 * loads the class that JOB_CLASS_NAME names; they do what the demo jobs of examples/demo/jobs.rs do.
 */
public abstract class Demo implements Job {
    /** Does what the type does; returns the outcome that END shows. */
    abstract String run(JobExecutionContext context, Runnable tick) throws Exception;

    @Override
    public final void execute(JobExecutionContext context) throws JobExecutionException {
        Map<String, Object> facts;
        try {
            facts = EventLog.facts(getClass().getName(), attempt(context), context);
        } catch (SchedulerException e) {
            throw new JobExecutionException(e);
        }
        EventLog.start(facts, context.getMergedJobDataMap());
        String outcome = "failed";
        try {
            outcome = run(context, () -> EventLog.write("TICK", facts, Map.of()));
        } catch (JobExecutionException | RuntimeException e) {
            throw e;
        } catch (Exception e) {
            throw new JobExecutionException(e);
        } finally {
            EventLog.write("END", facts, Map.of("outcome", outcome));
        }
    }

    /** How many runs there were before this one, interrupted or failed, as far as Quartz knows. */
    static long attempt(JobExecutionContext context) {
        return (context.isRecovering() ? 1 : 0) + context.getRefireCount();
    }

    /** Sleeps ms in steps of poll_ms. Quartz gives a job no way to ask whether it still holds its fire. */
    static String doze(JobExecutionContext context, Runnable tick) throws InterruptedException {
        JobDataMap data = context.getMergedJobDataMap();
        long end = System.nanoTime() + Duration.ofMillis(millis(data, "ms", 1000)).toNanos();
        long step = Math.max(1, millis(data, "poll_ms", 50));
        while (true) {
            long left = (end - System.nanoTime()) / 1_000_000;
            if (left <= 0) {
                return "succeeded";
            }
            Thread.sleep(Math.min(step, left));
            tick.run();
        }
    }

    static long millis(JobDataMap data, String key, long otherwise) {
        Object given = data.get(key);
        return given == null ? otherwise : Long.parseLong(given.toString());
    }
}
