package demo;

import org.quartz.DisallowConcurrentExecution;
import org.quartz.JobExecutionContext;

/** demo.stubborn: sleeps ms; one at a time, by the annotation that Quartz goes by. */
@DisallowConcurrentExecution
public class stubborn extends Demo {
    @Override
    String run(JobExecutionContext context, Runnable tick) throws Exception {
        return doze(context, tick);
    }
}
