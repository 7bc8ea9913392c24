package demo;

import org.quartz.JobExecutionContext;
import org.quartz.JobExecutionException;

/** demo.fail: fails the first attempts, as many as times says, and asks to be run again at once. */
public class fail extends Demo {
    @Override
    String run(JobExecutionContext context, Runnable tick) throws Exception {
        long times = millis(context.getMergedJobDataMap(), "times", 1);
        if (attempt(context) < times) {
            throw new JobExecutionException("attempt " + attempt(context) + " of " + times + " to fail", true);
        }
        return "succeeded";
    }
}
