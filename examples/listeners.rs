//! Listeners: one that reports what ran, one that says no to every second fire.

use carnelian::listener::{FireEnd, FireEvent, JobListener, TriggerListener};
use carnelian::{JobContext, JobDetail, JobError, JobKey, Scheduler, SimpleSchedule, Trigger, TriggerKey};
use std::error::Error;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Prints what becomes of each fire.
struct Reporter;

impl JobListener for Reporter {
    fn name(&self) -> &str {
        "reporter"
    }

    fn job_was_executed(&self, fire: &FireEvent<'_>, end: &FireEnd) {
        println!("{} ran for {:?}", fire.job().key(), end.run_time);
    }

    fn job_execution_vetoed(&self, fire: &FireEvent<'_>) {
        println!("{} was vetoed", fire.job().key());
    }
}

/// Says no to every second fire.
#[derive(Default)]
struct EverySecond {
    fires: AtomicUsize,
}

impl TriggerListener for EverySecond {
    fn name(&self) -> &str {
        "every second"
    }

    fn veto_job_execution(&self, _: &FireEvent<'_>) -> bool {
        self.fires.fetch_add(1, Ordering::Relaxed) % 2 == 1
    }
}

fn work(ctx: &mut JobContext) -> Result<(), JobError> {
    // Sleeps, but wakes early when the scheduler wants to end.
    if ctx.wait(Duration::from_millis(20)) { Ok(()) } else { Err(JobError::new("told to stop")) }
}

fn main() -> Result<(), Box<dyn Error>> {
    let scheduler = Scheduler::builder()
        .job_fn("listeners.work", work)
        .job_listener(Reporter)
        .trigger_listener(EverySecond::default())
        .build()?;
    let job = JobDetail::builder(JobKey::named("work"), "listeners.work").build()?;
    let trigger = Trigger::builder(TriggerKey::named("four-times"), job.key().clone())
        .schedule(SimpleSchedule::every(Duration::from_millis(250)).repeat(3))
        .build()?;
    scheduler.schedule_job(job, trigger)?;
    scheduler.start()?;
    std::thread::sleep(Duration::from_millis(1500));
    scheduler.shutdown_and_wait();
    Ok(())
}
