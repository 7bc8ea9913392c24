//! Fencing: a node that was declared dead while it lived can change nothing that now belongs to
//! another.

use super::membership::ELSEWHERE;
use super::*;
use carnelian::store::row::Departure;
use carnelian::store::{CompletionInstruction, CompletionOutcome};
use carnelian::{Error, JobDataMap};

/// Node A runs `t`, holds `u` reserved, and is then declared dead by B.
struct Zombie {
    cluster: Cluster,
    a: Node,
    b: Node,
    running: carnelian::store::FireBundle,
    reserved: carnelian::store::Reservation,
}

fn zombie(work: carnelian::JobDetailBuilder) -> Zombie {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(work, [minutely("t", "a", NOW)]);
    cluster.schedule(job("other"), [once("u", "other", NOW + 20 * SECOND)]);
    let mut taken = a.acquire();
    let (running, reserved) = (taken.fired.pop().unwrap(), taken.reserved.pop().unwrap());
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    assert_eq!(b.recovers().len(), 1);
    Zombie { cluster, a, b, running, reserved }
}

on_each_strategy!(a_node_that_was_failed_out_learns_it_and_comes_back_as_another);
/// H6, QZ-48.
fn a_node_that_was_failed_out_learns_it_and_comes_back_as_another() {
    let Zombie { cluster, mut a, .. } = zombie(job("a"));
    let before = a.owner();
    let checkin = a.check_in();
    assert!(checkin.failed_out && !checkin.registered);
    assert_eq!(a.me.owner(), None);
    let checkin = a.check_in();
    assert!(checkin.registered && !checkin.failed_out && !checkin.has_namesake);
    assert_ne!(a.owner(), before);
    assert_eq!(cluster.snapshot().instances.len(), 2);
}

on_each_strategy!(its_completion_writes_nothing);
/// H3, S7.
fn its_completion_writes_nothing() {
    let Zombie { cluster, a, running, .. } =
        zombie(lone_job("a").requests_recovery(true).persist_job_data_after_execution(true));
    let before = cluster.rows();
    let data: JobDataMap = [("x", "zombie")].into_iter().collect();
    for instruction in [CompletionInstruction::NoInstruction, CompletionInstruction::SetAllJobTriggersError] {
        let outcome = a.complete_all(&[running.completion(instruction, Some(data.clone()))]);
        assert_eq!(outcome, [CompletionOutcome::Fenced]);
    }
    assert_eq!(cluster.rows(), before);
}

on_each_strategy!(its_completion_does_not_unblock_the_job_its_successor_runs);
/// H3: the successor runs, and the zombie's end must not set its siblings free.
fn its_completion_does_not_unblock_the_job_its_successor_runs() {
    let Zombie { cluster, a, b, running, .. } = zombie(lone_job("a").requests_recovery(true));
    let again = b.acquire().fired.into_iter().find(|f| f.recovering.is_some()).unwrap();
    assert_eq!(cluster.state("t"), "BLOCKED");
    assert_eq!(a.complete(&running), CompletionOutcome::Fenced);
    assert_eq!(cluster.state("t"), "BLOCKED");
    assert_eq!(b.complete(&again), CompletionOutcome::Recorded);
    assert_eq!(cluster.state("t"), "WAITING");
}

on_each_strategy!(its_reservations_cannot_be_fired_or_released);
/// H2.
fn its_reservations_cannot_be_fired_or_released() {
    let Zombie { cluster, a, b, reserved, .. } = zombie(job("a"));
    assert_eq!(cluster.state("u"), "WAITING");
    let error = a.store.firing().fire(&a.owner(), std::slice::from_ref(&reserved)).unwrap_err();
    assert!(error.is_fenced(), "{error}");
    let taken = b.acquire();
    assert_eq!(taken.fired.iter().filter(|f| f.trigger.key() == &trigger_key("u")).count(), 1);
    let before = cluster.rows();
    a.store.firing().release(&[reserved]).unwrap();
    assert_eq!(cluster.rows(), before);
}

on_each_strategy!(old_reservations_do_not_come_back_with_the_node);
/// H6: also if the node has come back as another incarnation with the old reservation still in its
/// hands.
fn old_reservations_do_not_come_back_with_the_node() {
    let Zombie { cluster, mut a, b, reserved, running, .. } = zombie(job("a"));
    a.check_in();
    a.check_in();
    assert!(a.fire(std::slice::from_ref(&reserved)).is_empty());
    assert_eq!(a.complete(&running), CompletionOutcome::Fenced);
    a.store.firing().release(&[reserved]).unwrap();
    assert_eq!(cluster.state("u"), "WAITING");
    assert!(!b.acquire().fired.is_empty());
}

