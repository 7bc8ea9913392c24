//! The lines of the log about a lost heartbeat.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::{self, kept_log, wait_until};
use carnelian::JobContext;
use crossbeam_channel::{bounded, unbounded};

/// DS-12: beats that cannot be stored are warned of, and so is one that finds its fire gone.
#[test]
fn heartbeats_that_fail_are_warned_of() {
    if !support::is_alone(module_path!(), "heartbeats_that_fail_are_warned_of") {
        return;
    }
    kept_log::keep(log::LevelFilter::Warn);
    let cluster = Cluster::new();
    let ((told, runs), (go, gate)) = (unbounded(), bounded::<()>(0));
    let held = move |ctx: &mut JobContext| {
        told.send(ctx.fire_id().to_owned())?;
        Ok(gate.recv()?)
    };
    let properties = "threadPool.threadCount = 1\ncarnelian.scheduler.heartbeatInterval = 100ms\n\
        carnelian.scheduler.missedHeartbeatLimit = 1000000\ncarnelian.job.stopWait = 1h";
    let node = cluster.node_with("n1", properties).job_fn("held", held).build().unwrap();
    node.start().unwrap();
    let detail = job("held", "held");
    node.schedule_job(detail.clone(), now("held", &detail)).unwrap();
    let fire = runs.recv_timeout(LONG).unwrap();
    let warned = |words: &[&str]| !kept_log::lines_with(words).is_empty();
    cluster.database.refuse(Some("beat"));
    wait_until("failed beats are warned of", LONG, || warned(&["heartbeat", "switched off"]));
    cluster.database.refuse(None);
    wait_until("it beats", LONG, || {
        node.store().upkeep().fired_triggers().unwrap().iter().any(|fire| fire.heartbeat.is_some())
    });
    assert!(!warned(&["no longer this node's"]));
    cluster.convict("n1");
    wait_until("the lost fire is warned of", LONG, || warned(&["no longer this node's", &fire]));
    go.send(()).unwrap();
    node.shutdown_and_wait();
}
