//! A strategy of one's own: each tick runs once in every zone, on the node there that runs the least.
//!
//! `cargo run --example strategy`

use carnelian::clock::{Clock, SystemClock};
use carnelian::placement::{EligibleNode, NodePart, StrategyError, Tick};
use carnelian::settings::Settings;
use carnelian::store::{JobStore, MemoryDatabase};
use carnelian::{JobContext, JobDetail, JobKey, JobPolicy, Result, Scheduler, Trigger, TriggerKey};
use crossbeam_channel::{Sender, unbounded};
use std::collections::BTreeMap;
use std::sync::Arc;

fn one_per_zone(_: &Tick<'_>, nodes: &[EligibleNode]) -> std::result::Result<Vec<NodePart>, StrategyError> {
    let mut zones: BTreeMap<&str, &EligibleNode> = BTreeMap::new();
    for node in nodes {
        let zone = node.info.labels.get("zone").ok_or_else(|| format!("{} has no zone", node.instance))?;
        let best = zones.entry(zone).or_insert(node);
        if node.info.running < best.info.running {
            *best = node;
        }
    }
    Ok(zones.into_iter().map(|(zone, node)| NodePart::of(node).with(zone)).collect())
}

fn node(
    name: &str,
    zone: &str,
    database: &Arc<MemoryDatabase>,
    clock: &Arc<dyn Clock>,
    done: Sender<String>,
) -> std::result::Result<Scheduler, Box<dyn std::error::Error>> {
    let work = move |ctx: &mut JobContext| {
        let shard = ctx.shard();
        let zone = ctx.part_parameter().unwrap_or("?");
        let line = format!("{} does part {} of {}: zone {zone}", ctx.instance_id(), shard.index + 1, shard.count);
        done.send(line).map_err(Into::into)
    };
    let settings = Settings::from_text("node", &format!("carnelian.node.labels = zone={zone}"), |_| None)?;
    let database = Arc::clone(database);
    let store = JobStore::new(database, Arc::clone(clock), settings);
    let node = Scheduler::builder()
        .store(store)
        .clock(Arc::clone(clock))
        .instance_id(name)
        .job_fn("refresh", work)
        .execution_strategy("one-per-zone", one_per_zone)
        .build()?;
    node.start()?;
    Ok(node)
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
    let database = Arc::new(MemoryDatabase::new(Arc::clone(&clock)));
    let (done, lines) = unbounded();
    let mut nodes = Vec::new();
    for (name, zone) in [("n1", "eu"), ("n2", "eu"), ("n3", "us")] {
        nodes.push(node(name, zone, &database, &clock, done.clone())?);
    }
    let Some(first) = nodes.first() else { return Ok(()) };
    while first.instances()?.len() < nodes.len() {
        std::thread::yield_now();
    }
    schedule(first)?;
    for _ in ["eu", "us"] {
        println!("{}", lines.recv()?);
    }
    for node in nodes {
        node.shutdown_and_wait();
    }
    Ok(())
}

fn schedule(node: &Scheduler) -> Result<()> {
    let policy = JobPolicy::new().strategy("one-per-zone");
    let job = JobDetail::builder(JobKey::named("caches"), "refresh").policy(policy).requests_recovery(true).build()?;
    let now = Trigger::builder(TriggerKey::named("now"), job.key().clone()).build()?;
    node.schedule_job(job, now).map(drop)
}
