//! Three nodes share the work of each tick.
//!
//! `cargo run --example sharded`

use carnelian::clock::{Clock, SystemClock};
use carnelian::placement::Strategy;
use carnelian::settings::Settings;
use carnelian::store::{JobStore, MemoryDatabase};
use carnelian::{JobContext, JobDetail, JobKey, JobPolicy, Result, Scheduler, Trigger, TriggerKey};
use crossbeam_channel::{Sender, unbounded};
use std::sync::Arc;

fn node(name: &str, database: &Arc<MemoryDatabase>, clock: &Arc<dyn Clock>, done: Sender<String>) -> Result<Scheduler> {
    let work = move |ctx: &mut JobContext| {
        let shard = ctx.shard();
        let share = ctx.my_share(["ann", "bob", "cid", "dan", "eve", "fay", "gus"]);
        let line =
            format!("{} does part {} of {}: {}", ctx.instance_id(), shard.index + 1, shard.count, share.join(", "));
        done.send(line).map_err(Into::into)
    };
    let database = Arc::clone(database);
    let store = JobStore::new(database, Arc::clone(clock), Settings::default());
    let node =
        Scheduler::builder().store(store).clock(Arc::clone(clock)).instance_id(name).job_fn("mail", work).build()?;
    node.start()?;
    Ok(node)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let database = Arc::new(MemoryDatabase::new(Arc::clone(&clock)));
    let (done, lines) = unbounded();
    let mut nodes = Vec::new();
    for name in ["n1", "n2", "n3"] {
        nodes.push(node(name, &database, &clock, done.clone())?);
    }
    let policy = JobPolicy::new().strategy(Strategy::Sharded);
    let job = JobDetail::builder(JobKey::named("newsletter"), "mail").policy(policy).requests_recovery(true).build()?;
    let now = Trigger::builder(TriggerKey::named("now"), job.key().clone()).build()?;
    let Some(first) = nodes.first() else { return Ok(()) };
    while first.instances()?.len() < nodes.len() {
        std::thread::yield_now();
    }
    first.schedule_job(job, now)?;
    for _ in &nodes {
        println!("{}", lines.recv()?);
    }
    for node in nodes {
        node.shutdown_and_wait();
    }
    Ok(())
}
