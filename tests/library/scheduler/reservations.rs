//! Reservations that outlive their node: peers fire the reserved triggers long before they declare
//! the node dead.

use crate::scheduler::fixture::{Cluster, LONG, job};
use crate::support::wait_until;
use carnelian::store::{AcquireRequest, Membership};
use carnelian::{JobContext, Trigger, TriggerKey};
use crossbeam_channel::unbounded;
use std::collections::BTreeSet;

/// A node that is dead reserves triggers as it did when it lived: nobody has it in memory. The
/// other one is full of what it has reserved itself, for later.
fn what_a_dead_node_had_reserved_fires_on_the_survivor(cluster: &Cluster) {
    let store = cluster.store();
    let mut dead = Membership::new("dead");
    store.upkeep().check_in(&mut dead).unwrap();
    let (ran, runs) = unbounded();
    let note = move |ctx: &mut JobContext| Ok(ran.send(ctx.trigger().key().name().to_owned())?);
    let node = cluster.node("n1", 1).job_fn("note", note).build().unwrap();
    let detail = job("j", "note");
    let start = |ms: i64| cluster.clock.wall_time() + chrono::TimeDelta::milliseconds(ms);
    let trigger = |name: &str, ms: i64| {
        Trigger::builder(TriggerKey::new("g", name), detail.key().clone()).start_at(start(ms)).build().unwrap()
    };
    node.schedule_job(detail.clone(), trigger("theirs", 600)).unwrap();
    let (types, nobody) = (["note".to_owned()], BTreeSet::new());
    let request = AcquireRequest {
        max: 1,
        look_ahead_ms: 1_000,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &nobody,
        prefetch: None,
    };
    assert_eq!(store.firing().acquire(&dead.owner().unwrap(), &request).unwrap().reserved.len(), 1);
    node.schedule_trigger(trigger("ours", 1_500)).unwrap();
    node.start().unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), "theirs");
    assert_eq!(runs.recv_timeout(LONG).unwrap(), "ours");
    let left = store.upkeep().instances().unwrap();
    assert!(left.iter().any(|one| one.instance == "dead"), "it is not declared dead: {left:?}");
    assert!(node.shutdown_and_wait().is_clean());
    wait_until("nothing is left", LONG, || store.upkeep().fired_triggers().is_ok_and(|fires| fires.is_empty()));
    cluster.assert_sound();
}

#[test]
fn what_a_dead_node_had_reserved_fires_on_the_survivor_in_memory() {
    what_a_dead_node_had_reserved_fires_on_the_survivor(&Cluster::new());
}

#[test]
#[cfg(feature = "sqlite")]
fn what_a_dead_node_had_reserved_fires_on_the_survivor_on_sqlite() {
    what_a_dead_node_had_reserved_fires_on_the_survivor(&Cluster::on_sqlite());
}
