//! The smallest scheduler: one job, in memory, three times.

use carnelian::{JobContext, JobDetail, JobError, JobKey, Scheduler, SimpleSchedule, Trigger, TriggerKey};
use std::error::Error;
use std::time::Duration;

fn greet(ctx: &mut JobContext) -> Result<(), JobError> {
    let name = ctx.data().text("name").unwrap_or("nobody");
    println!("hello, {name}! it is {}", ctx.scheduled_fire_time().format("%H:%M:%S%.3f"));
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let scheduler = Scheduler::builder().job_fn("hello.greet", greet).build()?;
    let job = JobDetail::builder(JobKey::named("hello"), "hello.greet").data("name", "world").build()?;
    let trigger = Trigger::builder(TriggerKey::named("thrice"), job.key().clone())
        .schedule(SimpleSchedule::every(Duration::from_millis(500)).repeat(2))
        .build()?;
    scheduler.schedule_job(job, trigger)?;
    scheduler.start()?;
    std::thread::sleep(Duration::from_secs(2));
    scheduler.shutdown_and_wait();
    Ok(())
}
