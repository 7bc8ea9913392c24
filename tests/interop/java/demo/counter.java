package demo;

import org.quartz.DisallowConcurrentExecution;
import org.quartz.JobDataMap;
import org.quartz.JobExecutionContext;
import org.quartz.PersistJobDataAfterExecution;

/** demo.counter: adds 1 to n of its job data, in the form it has. */
@DisallowConcurrentExecution
@PersistJobDataAfterExecution
public class counter extends Demo {
    @Override
    String run(JobExecutionContext context, Runnable tick) throws Exception {
        JobDataMap data = context.getJobDetail().getJobDataMap();
        Object n = data.get("n");
        if (n instanceof Integer) {
            data.put("n", (Integer) n + 1);
        } else if (n instanceof Long) {
            data.put("n", (Long) n + 1);
        } else {
            data.put("n", String.valueOf(n == null ? 1 : Long.parseLong(n.toString()) + 1));
        }
        return "succeeded";
    }
}
