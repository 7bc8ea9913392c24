//! Check-in: who is a member, who is taken for dead, and when.

use super::*;
use carnelian::store::row::InstanceRow;
use std::collections::BTreeSet;

#[test]
fn the_first_check_in_registers() {
    let cluster = Cluster::new(open);
    let mut a = cluster.stranger("A");
    assert_eq!(a.me.owner(), None);
    let checkin = a.check_in();
    assert!(checkin.registered && !checkin.failed_out && !checkin.twin && checkin.recovered.is_empty());
    assert!(checkin.is_longest_serving);
    let rows = cluster.snapshot().instances;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].name.as_str(), rows[0].last_checkin_ms, rows[0].checkin_interval_ms), ("A", NOW, 15_000));
    assert_eq!(rows[0].incarnation, a.me.incarnation);
}

#[test]
fn further_check_ins_write_the_time() {
    let cluster = Cluster::new(open);
    let mut a = cluster.node("A");
    let before = a.me.incarnation.clone();
    cluster.advance(15 * SECOND);
    let checkin = a.check_in();
    assert!(!checkin.registered && !checkin.failed_out);
    assert_eq!(a.me.incarnation, before);
    assert_eq!(cluster.snapshot().instances[0].last_checkin_ms, NOW + 15 * SECOND);
}

#[test]
fn nodes_see_each_other_and_who_serves_longest() {
    let cluster = Cluster::new(open);
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    let mut first = cluster.stranger("0");
    assert!(!first.check_in().is_longest_serving);
    assert!(a.check_in().is_longest_serving);
    assert!(!b.check_in().is_longest_serving);
    let status = cluster.store.instances().unwrap();
    assert_eq!(status.iter().map(|i| i.instance.as_str()).collect::<Vec<_>>(), ["0", "A", "B"]);
    assert!(status.iter().all(|i| i.alive && !i.foreign && i.running == 0));

    a.store.leave(&a.owner()).unwrap();
    assert!(b.check_in().is_longest_serving);
}

/// QZ-45: interval + 7.5 s, and not one millisecond earlier.
#[test]
fn a_silent_node_is_failed_after_its_window_and_not_before() {
    let cluster = Cluster::new(open);
    let mut a = cluster.node("A");
    let _b = cluster.node("B");
    for _ in 0..2 {
        cluster.advance(7_500);
        assert!(a.recovers().is_empty());
    }
    cluster.advance(7_500);
    assert!(a.recovers().is_empty(), "silent for the whole window");
    cluster.advance(1);
    let recovered = a.recovers();
    assert_eq!(recovered.len(), 1);
    assert_eq!((recovered[0].instance.as_str(), recovered[0].last_checkin_ms), ("B", Some(NOW)));
    assert_eq!(cluster.snapshot().instances.len(), 1);
}

#[test]
fn a_check_in_says_how_long_to_wait_for_the_next_suspicion() {
    let cluster = Cluster::new(open);
    let mut a = cluster.node("A");
    assert_eq!(a.check_in().next_suspicion, None);
    let _b = cluster.node("B");
    cluster.advance(10 * SECOND);
    let wait = a.check_in().next_suspicion.unwrap();
    assert_eq!(wait.as_millis(), 12_501);
    cluster.advance(12_501);
    assert_eq!(a.recovers().len(), 1);
}

/// QZ-45: the observer that was away itself gives the others as much time.
#[test]
fn an_observer_forgives_as_much_as_it_was_away_itself() {
    let cluster = Cluster::new(open);
    let mut a = cluster.node("A");
    let mut b = cluster.node("B");
    cluster.advance(10 * MINUTE);
    assert!(a.recovers().is_empty(), "both were cut off: nobody is dead");
    assert!(b.recovers().is_empty());
}

#[test]
fn after_the_forgiveness_a_dead_node_is_failed_at_the_next_look() {
    let cluster = Cluster::new(open);
    let mut a = cluster.node("A");
    let _b = cluster.node("B");
    cluster.advance(10 * MINUTE);
    assert!(a.recovers().is_empty());
    cluster.advance(SECOND);
    assert_eq!(a.recovers().len(), 1);
}

/// S8, L3: the database's clock jumps; rows look old and nobody is dead.
#[test]
fn a_jump_of_the_clock_convicts_nobody() {
    for jump in [60 * MINUTE, -60 * MINUTE] {
        let cluster = Cluster::new(open);
        let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
        cluster.advance(10 * SECOND);
        assert!(a.recovers().is_empty() && b.recovers().is_empty());
        cluster.clock.jump(jump);
        for _ in 0..6 {
            cluster.advance(10 * SECOND);
            assert!(a.recovers().is_empty(), "{jump}");
            assert!(b.recovers().is_empty(), "{jump}");
        }
    }
}

#[test]
fn a_node_that_died_before_the_clock_jumped_is_failed_all_the_same() {
    let cluster = Cluster::new(open);
    let mut a = cluster.node("A");
    let _b = cluster.node("B");
    cluster.clock.jump(60 * MINUTE);
    let recovered: usize = (0..6)
        .map(|_| {
            cluster.advance(10 * SECOND);
            a.recovers().len()
        })
        .sum();
    assert_eq!(recovered, 1);
}

