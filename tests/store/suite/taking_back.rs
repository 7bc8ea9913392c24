//! Prefetching: more fires than free workers are taken, and those that have not begun are given
//! back.

use super::*;
use carnelian::history::HistoryQuery;
use carnelian::store::{FireBundle, PrefetchRequest, Unfired};
use carnelian::{JobDetailBuilder, Overlap, TriggerBuilder};
use std::collections::BTreeSet;
use std::sync::LazyLock;

static WORK: LazyLock<BTreeSet<String>> = LazyLock::new(|| BTreeSet::from(["work".to_owned()]));
static NOTHING: BTreeSet<String> = BTreeSet::new();

/// The number of triggers, of ten, that a node takes with two free workers and room for three more.
fn taken(cluster: &Cluster, node: &Node, short: &'static BTreeSet<String>) -> (usize, bool) {
    let ahead = Some(PrefetchRequest { free: 2, quick: 2, short });
    let brought = node.acquire_with(5, |request| request.prefetch = ahead).unwrap();
    cluster.check();
    (brought.fired.len() + brought.reserved.len(), brought.withheld > 0)
}

fn ten(cluster: &Cluster, job: JobDetailBuilder, at_ms: i64) {
    let names: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
    let triggers: [TriggerBuilder; 10] = std::array::from_fn(|n| once(&names[n], "a", at_ms));
    cluster.schedule(job, triggers);
}

on_each_strategy!(jobs_that_may_be_long_are_taken_for_free_workers_only);
fn jobs_that_may_be_long_are_taken_for_free_workers_only() {
    for at_ms in [NOW, NOW + SECOND] {
        let cluster = Cluster::new(open());
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        ten(&cluster, job("a"), at_ms);
        assert_eq!(taken(&cluster, &a, &NOTHING), (2, true), "nothing is known of them, due at {at_ms}");
        assert_eq!(taken(&cluster, &b, &WORK), (5, false), "they were short on this node");
    }
}

on_each_strategy!(runs_that_others_wait_for_never_wait_themselves);
fn runs_that_others_wait_for_never_wait_themselves() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let overlap = |name| once(name, "a", NOW).overlap(Overlap::Skip);
    cluster.schedule(job("a"), [overlap("t"), overlap("u"), overlap("v")]);
    assert_eq!(taken(&cluster, &a, &WORK), (2, true));
}

on_each_strategy!(a_fire_that_is_taken_back_was_never_taken);
fn a_fire_that_is_taken_back_was_never_taken() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    let (first, second) = (once("gone", "a", NOW), once("kept", "r", NOW - SECOND));
    cluster.schedule(job("a"), [first.data("x", "1").priority(7), minutely("m", "a", NOW - 2 * SECOND)]);
    cluster.schedule(job("r").requests_recovery(true), [second]);
    let before = cluster.snapshot();
    let fired = a.acquire().fired;
    assert_eq!(fired.len(), 3);
    let all: Vec<&FireBundle> = fired.iter().collect();
    assert_eq!(cluster.store.firing().unfire(&a.owner(), &all).unwrap(), [Unfired::Done; 3]);
    cluster.check();
    let after = cluster.snapshot();
    assert_eq!((after.fired.len(), after.jobs.len()), (0, 2));
    assert_eq!(format!("{:?}", after.triggers), format!("{:?}", before.triggers), "as before, to the last column");
    assert!(cluster.store.history().find(&HistoryQuery::new()).unwrap().is_empty());
    let again = b.acquire().fired;
    let shown = |fire: &FireBundle| {
        let data = fire.trigger.data().text("x").map(str::to_owned);
        (fire.trigger.key().clone(), fire.scheduled_ms, fire.previous_ms, fire.rerun.clone(), data)
    };
    assert_eq!(again.iter().map(shown).collect::<Vec<_>>(), fired.iter().map(shown).collect::<Vec<_>>());
    // A fire that is taken from its node is nobody's to give back; neither is a trigger that was
    // given back and fired.
    assert_eq!(cluster.store.firing().unfire(&a.owner(), &all).unwrap(), [Unfired::Gone; 3]);
}

on_each_strategy!(a_fire_of_a_trigger_that_went_on_stands);
fn a_fire_of_a_trigger_that_went_on_stands() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    let first = a.fire_one();
    cluster.advance(MINUTE);
    let second = a.fire_one();
    assert_eq!(cluster.store.firing().unfire(&a.owner(), &[&first]).unwrap(), [Unfired::Stands]);
    assert_eq!(cluster.fires().len(), 2);
    assert_eq!(cluster.store.firing().unfire(&a.owner(), &[&second]).unwrap(), [Unfired::Done]);
    assert_eq!(cluster.next("t"), Some(NOW + MINUTE));
    a.complete(&first);
    cluster.check();
}

on_each_strategy!(what_was_paused_or_deleted_meanwhile_stays_so);
fn what_was_paused_or_deleted_meanwhile_stays_so() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("paused", "a", NOW), once("spent", "a", NOW)]);
    cluster.schedule(job("d"), [minutely("deleted", "d", NOW)]);
    let fired = a.acquire().fired;
    cluster.store.catalogue().pause_all().unwrap();
    cluster.store.catalogue().unschedule(&[trigger_key("deleted")]).unwrap();
    let all: Vec<&FireBundle> = fired.iter().collect();
    assert_eq!(cluster.store.firing().unfire(&a.owner(), &all).unwrap(), [Unfired::Done; 3]);
    cluster.check();
    assert_eq!(["paused", "spent"].map(|name| cluster.state(name)), ["PAUSED", "PAUSED"]);
    assert!(!cluster.has_job("d"), "the fire was all that kept it");
    assert!(a.acquire().fired.is_empty());
    cluster.store.catalogue().resume_all(true).unwrap();
    assert_eq!(a.acquire().fired.len(), 2);
}
