package demo;

import org.quartz.JobExecutionContext;

/** demo.append: only logs. */
public class append extends Demo {
    @Override
    String run(JobExecutionContext context, Runnable tick) throws Exception {
        return "succeeded";
    }
}