/// H20: a restored backup left a check-in in the future.
#[test]
fn a_check_in_from_the_future_is_judged_by_whether_it_changes() {
    let cluster = Cluster::new(open);
    let mut a = cluster.node("A");
    future_instance(&cluster, "B");
    let convicted: Vec<bool> = (0..4)
        .map(|_| {
            cluster.advance(10 * SECOND);
            !a.recovers().is_empty()
        })
        .collect();
    assert_eq!(convicted, [false, false, false, true], "first seen after 10 s, silent for 30 s");
}

fn future_instance(cluster: &Cluster, name: &str) {
    let row = InstanceRow {
        name: name.to_owned(),
        last_checkin_ms: NOW + 24 * 60 * MINUTE,
        checkin_interval_ms: 15_000,
        incarnation: None,
        joined: 0,
    };
    put_instance(cluster, row);
}

fn put_instance(cluster: &Cluster, row: InstanceRow) {
    use carnelian::store::{Begin, Lock};
    let begin = Begin::Locking(Lock::StateAccess);
    cluster.opened.database.transact("a peer", begin, &mut |s| s.put_instance(&row)).unwrap();
}

/// A node of Quartz has no side row; it is judged by the same rule.
#[test]
fn a_foreign_node_is_seen_and_failed_by_the_same_rule() {
    let cluster = Cluster::new(open);
    let mut a = cluster.node("A");
    put_instance(
        &cluster,
        InstanceRow {
            name: "java".to_owned(),
            last_checkin_ms: NOW,
            checkin_interval_ms: 1_000,
            incarnation: None,
            joined: 0,
        },
    );
    assert!(cluster.store.instances().unwrap().iter().any(|i| i.foreign && i.instance == "java"));
    assert!(a.check_in().is_longest_serving, "a foreign node does not count");
    cluster.advance(8_500);
    a.check_in();
    cluster.advance(1);
    let recovered = a.recovers();
    assert_eq!(recovered.len(), 1, "its own interval is short");
}

/// QZ-46.
#[test]
fn a_node_restarted_under_its_name_recovers_itself_at_once() {
    let cluster = Cluster::new(open);
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW), once("u", "a", NOW + SECOND)]);
    let old = a.acquire();
    assert_eq!((old.fired.len(), old.reserved.len()), (1, 1));
    drop(a);

    let mut again = cluster.stranger("A");
    let checkin = again.check_in();
    assert!(checkin.registered);
    assert_eq!(checkin.recovered.len(), 1);
    assert_eq!((checkin.recovered[0].freed, checkin.recovered[0].recovery_triggers.len()), (1, 1));
    assert_eq!(cluster.snapshot().instances.len(), 1);
    assert_eq!(cluster.state("u"), "WAITING");
    let recovering = again.fire_one().recovering.unwrap();
    assert_eq!(recovering.trigger, trigger_key("t"));
}

#[test]
fn leaving_gives_reservations_back_and_deletes_the_own_row() {
    let cluster = Cluster::new(open);
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    a.reserve_one();
    assert_eq!(a.store.leave(&a.owner()).unwrap(), 0);
    assert_eq!(cluster.state("t"), "WAITING");
    assert_eq!(cluster.snapshot().instances.len(), 1);
    b.reserve_one();
    assert!(b.recovers().is_empty());
}

#[test]
fn leaving_with_fires_in_progress_leaves_them_to_the_peers() {
    let cluster = Cluster::new(open);
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    a.fire_one();
    assert_eq!(a.store.leave(&a.owner()).unwrap(), 1);
    assert_eq!(cluster.fires(), ["t/EXECUTING@A"]);
    cluster.advance(15 * SECOND);
    b.check_in();
    cluster.advance(WINDOW);
    b.check_in();
    cluster.advance(1);
    b.check_in();
    assert_eq!(cluster.recovery_triggers().len(), 1);
}

/// H24, law 2: never from a clock.
#[test]
fn incarnations_are_all_different() {
    let cluster = Cluster::new(open);
    let incarnations: BTreeSet<_> = (0..50).map(|i| cluster.node(&format!("n{i}")).me.incarnation).collect();
    assert_eq!(incarnations.len(), 50);
}

/// H8: an attempt that fails must not shorten the forgiveness.
#[cfg(feature = "test-util")]
#[test]
fn a_failed_check_in_does_not_move_the_time_of_the_last_one() {
    use carnelian::FailureClass::ConnectionLost;
    use carnelian::store::faults::Fault;
    let cluster = Cluster::new(open);
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    for _ in 0..10 {
        cluster.advance(15 * SECOND);
        for node in [&mut a, &mut b] {
            cluster.opened.database.plan().plan(1, Fault::Statement(ConnectionLost));
            assert!(node.store.check_in(&mut node.me).is_err());
        }
    }
    cluster.advance(15 * SECOND);
    assert!(a.recovers().is_empty(), "an outage convicts nobody");
    assert!(b.recovers().is_empty());
}
