//! A cron trigger in a time zone: every second second, and what a year of another expression looks like.
#![allow(clippy::disallowed_methods, reason = "an example is an application: it may read clocks and sleep")]

use carnelian::{
    CronExpression, CronSchedule, JobContext, JobDetail, JobError, JobKey, MisfireInstruction, Scheduler, Trigger,
    TriggerKey,
};
use chrono::Datelike;
use chrono_tz::Europe::Paris;
use std::error::Error;
use std::time::Duration;

fn tick(ctx: &mut JobContext) -> Result<(), JobError> {
    let next = ctx.next_fire_time().map(|time| time.with_timezone(&Paris).to_string());
    println!("fired at {}, next {}", ctx.scheduled_fire_time().with_timezone(&Paris), next.unwrap_or_default());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let pay_day = CronExpression::parse("0 0 9 LW * ?")?;
    println!("pay day: {}", pay_day.explain());
    let mut time = chrono::Utc::now();
    for _ in 0..3 {
        time = pay_day.next_after(time, Paris, time.year()).ok_or("no next time")?;
        println!("  {}", time.with_timezone(&Paris));
    }

    let scheduler = Scheduler::builder().job_fn("cron.tick", tick).build()?;
    let job = JobDetail::builder(JobKey::new("clock", "tick"), "cron.tick").build()?;
    let trigger = Trigger::builder(TriggerKey::new("clock", "even"), job.key().clone())
        .schedule(CronSchedule::new("0/2 * * * * ?")?.in_zone(Paris))
        .misfire(MisfireInstruction::DoNothing)
        .build()?;
    scheduler.schedule_job(job, trigger)?;
    scheduler.start()?;
    std::thread::sleep(Duration::from_secs(5));
    scheduler.shutdown_and_wait();
    Ok(())
}
