package golden.jobs;

import org.quartz.Job;
import org.quartz.JobExecutionContext;

public class PlainJob implements Job {
    @Override
    public void execute(JobExecutionContext context) {}
}
