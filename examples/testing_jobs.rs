//! Testing one's own jobs: a clock that is moved by hand, no database, no waiting for the morning,
//! and a node that dies at the worst moment.
//!
//! `cargo run --example testing_jobs --features test-util`; in a program this is a `#[test]`.

use carnelian::clock::{Clock, ManualClock};
use carnelian::settings::Settings;
use carnelian::testing::SimulatedCluster;
use carnelian::{CronSchedule, JobContext, JobDetail, JobError, JobKey, Scheduler, Trigger, TriggerKey};
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

/// The job under test: it says which customers get a mail, and what for.
fn remind(ctx: &mut JobContext, mails: &Sender<String>) -> Result<(), JobError> {
    let customer = ctx.data().text("customer").ok_or_else(|| JobError::new("no `customer` in the data").permanent())?;
    mails.send(format!("{customer}: {}", ctx.scheduled_fire_time().format("%a %R")))?;
    Ok(())
}

/// A scheduler in memory that goes by the clock, with the job and what it has sent.
fn under_test(clock: &Arc<ManualClock>) -> carnelian::Result<(Scheduler, Receiver<String>)> {
    let (send, mails) = channel();
    let scheduler = Scheduler::builder()
        .clock(clock.clone())
        .job_fn("remind", move |ctx: &mut JobContext| remind(ctx, &send))
        .build()?;
    scheduler.start()?;
    Ok((scheduler, mails))
}

/// Two nodes in this thread: one sends the mail and dies before anybody knows, the other sends it
/// again. The job must be safe to repeat, or must not ask for recovery.
fn dies_after_the_mail() -> Result<(), Box<dyn Error>> {
    let (send, mails) = channel();
    let mut cluster = SimulatedCluster::new("2027-01-15T08:00:00Z".parse()?, Settings::default(), move |node| {
        let send = send.clone();
        node.job_fn("remind", move |ctx: &mut JobContext| remind(ctx, &send))
    })?;
    cluster.start_node()?;
    cluster.start_node()?;
    let job =
        JobDetail::builder(JobKey::named("ada"), "remind").data("customer", "ada").requests_recovery(true).build()?;
    let trigger = Trigger::builder(TriggerKey::named("ada"), job.key().clone()).build()?;
    cluster.scheduler().schedule_job(job, trigger)?;
    cluster.kill_at_next_end();
    cluster.advance(Duration::from_secs(60));
    assert_eq!(mails.try_iter().collect::<Vec<_>>(), ["ada: Fri 08:00", "ada: Fri 08:00"]);
    println!("a minute of a cluster: the mail went out twice, as a node died in between");
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    dies_after_the_mail()?;
    let clock = Arc::new(ManualClock::at("2027-01-15T08:00:00Z".parse()?)); // a Friday
    let (scheduler, mails) = under_test(&clock)?;
    let job = JobDetail::builder(JobKey::named("ada"), "remind").data("customer", "ada").build()?;
    let weekdays = CronSchedule::new("0 0 9 ? * MON-FRI")?.in_zone(chrono_tz::UTC);
    let trigger = Trigger::builder(TriggerKey::named("ada"), job.key().clone()).schedule(weekdays).build()?;
    scheduler.schedule_job(job, trigger)?;

    for expected in ["ada: Fri 09:00", "ada: Mon 09:00"] {
        let next = scheduler.trigger(&TriggerKey::named("ada"))?.and_then(|trigger| trigger.next_fire_time());
        println!("the clock goes on to {next:?}");
        clock.advance((next.ok_or("no next time")? - clock.wall_time()).to_std()?);
        assert_eq!(mails.recv_timeout(Duration::from_secs(10))?, expected);
    }
    scheduler.shutdown_and_wait();
    Ok(())
}
