package golden.jobs;

import org.quartz.PersistJobDataAfterExecution;
import org.quartz.Job;
import org.quartz.JobExecutionContext;

@PersistJobDataAfterExecution
public class PersistJob implements Job {
    @Override
    public void execute(JobExecutionContext context) {}
}
