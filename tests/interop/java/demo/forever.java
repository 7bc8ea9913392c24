package demo;

import org.quartz.InterruptableJob;
import org.quartz.JobExecutionContext;

/** demo.forever: loops until it is told to stop. */
public class forever extends Demo implements InterruptableJob {
    private volatile boolean interrupted;

    @Override
    String run(JobExecutionContext context, Runnable tick) throws Exception {
        long step = Math.max(1, millis(context.getMergedJobDataMap(), "poll_ms", 50));
        while (!interrupted) {
            Thread.sleep(step);
            tick.run();
        }
        return "interrupted";
    }

    @Override
    public void interrupt() {
        interrupted = true;
    }
}
