//! A job that fails half-way: its policy has it tried again, and the next attempt goes on where the
//! last one was, on whichever node. The history says what became of the work.

use carnelian::history::HistoryQuery;
use carnelian::{JobContext, JobError, RetryPolicy, Scheduler, Submission};
use std::time::Duration;

/// Copies ten pages, and loses its connection after the sixth.
fn copy(ctx: &mut JobContext) -> Result<(), JobError> {
    let begin = ctx.resume::<u32>()?.unwrap_or(0);
    println!("attempt {} begins with page {begin}", ctx.attempt());
    for page in begin..10 {
        if page == 6 && ctx.attempt() == 0 {
            return Err(JobError::new("the connection was lost").class("network"));
        }
        println!("  page {page}");
        ctx.checkpoint(&(page + 1))?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let scheduler = Scheduler::builder().job_fn("copy", copy).build()?;
    scheduler.start()?;
    // A tenth of a second, then a fifth, then two fifths …; a wrong address is not tried again.
    let retry =
        RetryPolicy::exponential(Duration::from_millis(100), 2.0).jitter(0.2).max_attempts(5).never_on("wrong-address");
    let taken = scheduler.submit(Submission::new("copy").retry(retry))?;

    let query = HistoryQuery::new().job(taken.job);
    let mut fires = scheduler.history(&query)?;
    while fires.len() < 2 {
        std::thread::sleep(Duration::from_millis(20));
        fires = scheduler.history(&query)?;
    }
    for fire in fires.iter().rev() {
        println!("attempt {}: {} {}", fire.attempt, fire.outcome, fire.error.as_deref().unwrap_or_default());
    }
    scheduler.shutdown_and_wait();
    Ok(())
}
