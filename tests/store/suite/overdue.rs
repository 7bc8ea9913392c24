//! Overdue reservations, whose owner has not fired them: other nodes take them, and exactly one
//! fires.

use super::beside_quartz::{JAVA, java_joins};
use super::*;
use carnelian::store::row::{FiredRow, FiredState, Selection};
use carnelian::{Error, TriggerState};
use std::collections::BTreeMap;
use std::time::Duration;

const GRACE: Duration = Duration::from_millis(200);

/// The triggers that a node takes back.
fn takes_back(node: &Node) -> Vec<String> {
    let overdue = node.store.firing().take_back_overdue(&node.owner(), GRACE).unwrap();
    overdue.iter().map(|row| format!("{}@{}", row.trigger.name(), row.instance)).collect()
}

/// The earliest reservation of others, as a node sees it when it looks.
fn sees(node: &Node) -> Option<i64> {
    let types = ["work".to_owned()];
    node.store.firing().poll(Some(Duration::from_secs(60)), &node.owner().instance, &types).unwrap().reserved_ms
}

on_each_strategy!(what_a_dead_node_had_reserved_fires_on_another_when_it_is_late);
/// A node that dies delays nobody but what it executes: what it had reserved fires elsewhere as
/// soon as it is late, and not when the node is declared dead.
fn what_a_dead_node_had_reserved_fires_on_another_when_it_is_late() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("run").requests_recovery(true).durable(true), [once("running", "run", NOW)]);
    let running = a.fire_one();
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    cluster.schedule(job("b"), [minutely("u", "b", NOW + 2 * SECOND)]);
    let reserved = a.acquire().reserved;
    assert_eq!(reserved.len(), 2);
    assert_eq!((sees(&a), sees(&b)), (None, Some(NOW + SECOND)));
    // Until its time, and for a while after it, it is its owner's.
    for ms in [0, SECOND, 200] {
        cluster.advance(ms);
        assert!(takes_back(&b).is_empty(), "{ms}");
    }
    assert!(b.acquire().fired.is_empty());
    cluster.advance(1);
    assert!(takes_back(&a).is_empty(), "its own are not overdue for itself");
    assert_eq!(takes_back(&b), ["t@A"]);
    cluster.check();
    assert_eq!(sees(&b), Some(NOW + 2 * SECOND));
    let fired = b.fire_one();
    assert_eq!((fired.trigger.key().name(), fired.scheduled_ms), ("t", NOW + SECOND));
    assert!(fired.recovering.is_none() && fired.rerun.is_none(), "as if it had never been reserved");
    // The verdict over what executes is another matter, and the dead node stays a member until
    // then.
    assert_eq!(cluster.fires(), ["running/EXECUTING@A", "t/EXECUTING@B", "u/ACQUIRED@A"]);
    assert_eq!(cluster.store.upkeep().instances().unwrap().len(), 2);
    b.complete(&fired);
    a.complete(&running);
}

on_each_strategy!(of_a_slow_owner_and_another_exactly_one_fires);
/// The owner was slow and not dead: it finds its reservation gone, and what it holds beside it is
/// its own.
fn of_a_slow_owner_and_another_exactly_one_fires() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND)]);
    cluster.schedule(job("b"), [minutely("u", "b", NOW + 2 * SECOND)]);
    let reserved = a.acquire().reserved;
    cluster.advance(SECOND + 201);
    assert_eq!(takes_back(&b), ["t@A"]);
    // Before the other has taken it, and after.
    let late = a.store.firing().fire(&a.owner(), &reserved[..1]).unwrap();
    assert!(late.fired.is_empty() && late.misfired.is_empty() && late.skipped.is_empty());
    assert_eq!((late.overtaken, cluster.state("t").as_str()), (1, "WAITING"));
    let fired = b.fire_one();
    let late = a.store.firing().fire(&a.owner(), &reserved[..1]).unwrap();
    assert_eq!((late.fired.len(), late.overtaken), (0, 1));
    // To give back what is gone takes nothing from the other.
    a.store.firing().release(&reserved[..1]).unwrap();
    assert_eq!(cluster.fires(), ["t/EXECUTING@B", "u/ACQUIRED@A"]);
    cluster.advance(SECOND - 201);
    assert_eq!(names(&a.fire(&reserved[1..])), ["u"]);
    assert!(takes_back(&b).is_empty(), "what executes is nobody else's");
    b.complete(&fired);
}

