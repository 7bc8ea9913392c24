//! A job that fails, and is tried again by its policy; what became of it is in the history.
#![allow(clippy::disallowed_methods, reason = "an example is an application: it may read clocks and sleep")]

use carnelian::history::HistoryQuery;
use carnelian::{
    IfExists, JobContext, JobDetail, JobError, JobKey, JobPolicy, RetryPolicy, Scheduler, Trigger, TriggerKey,
};
use std::time::{Duration, Instant};

/// The first two times the server is busy.
fn deliver(ctx: &mut JobContext) -> Result<(), JobError> {
    match ctx.attempt() {
        0 | 1 => Err(JobError::new("the server is busy").class("busy")),
        _ => Ok(()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheduler = Scheduler::builder().job_fn("deliver", deliver).build()?;
    // A tenth of a second, then a fifth, then two fifths …; a wrong address is not tried again.
    let retry =
        RetryPolicy::exponential(Duration::from_millis(100), 2.0).jitter(0.2).max_attempts(5).never_on("wrong-address");
    let key = JobKey::named("letter");
    let job = JobDetail::builder(key.clone(), "deliver").policy(JobPolicy::new().retry(retry)).build()?;
    let trigger = Trigger::builder(TriggerKey::named("letter"), key.clone()).build()?;
    scheduler.schedule_jobs(vec![(job, vec![trigger])], IfExists::Refuse)?;
    scheduler.start()?;

    let query = HistoryQuery::new().job(key);
    let begun = Instant::now();
    let mut fires = scheduler.history(&query)?;
    while fires.len() < 3 && begun.elapsed() < Duration::from_secs(30) {
        std::thread::sleep(Duration::from_millis(20));
        fires = scheduler.history(&query)?;
    }
    for fire in fires.iter().rev() {
        println!("attempt {}: {} {}", fire.attempt, fire.outcome, fire.error.as_deref().unwrap_or_default());
    }
    scheduler.shutdown_and_wait();
    Ok(())
}
