//! Checkpoints: a long job that fails in the middle goes on where it was, and would on another node as well.
#![allow(clippy::disallowed_methods, reason = "an example is an application: it may read clocks and sleep")]

use carnelian::{JobContext, JobError, Scheduler, Submission};
use std::error::Error;
use std::time::Duration;

/// Copies ten pages, and loses its connection after the sixth.
fn copy(ctx: &mut JobContext) -> Result<(), JobError> {
    let begin = ctx.resume::<u32>()?.unwrap_or(0);
    println!("run {} begins with page {begin}", ctx.refire_count() + 1);
    for page in begin..10 {
        if page == 6 && ctx.refire_count() == 0 {
            return Err(JobError::new("the connection was lost").refire_immediately());
        }
        println!("  page {page}");
        ctx.checkpoint(&(page + 1))?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let scheduler = Scheduler::builder().job_fn("copy", copy).build()?;
    scheduler.start()?;
    scheduler.submit(Submission::new("copy"))?;
    while scheduler.health().counters.succeeded == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    scheduler.shutdown_and_wait();
    Ok(())
}
