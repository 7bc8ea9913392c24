//! Notifications: the transactions that tell other nodes of a change.

use super::*;
use carnelian::JobDataMap;
use carnelian::store::CompletionInstruction;

/// By how much the two counters move on.
fn moves(cluster: &Cluster, work: impl FnOnce()) -> (i64, i64) {
    let before = cluster.store.firing().poll(None, "", &[]).unwrap();
    work();
    let after = cluster.store.firing().poll(None, "", &[]).unwrap();
    (after.changes - before.changes, after.cancels - before.cancels)
}

on_each_database!(changes_are_announced_and_plain_fires_are_not);
/// DS-42: what others may have to act on is announced once in its transaction; a plain fire and its
/// end announce nothing.
fn changes_are_announced_and_plain_fires_are_not() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let store = &cluster.store;
    let schedule = || drop(cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW), once("u", "a", NOW)]));
    assert_eq!(moves(&cluster, schedule), (1, 0));
    let mut fired = Vec::new();
    assert_eq!(moves(&cluster, || fired = a.acquire().fired), (0, 0));
    assert_eq!(
        moves(&cluster, || assert_eq!(store.upkeep().request_cancels(&[fired[0].fire_id.clone()], "me").unwrap(), 1)),
        (0, 1)
    );
    // An order that was given before is no news.
    assert_eq!(
        moves(&cluster, || assert_eq!(store.upkeep().request_cancels(&[fired[0].fire_id.clone()], "me").unwrap(), 0)),
        (0, 0)
    );
    assert_eq!(store.upkeep().cancels("A").unwrap(), [(fired[0].fire_id.clone(), "me".to_owned())]);
    let ends: Vec<_> = fired.iter().map(|f| f.completion(CompletionInstruction::NoInstruction, None)).collect();
    assert_eq!(moves(&cluster, || drop(store.firing().complete(&a.owner(), &ends).unwrap())), (0, 0));
    assert_eq!(moves(&cluster, || drop(a.check_in())), (0, 0));

    let t = [trigger_key("t")];
    assert_eq!(moves(&cluster, || assert!(store.catalogue().pause_triggers(&t).is_ok())), (1, 0));
    assert_eq!(moves(&cluster, || assert!(store.catalogue().resume_triggers(&t, false).is_ok())), (1, 0));
    assert_eq!(
        moves(&cluster, || drop(store.catalogue().trigger_job(&job_key("a"), JobDataMap::new()).unwrap())),
        (1, 0)
    );
    assert_eq!(moves(&cluster, || assert!(store.catalogue().unschedule(&t).is_ok())), (1, 0));
}

on_each_database!(what_becomes_free_is_announced);
/// The node that recovers a dead one announces what it left; a misfire that was handled, a
/// reservation that was given back and a clean leave are announced as well.
fn what_becomes_free_is_announced() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.stranger("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let reserved = a.reserve_one();
    assert!(cluster.store.firing().lost_reservations(std::slice::from_ref(&reserved)).unwrap().is_empty());
    assert_eq!(moves(&cluster, || a.store.firing().release(std::slice::from_ref(&reserved)).unwrap()), (1, 0));
    assert_eq!(cluster.store.firing().lost_reservations(&[reserved]).unwrap().len(), 1);
    a.reserve_one();
    cluster.advance(WINDOW + SECOND);
    assert_eq!(moves(&cluster, || drop(b.check_in())), (1, 0));
    cluster.advance(2 * MINUTE);
    assert_eq!(moves(&cluster, || assert_eq!(b.store.upkeep().handle_misfires().unwrap().handled.len(), 1)), (1, 0));
    assert_eq!(moves(&cluster, || assert_eq!(b.store.upkeep().leave(&b.owner()).unwrap(), 0)), (1, 0));
}
