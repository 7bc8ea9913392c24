package demo;

import org.quartz.JobExecutionContext;

/** demo.sleep: sleeps ms. Not annotated: Java nodes run it concurrently, whatever the job's row says. */
public class sleep extends Demo {
    @Override
    String run(JobExecutionContext context, Runnable tick) throws Exception {
        return doze(context, tick);
    }
}
