//! Three nodes share the work of each tick. The nodes are in one process here, and meet in a file.
//!
//! `cargo run --example sharded`

use carnelian::placement::Strategy;
use carnelian::{JobContext, JobDetail, JobKey, JobPolicy, Scheduler, Trigger, TriggerKey};
use std::error::Error;
use std::sync::mpsc::{Sender, channel};

fn node(name: &str, url: &str, done: Sender<String>) -> carnelian::Result<Scheduler> {
    let work = move |ctx: &mut JobContext| {
        let shard = ctx.shard();
        let share = ctx.my_share(["ann", "bob", "cid", "dan", "eve", "fay", "gus"]);
        let share = share.join(", ");
        done.send(format!("{} does part {} of {}: {share}", ctx.instance_id(), shard.index + 1, shard.count))?;
        Ok(())
    };
    let node = Scheduler::builder().database(url).clustered().instance_id(name).job_fn("mail", work).build()?;
    node.migrate()?;
    node.start()?;
    Ok(node)
}

fn main() -> Result<(), Box<dyn Error>> {
    let folder = tempfile::tempdir()?;
    let url = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let (done, lines) = channel();
    let nodes = [node("n1", &url, done.clone())?, node("n2", &url, done.clone())?, node("n3", &url, done)?];

    let policy = JobPolicy::new().strategy(Strategy::Sharded);
    let job = JobDetail::builder(JobKey::named("newsletter"), "mail").policy(policy).requests_recovery(true).build()?;
    let now = Trigger::builder(TriggerKey::named("now"), job.key().clone()).build()?;
    let [first, ..] = &nodes;
    first.schedule_job(job, now)?;
    for _ in &nodes {
        println!("{}", lines.recv()?);
    }
    for node in nodes {
        node.shutdown_and_wait();
    }
    Ok(())
}
