//! Overlap: a run takes longer than the time to the next; the overlap policies side by side, a
//! failed run that pauses its trigger, and a backfill of hours that have passed.

use carnelian::backfill::Backfill;
use carnelian::listener::{SkippedFires, TriggerListener};
use carnelian::{
    CronSchedule, IfExists, JobContext, JobDetail, JobError, JobKey, Overlap, Scheduler, SimpleSchedule, Trigger,
    TriggerKey,
};
use chrono::{TimeDelta, Utc};
use std::error::Error;
use std::time::Duration;

/// Takes a second, unless it is asked to stop.
fn work(ctx: &mut JobContext) -> Result<(), JobError> {
    let (name, due) = (ctx.trigger().key().name().to_owned(), ctx.scheduled_fire_time().format("%H:%M:%S%.3f"));
    println!("{name}: runs for {due}");
    match ctx.wait(Duration::from_secs(1)) {
        true => Ok(()),
        false => Err(JobError::new("asked to stop")),
    }
}

fn fail(_: &mut JobContext) -> Result<(), JobError> {
    Err(JobError::new("the file is not there"))
}

/// Says what was left out.
struct LeftOut;

impl TriggerListener for LeftOut {
    fn name(&self) -> &str {
        "left out"
    }

    fn fires_skipped(&self, skipped: &SkippedFires) {
        println!("{}: left out {} ({})", skipped.trigger.name(), skipped.times, skipped.reason.name());
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let scheduler = Scheduler::builder().job_fn("work", work).job_fn("fail", fail).trigger_listener(LeftOut).build()?;
    let often = || SimpleSchedule::every(Duration::from_millis(400)).repeat(5);

    let job = JobDetail::builder(JobKey::named("work"), "work").build()?;
    let trigger = |overlap: Overlap| {
        Trigger::builder(TriggerKey::named(overlap.name()), job.key().clone())
            .schedule(often())
            .overlap(overlap)
            .build()
    };
    let triggers = Overlap::ALL.into_iter().map(trigger).collect::<carnelian::Result<Vec<_>>>()?;

    let failing = JobDetail::builder(JobKey::named("fail"), "fail").build()?;
    let fragile = Trigger::builder(TriggerKey::named("fragile"), failing.key().clone()).schedule(often());
    let fragile = fragile.pause_on_failure(true).build()?;

    let hourly = JobDetail::builder(JobKey::named("hourly"), "work").build()?;
    let on_the_hour = Trigger::builder(TriggerKey::named("hourly"), hourly.key().clone());
    let on_the_hour = on_the_hour.schedule(CronSchedule::new("0 0 * * * ?")?).build()?;

    scheduler.schedule_jobs(
        vec![(job, triggers), (failing, vec![fragile]), (hourly, vec![on_the_hour])],
        IfExists::Refuse,
    )?;
    scheduler.start()?;
    std::thread::sleep(Duration::from_secs(5));
    println!("fragile is {:?}", scheduler.trigger_state(&TriggerKey::named("fragile"))?);

    let range = Backfill::new(TriggerKey::named("hourly"), Utc::now() - TimeDelta::hours(3), Utc::now());
    println!("backfill of {} hours", scheduler.backfill(&range)?.stored.len());
    println!("and again: {}", scheduler.backfill(&range)?.stored.len());
    std::thread::sleep(Duration::from_secs(2));
    scheduler.shutdown_and_wait();
    Ok(())
}