on_each_strategy!(what_is_overdue_is_taken_back_once_and_only_by_a_member);
/// The node that comes first takes all that is overdue; the next one finds nothing.
fn what_is_overdue_is_taken_back_once_and_only_by_a_member() {
    let cluster = Cluster::new(open());
    let (a, b, gone) = (cluster.node("A"), cluster.node("B"), cluster.node("gone"));
    let triggers: Vec<_> = (0..5).map(|i| minutely(&format!("t{i}"), "a", NOW + SECOND)).collect();
    cluster.schedule(job("a"), <[_; 5]>::try_from(triggers).unwrap());
    assert_eq!(a.acquire().reserved.len(), 5);
    cluster.advance(SECOND + 201);
    gone.store.upkeep().leave(&gone.owner()).unwrap();
    let refused = gone.store.firing().take_back_overdue(&gone.owner(), GRACE);
    assert!(matches!(refused, Err(Error::Fenced { .. })), "{refused:?}");
    assert_eq!(takes_back(&b).len(), 5);
    let c = cluster.node("C");
    assert!(takes_back(&c).is_empty() && sees(&c).is_none());
    assert_eq!((c.try_acquire(3).unwrap().fired.len(), b.acquire().fired.len()), (3, 2));
}

on_each_strategy!(what_was_paused_or_deleted_meanwhile_stays_so);
/// A pause or a deletion takes the reservation back at once: there is nothing left to be overdue.
fn what_was_paused_or_deleted_meanwhile_stays_so() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("paused", "a", NOW + SECOND), minutely("deleted", "a", NOW + SECOND)]);
    assert_eq!(a.acquire().reserved.len(), 2);
    cluster.store.catalogue().pause_triggers(&[trigger_key("paused")]).unwrap();
    cluster.store.catalogue().unschedule(&[trigger_key("deleted")]).unwrap();
    cluster.advance(2 * SECOND);
    assert!(sees(&b).is_none() && takes_back(&b).is_empty() && b.acquire().fired.is_empty());
    assert_eq!((cluster.state("paused").as_str(), cluster.state("deleted").as_str()), ("PAUSED", "-"));
}

on_each_strategy!(what_a_node_of_quartz_has_reserved_is_never_taken_back);
/// A node of Quartz fires what it has reserved by the state of the trigger alone, whenever it gets
/// to it: that is never taken.
fn what_a_node_of_quartz_has_reserved_is_never_taken_back() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("t", "a", NOW + SECOND), minutely("u", "a", NOW + SECOND)]);
    java_joins(&cluster, &mut b);
    let row = FiredRow {
        fire_id: "java1".to_owned(),
        trigger: trigger_key("t"),
        instance: JAVA.to_owned(),
        fired_ms: NOW,
        scheduled_ms: NOW + SECOND,
        priority: 5,
        state: FiredState::Acquired,
        job: None,
        nonconcurrent: false,
        requests_recovery: false,
    };
    cluster.tamper(|s| {
        let moves = [(TriggerState::Waiting, TriggerState::Acquired)];
        s.change_states(Selection::Triggers(&[trigger_key("t")]), &moves, false)?;
        s.insert_fired(vec![row.clone()], &BTreeMap::new()).map(drop)
    });
    a.reserve_one();
    // A trigger that Quartz took after us: our row has lost it, and the trigger is acquired for
    // Quartz.
    cluster.tamper(|s| {
        let row = FiredRow { fire_id: "java2".to_owned(), trigger: trigger_key("u"), ..row.clone() };
        s.insert_fired(vec![row], &BTreeMap::new()).map(drop)
    });
    cluster.advance(10 * SECOND);
    assert_eq!(takes_back(&b), ["u@A"]);
    assert_eq!((cluster.state("t").as_str(), cluster.state("u").as_str()), ("ACQUIRED", "ACQUIRED"));
    assert_eq!(cluster.fires(), ["t/ACQUIRED@java", "u/ACQUIRED@java"]);
    assert!(sees(&b).is_none(), "no look is for what is Quartz's");
}
