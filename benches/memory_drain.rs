//! The speed of fires through a whole scheduler when no database is in the way. One-shots that are
//! due are stored in memory; the time runs from the start of the scheduler until the last end is
//! recorded.
//!
//! `cargo bench --no-default-features --bench memory_drain -- 200000 20` drains 200,000 one-shots
//! with 20 workers.

use carnelian::clock::Signal;
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::Settings;
use carnelian::store::{JobStore, MemoryDatabase};
use carnelian::{IfExists, JobContext, JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).filter(|text| !text.starts_with('-'));
    let fires: usize = arguments.next().map_or(Ok(200_000), |text| text.parse())?;
    let threads: u32 = arguments.next().map_or(Ok(20), |text| text.parse())?;

    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let database = Arc::new(MemoryDatabase::new(Arc::clone(&clock)));
    let mut settings = Settings::default();
    settings.thread_pool.thread_count = threads;
    settings.scheduler.batch_max_count = threads;
    let (ran, all_ran) = (AtomicUsize::new(0), Arc::new(Signal::default()));
    let signal = Arc::clone(&all_ran);
    let nothing = move |_: &mut JobContext| {
        if ran.fetch_add(1, Ordering::Relaxed) + 1 == fires {
            signal.raise();
        }
        Ok(())
    };
    let scheduler = Scheduler::builder()
        .store(JobStore::new(database, Arc::clone(&clock), settings))
        .clock(Arc::clone(&clock))
        .job_fn("nothing", nothing)
        .build()?;

    let job = JobDetail::builder(JobKey::named("nothing"), "nothing").durable(true).build()?;
    let one = |n: usize| Trigger::builder(TriggerKey::named(format!("one-shot-{n}")), job.key().clone()).build();
    let triggers = (0..fires).map(one).collect::<Result<Vec<_>, _>>()?;
    scheduler.schedule_jobs(vec![(job, triggers)], IfExists::Refuse)?;

    let begun = clock.ticks();
    scheduler.start()?;
    clock.wait(&all_ran, None);
    // Waits for the ends of all to be recorded.
    scheduler.shutdown_and_wait();
    let took = clock.ticks() - begun;
    println!("{fires} fires, {threads} threads: {:.0}/s", fires as f64 / took.as_secs_f64());
    Ok(())
}
