package demo;

import org.quartz.JobExecutionContext;
import java.util.concurrent.locks.LockSupport;

/** demo.silent: never looks, never ends. */
public class silent extends Demo {
    @Override
    String run(JobExecutionContext context, Runnable tick) throws Exception {
        while (true) {
            LockSupport.park();
        }
    }
}
