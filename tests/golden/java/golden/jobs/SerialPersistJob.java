package golden.jobs;

import org.quartz.DisallowConcurrentExecution;
import org.quartz.PersistJobDataAfterExecution;
import org.quartz.Job;
import org.quartz.JobExecutionContext;

@DisallowConcurrentExecution
@PersistJobDataAfterExecution
public class SerialPersistJob implements Job {
    @Override
    public void execute(JobExecutionContext context) {}
}
