package demo;

import org.quartz.JobExecutionContext;

/** demo.panic: throws what is no JobExecutionException. */
public class panic extends Demo {
    @Override
    String run(JobExecutionContext context, Runnable tick) throws Exception {
        throw new IllegalStateException("demo.panic panics, as it should");
    }
}
