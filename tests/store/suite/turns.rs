//! Turns: one transaction that records ended fires and takes due triggers.

use super::*;
use carnelian::store::CompletionInstruction::NoInstruction;
use carnelian::store::CompletionOutcome::{Fenced, Recorded};
use carnelian::store::{AcquireRequest, Acquisition, Completion, CompletionOutcome};
use std::collections::BTreeSet;

fn turn(node: &Node, ended: &[Completion], max: usize) -> carnelian::Result<(Vec<CompletionOutcome>, Acquisition)> {
    let (types, none) = (vec!["work".to_owned()], BTreeSet::new());
    let request = AcquireRequest {
        max,
        prefetch: None,
        look_ahead_ms: 30 * SECOND,
        fire_ahead_ms: 0,
        job_types: &types,
        quarantined: &none,
    };
    node.store
        .firing()
        .complete_and_acquire(&node.owner(), ended, &request)
        .map(|(recorded, taken)| (recorded.outcomes, taken))
}

on_each_database!(what_has_ended_is_recorded_and_the_next_begin);
fn what_has_ended_is_recorded_and_the_next_begin() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster
        .schedule(job("a").durable(true), [once("t", "a", NOW), once("u", "a", NOW + 1), once("v", "a", NOW + MINUTE)]);
    cluster.advance(1);
    let first = a.try_acquire(1).unwrap().fired;
    assert_eq!(names(&first), ["t"]);
    let (outcomes, taken) = turn(&a, &[first[0].completion(NoInstruction, None)], 1).unwrap();
    assert_eq!((outcomes, names(&taken.fired)), (vec![Recorded], vec!["u"]));
    let ids: Vec<String> =
        cluster.store.upkeep().fired_triggers().unwrap().into_iter().map(|fire| fire.fire_id).collect();
    assert_eq!(ids, [taken.fired[0].fire_id.clone()], "the one that ended is gone, the one that began is there");
    a.complete(&taken.fired[0]);
}

on_each_database!(a_fire_that_waited_for_the_one_that_has_ended_begins_in_the_same_turn);
/// The end of a run lets its sibling go, and the same transaction takes it.
fn a_fire_that_waited_for_the_one_that_has_ended_begins_in_the_same_turn() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a").durable(true), [once("t", "a", NOW), once("u", "a", NOW)]);
    let first = a.fire_one();
    let (outcomes, taken) = turn(&a, &[first.completion(NoInstruction, None)], 10).unwrap();
    assert_eq!((outcomes, taken.fired.len()), (vec![Recorded], 1));
    a.complete(&taken.fired[0]);
}

on_each_database!(a_fire_that_is_no_longer_ours_is_fenced_and_the_next_begin);
/// H3: a fire that belongs to another node by now is not recorded, and keeps the node from nothing
/// else.
fn a_fire_that_is_no_longer_ours_is_fenced_and_the_next_begin() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW), once("u", "a", NOW + MINUTE)]);
    let first = a.fire_one();
    assert_eq!(a.complete(&first), Recorded);
    cluster.advance(MINUTE);
    let (outcomes, taken) = turn(&a, &[first.completion(NoInstruction, None)], 1).unwrap();
    assert_eq!((outcomes, names(&taken.fired)), (vec![Fenced], vec!["u"]));
    a.complete(&taken.fired[0]);
}

on_each_database!(a_node_that_was_declared_dead_has_no_turn);
/// Law 3: a node that was declared dead takes nothing; and what it would record goes with that.
fn a_node_that_was_declared_dead_has_no_turn() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a").requests_recovery(true).durable(true), [once("t", "a", NOW), once("u", "a", NOW + 1)]);
    let first = a.fire_one();
    cluster.advance(WINDOW / 2);
    b.check_in();
    cluster.advance(WINDOW / 2 + 1);
    assert_eq!(b.recovers().len(), 1);
    let refused = turn(&a, &[first.completion(NoInstruction, None)], 10).unwrap_err();
    assert!(refused.is_fenced(), "{refused}");
    assert_eq!(cluster.state("u"), "WAITING");
    for bundle in b.acquire().fired {
        assert_eq!(b.complete(&bundle), Recorded);
    }
}

#[cfg(feature = "test-util")]
on_each_database!(what_another_node_passes_over_tells_of_no_ends);
/// The commit is lost with the ends in it. Before the node asks, another one passes over the same
/// time of the same trigger.
#[cfg(feature = "test-util")]
fn what_another_node_passes_over_tells_of_no_ends() {
    use carnelian::Overlap;
    use carnelian::store::faults::Fault;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    let cluster = Cluster::new(open());
    let (mut a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a").durable(true), [minutely("s", "a", NOW).overlap(Overlap::Skip), once("u", "a", NOW)]);
    let fired = a.acquire().fired;
    let ends = fired.iter().find(|fire| fire.trigger.key() == &trigger_key("u")).unwrap();
    let ends = [ends.completion(NoInstruction, None)];
    cluster.advance(MINUTE);
    let (tries, passed) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    let by_b = Arc::clone(&passed);
    cluster.before_each(&mut a, move |purpose| {
        if purpose == "record and acquire" && tries.fetch_add(1, Ordering::Relaxed) == 1 {
            by_b.store(b.acquire().skipped.len(), Ordering::Relaxed);
        }
    });
    cluster.opened.database.plan().plan(1, Fault::CommitLostNotApplied);
    let (outcomes, _) = turn(&a, &ends, 10).unwrap();
    assert!(!cluster.opened.database.plan().cancel(), "the commit was lost");
    assert_eq!((passed.load(Ordering::Relaxed), outcomes), (1, vec![Recorded]));
    assert_eq!(cluster.fires(), ["s/EXECUTING@A"]);
}
