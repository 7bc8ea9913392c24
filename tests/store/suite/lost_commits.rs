//! A database that loses commits which it had answered: an asynchronous replica was promoted, or a
//! backup was put back.

use super::*;
use carnelian::store::row::FiredSelection;
use carnelian::store::{CompletionOutcome, LostCommits};
use std::collections::{BTreeMap, BTreeSet};

on_each_database!(no_fire_id_is_given_out_twice_and_fences_never_go_back);
/// Fences that the store has lost are not drawn a second time, and the node that finds out ends its
/// incarnation.
fn no_fire_id_is_given_out_twice_and_fences_never_go_back() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("plain").durable(true), [minutely("t", "plain", NOW)]);
    let plan = cluster.opened.database.plan();
    for purpose in ["draw fences", "acquire triggers", "claim triggers"] {
        plan.forget(purpose);
    }
    let lost = a.fire_one();
    plan.cancel();
    let again = loop {
        if let Some(fire) = a.acquire().fired.pop() {
            break fire;
        }
    };
    assert_eq!(lost.scheduled_ms, again.scheduled_ms, "the same fire: its trigger is what it was");
    assert!(again.fence > lost.fence, "{} after {}", again.fence, lost.fence);
    assert_ne!(lost.fire_id, again.fire_id);
    assert_eq!(a.complete(&lost), CompletionOutcome::Fenced, "the end of the one does not end the other");

    // One process has one database here: whichever of its nodes checks in first finds it.
    let before = a.owner();
    let checkin = a.check_in();
    assert!(checkin.lost_commits.is_some_and(|lost| lost.stored < lost.largest), "{checkin:?}");
    assert!(checkin.failed_out && a.me.owner().is_none());
    assert_eq!(cluster.fires(), [""; 0], "its rows are recovered");
    assert!(a.check_in().registered);
    assert_ne!(a.owner().incarnation, before.incarnation);
    assert_eq!((a.check_in().lost_commits, b.check_in().lost_commits), (None, None), "once");
    cluster.advance(MINUTE);
    assert!(b.fire_one().fence > again.fence);
}

on_each_database!(a_check_in_raises_a_fence_that_went_back);
/// A check-in notices it too, and raises the stored fence, before anything is drawn.
fn a_check_in_raises_a_fence_that_went_back() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let mut b = cluster.node("B");
    let last = |cluster: &Cluster| {
        let mut fence = 0;
        cluster.tamper(|s| {
            fence = s.draw_fences(None, 0)?.unwrap();
            Ok(())
        });
        fence
    };
    let before = last(&cluster);
    // Another node has drawn more, as this one sees with its check-in.
    cluster.tamper(|s| s.raise_fence(before + 50));
    a.check_in();
    let plan = cluster.opened.database.plan();
    plan.forget("tamper");
    cluster.tamper(|s| s.draw_fences(None, 100).map(drop));
    plan.cancel();
    assert_eq!(last(&cluster), before + 50);
    let found = b.check_in().lost_commits;
    assert_eq!(found, Some(LostCommits { stored: before + 50, largest: before + 150 }));
    assert_eq!(last(&cluster), before + 150);
}

on_each_database!(rows_that_rise_from_the_dead_are_found_and_recovered);
/// A fire that a living node has forgotten since its end was lost is found by the rows, and by
/// nothing else.
fn rows_that_rise_from_the_dead_are_found_and_recovered() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("lone").durable(true), [minutely("l", "lone", NOW)]);
    cluster.schedule(job("plain").durable(true), [minutely("p", "plain", NOW + SECOND)]);
    let brought = a.acquire();
    let plan = cluster.opened.database.plan();
    plan.forget("complete fires");
    assert_eq!(a.complete(&brought.fired[0]), CompletionOutcome::Recorded);
    plan.cancel();
    let fires = cluster.fires();
    assert_eq!(fires, ["l/EXECUTING@A", "p/ACQUIRED@A"]);
    let known = BTreeSet::from([brought.reserved[0].fire_id.clone()]);
    let unknown = a.store.upkeep().unknown_fires(&a.owner(), &known).unwrap();
    assert_eq!(unknown, BTreeSet::from([brought.fired[0].fire_id.clone()]));
    assert_eq!(a.store.upkeep().recover_unknown(&a.owner(), &unknown).unwrap().lost.len(), 1);
    assert_eq!(cluster.fires(), ["p/ACQUIRED@A"]);
    let unknown = a.store.upkeep().unknown_fires(&a.owner(), &BTreeSet::new()).unwrap();
    assert_eq!(a.store.upkeep().recover_unknown(&a.owner(), &unknown).unwrap().freed, 1);
    cluster.advance(MINUTE);
    assert_eq!(a.acquire().fired.len(), 2, "both fire again");
}

on_each_database!(fences_that_are_behind_what_the_tables_show_are_found);
/// After a backup was put back no node may be left that knows the largest fence; the tables may
/// show it.
fn fences_that_are_behind_what_the_tables_show_are_found() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("plain").durable(true), [minutely("t", "plain", NOW)]);
    let fire = a.fire_one();
    assert_eq!(cluster.store.upkeep().fence_behind().unwrap(), None);
    let renamed = |fence: i64| {
        let (owner, _) = fire.fire_id.rsplit_once('-').unwrap();
        format!("{owner}-{fence}")
    };
    let largest = fire.fence + 7;
    cluster.tamper(|s| {
        let mut rows = s.fired(FiredSelection::Ids(std::slice::from_ref(&fire.fire_id)))?;
        s.delete_fired(std::slice::from_ref(&fire.fire_id), Vec::new())?;
        rows[0].fire_id = renamed(largest);
        s.insert_fired(rows, &BTreeMap::new()).map(drop)
    });
    let found = cluster.store.upkeep().fence_behind().unwrap().unwrap();
    assert_eq!(found.largest, largest);
    assert!(found.stored < largest, "{found:?}");
    cluster.tamper(|s| s.raise_fence(largest));
    assert_eq!(cluster.store.upkeep().fence_behind().unwrap(), None);
}

on_each_database!(a_registration_whose_answer_was_lost_is_no_namesake);
/// A node that was declared dead registers again, and the answer is lost: the row it finds then is
/// its own, and no namesake's.
fn a_registration_whose_answer_was_lost_is_no_namesake() {
    use carnelian::store::faults::Fault;
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    assert_eq!(b.recovers().len(), 1);
    assert!(a.check_in().failed_out);
    cluster.opened.database.plan().plan(1, Fault::CommitLostApplied);
    a.store.upkeep().check_in(&mut a.me).unwrap_err();
    cluster.opened.database.plan().cancel();
    let again = a.check_in();
    assert!(again.registered && !again.has_namesake, "{again:?}");
}
