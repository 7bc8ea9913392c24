//! Jobs that follow the runs of another: a report after each load that succeeded, an alarm after
//! one that failed.

use carnelian::{Continuation, IfExists, JobContext, JobDataMap, JobDetail, JobError, JobKey, On, Scheduler};
use std::sync::mpsc::channel;
use std::time::Duration;

fn load(ctx: &mut JobContext) -> Result<(), JobError> {
    match ctx.data().text("file") {
        Some(file) => {
            ctx.set_result(format!("all rows of {file}"));
            Ok(())
        }
        None => Err(JobError::new("no file")),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let (said, says) = channel();
    let follower = move |ctx: &mut JobContext| -> Result<(), JobError> {
        let parent = ctx.parent().ok_or_else(|| JobError::new("it runs after another only"))?;
        let what = parent.result.unwrap_or_else(|| "nothing".to_owned());
        let line = format!("{} after {} that {}: {what}", ctx.job().key(), parent.job, parent.outcome);
        Ok(said.send(line)?)
    };
    let scheduler = Scheduler::builder().job_fn("load", load).job_fn("follower", follower).build()?;
    let [load, report, alarm] = ["load", "report", "alarm"].map(JobKey::named);
    scheduler.add_job(&JobDetail::builder(load.clone(), "load").durable(true).build()?, IfExists::Replace)?;
    for child in [&report, &alarm] {
        scheduler.add_job(&JobDetail::builder(child.clone(), "follower").durable(true).build()?, IfExists::Replace)?;
    }
    scheduler.follow(&Continuation::new(load.clone(), report))?;
    scheduler.follow(&Continuation::new(load.clone(), alarm).on(On::Failure))?;
    scheduler.start()?;

    let with_file: JobDataMap = [("file", "orders.csv")].into_iter().collect();
    for data in [with_file, JobDataMap::new()] {
        scheduler.trigger_job(&load, data)?;
        println!("{}", says.recv_timeout(Duration::from_secs(30))?);
    }
    scheduler.shutdown_and_wait();
    Ok(())
}