on_each_strategy!(an_old_reservation_does_not_fire_the_trigger_its_successor_reserved);
/// H2: the trigger is reserved again, by another, for the same time.
fn an_old_reservation_does_not_fire_the_trigger_its_successor_reserved() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW + 30 * SECOND)]);
    let old = a.reserve_one();
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    assert_eq!(b.recovers().len(), 1);
    let new = b.reserve_one();
    assert_eq!(new.scheduled_ms, old.scheduled_ms);
    a.check_in();
    a.check_in();
    cluster.advance(10 * SECOND);
    assert!(a.fire(std::slice::from_ref(&old)).is_empty());
    a.store.firing().release(&[old]).unwrap();
    assert_eq!(cluster.state("t"), "ACQUIRED");
    assert_eq!(b.fire(&[new]).len(), 1);
}

on_each_strategy!(it_cannot_acquire);
/// H7, H25.
fn it_cannot_acquire() {
    let Zombie { cluster, a, .. } = zombie(job("a"));
    let before = cluster.rows();
    let error = a.try_acquire(10).unwrap_err();
    assert!(matches!(error, Error::Fenced { .. }), "{error}");
    assert_eq!(cluster.rows(), before);
}

on_each_strategy!(it_leaves_without_touching_its_successors_rows);
fn it_leaves_without_touching_its_successors_rows() {
    let Zombie { cluster, a, .. } = zombie(job("a"));
    let before = cluster.rows();
    assert_eq!(a.store.upkeep().leave(&a.owner()).unwrap(), 0);
    assert_eq!(cluster.rows(), before);
    assert_eq!(cluster.snapshot().instances.len(), 1);
}

on_each_strategy!(in_one_group_the_fenced_are_told_from_the_recorded);
/// A group of completions is not lost because one of them is fenced.
fn in_one_group_the_fenced_are_told_from_the_recorded() {
    let Zombie { cluster, mut a, running, .. } = zombie(job("a"));
    a.check_in();
    a.check_in();
    cluster.schedule(job("c"), [minutely("fresh", "c", cluster.now())]);
    let fresh = a.acquire().fired;
    let mut ends = vec![running.completion(CompletionInstruction::NoInstruction, None)];
    ends.extend(fresh.iter().map(|f| f.completion(CompletionInstruction::NoInstruction, None)));
    let outcomes = a.complete_all(&ends);
    assert_eq!(outcomes[0], CompletionOutcome::Fenced);
    assert!(outcomes.len() > 1 && outcomes[1..].iter().all(|o| *o == CompletionOutcome::Recorded));
}

on_each_strategy!(of_two_namesakes_the_later_keeps_the_name);
/// A node that was declared dead while it lived finds its name taken: it does not take it back as
/// long as the other lives.
fn of_two_namesakes_the_later_keeps_the_name() {
    let cluster = Cluster::new(open());
    let mut first = cluster.node("A");
    cluster.tamper(|s| s.delete_instance("A", Departure::Any).map(drop));
    let mut second = cluster.node("A");
    assert!(first.check_in().failed_out);
    assert!(first.check_in().has_namesake);
    for _ in 0..6 {
        cluster.advance(10 * SECOND);
        let checkin = second.check_in();
        assert!(!checkin.failed_out);
        assert!(first.check_in().has_namesake);
    }
    // The namesake ends, and its name is free as soon as that is known.
    drop(second);
    assert!(first.check_in().registered);
}

on_each_strategy!(the_name_of_a_namesake_elsewhere_is_free_after_its_window);
/// As long as it is not known whether the namesake is gone, its name is free after its window.
fn the_name_of_a_namesake_elsewhere_is_free_after_its_window() {
    let cluster = Cluster::new(open());
    let mut first = cluster.node("A");
    cluster.tamper(|s| s.delete_instance("A", Departure::Any).map(drop));
    let mut second = cluster.stranger("A");
    second.me.process = Some(ELSEWHERE.parse().unwrap());
    assert!(second.check_in().registered);
    assert!(first.check_in().failed_out && first.check_in().has_namesake);
    cluster.advance(WINDOW);
    assert!(first.check_in().has_namesake);
    cluster.advance(1);
    assert!(first.check_in().registered);
}
