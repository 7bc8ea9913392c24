//! Check-in: the members, and the moment at which a silent one counts as dead.

use super::*;
use carnelian::Error;
use carnelian::machine::Process;
use carnelian::store::row::InstanceRow;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

on_each_strategy!(the_first_check_in_registers);
fn the_first_check_in_registers() {
    let cluster = Cluster::new(open());
    let mut a = cluster.stranger("A");
    assert_eq!(a.me.owner(), None);
    let checkin = a.check_in();
    assert!(checkin.registered && !checkin.failed_out && !checkin.has_namesake && checkin.recovered.is_empty());
    assert!(checkin.is_longest_serving);
    let rows = cluster.snapshot().instances;
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].name.as_str(), rows[0].last_checkin_ms, rows[0].checkin_interval_ms), ("A", NOW, 15_000));
    assert_eq!(rows[0].incarnation, a.me.incarnation);
}

on_each_strategy!(further_check_ins_write_the_time);
fn further_check_ins_write_the_time() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let before = a.me.incarnation.clone();
    cluster.advance(15 * SECOND);
    let checkin = a.check_in();
    assert!(!checkin.registered && !checkin.failed_out);
    assert_eq!(a.me.incarnation, before);
    assert_eq!(cluster.snapshot().instances[0].last_checkin_ms, NOW + 15 * SECOND);
}

on_each_strategy!(nodes_see_each_other_and_who_serves_longest);
fn nodes_see_each_other_and_who_serves_longest() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    let mut first = cluster.stranger("0");
    assert!(!first.check_in().is_longest_serving);
    assert!(a.check_in().is_longest_serving);
    assert!(!b.check_in().is_longest_serving);
    let status = cluster.store.upkeep().instances().unwrap();
    assert_eq!(status.iter().map(|i| i.instance.as_str()).collect::<Vec<_>>(), ["0", "A", "B"]);
    assert!(status.iter().all(|i| i.alive && !i.foreign && i.running == 0));

    a.store.upkeep().leave(&a.owner()).unwrap();
    assert!(b.check_in().is_longest_serving);
}

on_each_strategy!(a_silent_node_is_failed_after_its_window_and_not_before);
/// QZ-45: interval + 7.5 s, and not one millisecond earlier.
fn a_silent_node_is_failed_after_its_window_and_not_before() {
    let cluster = Cluster::new(open());
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
    assert_eq!((recovered[0].instance.as_str(), recovered[0].last_checkin), ("B", Some(at(NOW))));
    assert_eq!(cluster.snapshot().instances.len(), 1);
}

on_each_strategy!(a_check_in_says_how_long_to_wait_for_the_next_suspicion);
fn a_check_in_says_how_long_to_wait_for_the_next_suspicion() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    assert_eq!(a.check_in().next_suspicion, None);
    let _b = cluster.node("B");
    cluster.advance(10 * SECOND);
    let wait = a.check_in().next_suspicion.unwrap();
    assert_eq!(wait.as_millis(), 12_501);
    cluster.advance(12_501);
    assert_eq!(a.recovers().len(), 1);
}

on_each_strategy!(an_observer_forgives_as_much_as_it_was_away_itself);
/// QZ-45: the observer that was away itself gives the others as much time.
fn an_observer_forgives_as_much_as_it_was_away_itself() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let mut b = cluster.node("B");
    cluster.advance(10 * MINUTE);
    assert!(a.recovers().is_empty(), "both were cut off: nobody is dead");
    assert!(b.recovers().is_empty());
}

on_each_strategy!(after_an_outage_nobody_is_convicted_who_comes_back_within_the_tolerance);
/// The node that is back first looks again soon, for peers whose windows are over; these peers have
/// not come back yet, and are given the tolerance for that. The outage of the observer convicts
/// none of them.
fn after_an_outage_nobody_is_convicted_who_comes_back_within_the_tolerance() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let mut b = cluster.node("B");
    let _dead = cluster.node("C");
    cluster.advance(10 * MINUTE);
    for _ in 0..70 {
        let checkin = a.check_in();
        assert_eq!(checkin.recovered, []);
        assert!(checkin.next_suspicion.unwrap() <= Duration::from_millis(7_501), "{:?}", checkin.next_suspicion);
        cluster.advance(100);
    }
    assert!(!b.check_in().failed_out, "it came back seven seconds later");
    cluster.advance(499);
    assert!(a.recovers().is_empty());
    cluster.advance(1);
    let recovered = a.recovers();
    assert_eq!(recovered.iter().map(|one| one.instance.as_str()).collect::<Vec<_>>(), ["C"]);
}

on_each_strategy!(outages_that_come_again_and_again_put_off_a_verdict_once);
/// The store is away for 22 of each 29 seconds. The rest is shorter than the tolerance each time:
/// a dead node was not found as long as that went on.
fn outages_that_come_again_and_again_put_off_a_verdict_once() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let mut b = cluster.node("B");
    let _dead = cluster.node("C");
    let mut recovered = Vec::new();
    for outage in 0..3 {
        cluster.advance(22 * SECOND);
        let mut left = 7 * SECOND;
        while left > 0 {
            let checkin = a.check_in();
            recovered.extend(checkin.recovered.into_iter().map(|one| (outage, one.instance)));
            let wait = checkin.next_suspicion.map_or(left, |wait| left.min(wait.as_millis() as i64));
            cluster.advance(wait);
            left -= wait;
        }
        assert!(!b.check_in().failed_out, "it came back seven seconds later");
    }
    assert_eq!(recovered, [(1, "C".to_owned())]);
}

on_each_strategy!(a_jump_of_the_clock_convicts_nobody);
/// S8, L3: the database's clock jumps; rows look old and nobody is dead.
fn a_jump_of_the_clock_convicts_nobody() {
    for jump in [60 * MINUTE, -60 * MINUTE] {
        let cluster = Cluster::new(open());
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

on_each_strategy!(slow_check_ins_delay_no_verdict);
/// Each check-in is held up by up to three seconds before it reads the store's clock, in no order;
/// the dead node is found by the first that is begun after its window.
fn slow_check_ins_delay_no_verdict() {
    for seed in 0..5_u64 {
        let cluster = Cluster::new(open());
        let mut a = cluster.node("A");
        let _dead = cluster.node("B");
        let mut random = seed;
        let mut found = None;
        while found.is_none() {
            let begun = cluster.now();
            assert!(
                begun <= NOW + WINDOW + SECOND,
                "seed {seed}: not found {} ms after its window",
                begun - NOW - WINDOW
            );
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let delay = i64::try_from((random >> 33) % 3_001).unwrap();
            let clock = Arc::clone(&cluster.clock);
            cluster.hold_up(&mut a, "check in", move || clock.advance(delay));
            let checkin = a.check_in();
            found = checkin.recovered.first().map(|_| begun);
            // As the cluster manager does, with an interval of three seconds: it is often slower
            // than that.
            let suspicion = cluster.now()
                + i64::try_from(checkin.next_suspicion.map_or(15_000, |wait| wait.as_millis().min(15_000))).unwrap();
            let next = suspicion.min(begun + 3 * SECOND).max(cluster.now() + 100);
            cluster.advance(next - cluster.now());
        }
        assert!(found.unwrap() + 3 * SECOND >= NOW + WINDOW, "seed {seed}: too early");
    }
}

/// Every transaction is held up by up to three seconds before it begins, in no order. A dead peer
/// is never recovered within its window, and soon after.
fn recovered_after(interval: i64, tolerance: i64, seed: u64) -> (i64, bool) {
    let cluster = Cluster::with(open(), |settings| {
        settings.job_store.checkin_interval = Duration::from_millis(interval.unsigned_abs());
        settings.job_store.checkin_misfire_threshold = Duration::from_millis(tolerance.unsigned_abs());
    });
    cluster.clock.moves.store(true, Ordering::SeqCst);
    let mut a = cluster.node("A");
    // The node has seen how slow the way can be.
    let slowest = Arc::clone(&cluster.clock);
    cluster.hold_up(&mut a, "check in", move || slowest.advance(3 * SECOND));
    a.check_in();
    let random = AtomicU64::new(seed);
    let clock = Arc::clone(&cluster.clock);
    cluster.before_each(&mut a, move |purpose| {
        if ["check in", "recover a failed instance"].contains(&purpose) {
            let next = |x: u64| x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let drawn = next(random.load(Ordering::SeqCst));
            random.store(drawn, Ordering::SeqCst);
            clock.advance(i64::try_from((drawn >> 33) % 3_001).unwrap());
        }
    });
    let _dead = cluster.node("B");
    let died = cluster.now();
    loop {
        let begun = cluster.now();
        let checkin = a.check_in();
        if let [recovered] = &checkin.recovered[..] {
            return (
                recovered.now.timestamp_millis() - died - interval - tolerance,
                cluster.opened.database.begins_apart(),
            );
        }
        // As the cluster manager does.
        let wait = checkin.next_suspicion.map_or(interval, |wait| i64::try_from(wait.as_millis()).unwrap());
        let next = (cluster.now() + wait).min(begun + interval).max(cluster.now() + 100);
        cluster.advance(next - cluster.now());
    }
}

on_each_strategy!(slow_transactions_delay_no_recovery);
/// The recovery is on its way before the window has ended; on a database where whoever begins to
/// write holds up the others it is not.
fn slow_transactions_delay_no_recovery() {
    for (interval, seed) in (0..20).flat_map(|seed| [(15 * SECOND, seed), (6 * SECOND, seed)]) {
        let (late_ms, begins_apart) = recovered_after(interval, 7_500, seed);
        let latest = if begins_apart { SECOND } else { 4 * SECOND };
        assert!((1..=latest).contains(&late_ms), "interval {interval} seed {seed}: {late_ms} ms after the window");
    }
}

on_each_strategy!(transactions_slower_than_check_ins_delay_a_recovery_by_one);
/// With an interval no longer than an answer takes, no more than one of them comes after the end.
fn transactions_slower_than_check_ins_delay_a_recovery_by_one() {
    for seed in 0..40 {
        let (late_ms, _) = recovered_after(3 * SECOND, 6 * SECOND, seed);
        assert!((1..=3 * SECOND + 100).contains(&late_ms), "seed {seed}: {late_ms} ms after the window");
    }
}

on_each_strategy!(who_checks_in_at_the_last_moment_is_not_recovered);
/// A peer that was to be dead in a moment checks in, before the transaction that would recover it
/// has the lock.
fn who_checks_in_at_the_last_moment_is_not_recovered() {
    let cluster = Cluster::new(open());
    cluster.clock.moves.store(true, Ordering::SeqCst);
    let mut a = cluster.node("A");
    let b = Mutex::new(cluster.node("B"));
    cluster.advance(10 * SECOND);
    assert!(a.recovers().is_empty());
    cluster.advance(WINDOW - 11 * SECOND);
    let clock = Arc::clone(&cluster.clock);
    cluster.before_each(&mut a, move |purpose| match purpose {
        "check in" => clock.advance(500),
        "recover a failed instance" => assert!(!b.lock().unwrap().check_in().failed_out),
        _ => {}
    });
    let checkin = a.check_in();
    assert_eq!(checkin.recovered, [], "foreseen to die half a second later");
    assert_eq!(checkin.next_suspicion, Some(Duration::ZERO));
    assert!(a.recovers().is_empty());
    assert_eq!(cluster.snapshot().instances.len(), 2);
}

on_each_strategy!(a_node_that_died_before_the_clock_jumped_is_failed_all_the_same);
fn a_node_that_died_before_the_clock_jumped_is_failed_all_the_same() {
    let cluster = Cluster::new(open());
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

on_each_strategy!(a_window_that_a_jump_of_the_clock_has_ended_is_not_foreseen);
/// The jump has ended the window, and the peer has its time to come back: a look at the end of that
/// time decides, and none before it takes the lock.
fn a_window_that_a_jump_of_the_clock_has_ended_is_not_foreseen() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let _dead = cluster.node("B");
    let slow = Arc::clone(&cluster.clock);
    cluster.hold_up(&mut a, "check in", move || slow.advance(2 * SECOND));
    a.check_in();
    let tried = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&tried);
    cluster.before_each(&mut a, move |purpose| {
        if purpose == "recover a failed instance" {
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    cluster.clock.jump(60 * MINUTE);
    while a.recovers().is_empty() {
        assert_eq!(tried.load(Ordering::SeqCst), 0);
        cluster.advance(100);
    }
    assert_eq!(tried.load(Ordering::SeqCst), 1);
}

on_each_strategy!(a_check_in_from_the_future_is_judged_by_whether_it_changes);
/// H20: a restored backup left a check-in in the future.
fn a_check_in_from_the_future_is_judged_by_whether_it_changes() {
    let cluster = Cluster::new(open());
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
    use carnelian::store::{Lock, TxMode};
    let begin = TxMode::Exclusive(Lock::StateAccess);
    cluster.opened.database.transact("a peer", begin, &mut |s| s.put_instance(&row)).unwrap();
}

on_each_strategy!(a_foreign_node_is_seen_and_failed_by_the_same_rule);
/// A node of Quartz has no side row; it is judged by the same rule.
fn a_foreign_node_is_seen_and_failed_by_the_same_rule() {
    let cluster = Cluster::new(open());
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
    assert!(cluster.store.upkeep().instances().unwrap().iter().any(|i| i.foreign && i.instance == "java"));
    assert!(a.check_in().is_longest_serving, "a foreign node does not count");
    cluster.advance(8_500);
    a.check_in();
    cluster.advance(1);
    let recovered = a.recovers();
    assert_eq!(recovered.len(), 1, "its own interval is short");
}

on_each_strategy!(a_node_restarted_under_its_name_recovers_itself_at_once);
/// QZ-46.
fn a_node_restarted_under_its_name_recovers_itself_at_once() {
    let cluster = Cluster::new(open());
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

/// A process of which nobody here can tell whether it is gone.
pub(super) const ELSEWHERE: &str = "4711 987654 4026531836 a-boot web7";

fn refused(node: &mut Node) -> String {
    let refused = node.store.upkeep().check_in(&mut node.me);
    let Err(error @ Error::AlreadyRunning { .. }) = refused else { panic!("{refused:?}") };
    error.to_string()
}

on_each_strategy!(who_starts_under_the_name_of_a_node_that_lives_is_refused);
/// QZ-46: the one that lives goes on undisturbed.
fn who_starts_under_the_name_of_a_node_that_lives_is_refused() {
    let cluster = Cluster::new(open());
    let mut first = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    let fire = first.fire_one();
    let mut second = cluster.stranger("A");
    let why = refused(&mut second);
    let pid = std::process::id();
    assert!(why.contains("already") && why.contains("`A`") && why.contains(&format!("pid {pid}")), "{why}");
    cluster.advance(15 * SECOND);
    assert!(!first.check_in().failed_out);
    assert_eq!(cluster.recovery_triggers(), []);
    first.complete(&fire);
    // A node that no longer checks in is taken for dead as by anybody, even if its process is
    // there.
    cluster.advance(WINDOW + 1);
    assert!(second.check_in().registered);
}

on_each_strategy!(a_namesake_elsewhere_is_waited_for_and_named_when_it_checks_in);
/// Of a node on another machine only its next check-in tells that it lives.
fn a_namesake_elsewhere_is_waited_for_and_named_when_it_checks_in() {
    let cluster = Cluster::new(open());
    let mut first = cluster.stranger("A");
    first.me.process = Some(ELSEWHERE.parse().unwrap());
    assert!(first.check_in().registered);
    let mut second = cluster.stranger("A");
    for _ in 0..3 {
        cluster.advance(5 * SECOND);
        assert!(second.check_in().has_namesake && second.me.owner().is_none());
    }
    assert!(!first.check_in().failed_out);
    let why = refused(&mut second);
    assert!(why.contains("already") && why.contains("host `web7`, pid 4711"), "{why}");
    assert!(!first.check_in().failed_out);
}

on_each_strategy!(a_silent_namesake_elsewhere_is_followed_when_its_lease_is_over);
/// By then the other suspects itself, 1.5 s before the end of its window: no sooner, or both would
/// hold the same fires.
fn a_silent_namesake_elsewhere_is_followed_when_its_lease_is_over() {
    for process in [Some(ELSEWHERE), None] {
        let cluster = Cluster::new(open());
        let mut first = cluster.stranger("A");
        first.me.process = process.map(|process| process.parse().unwrap());
        assert!(first.check_in().registered);
        cluster.advance(SECOND);
        let mut second = cluster.stranger("A");
        let waits = second.check_in();
        assert!(waits.has_namesake && !waits.registered);
        assert_eq!(waits.next_suspicion.unwrap().as_millis(), 21_000);
        cluster.advance(20_999);
        assert!(second.check_in().has_namesake);
        cluster.advance(1);
        let checkin = second.check_in();
        assert!(checkin.registered && checkin.recovered.len() == 1);
    }
}

#[cfg(target_os = "linux")]
on_each_strategy!(a_node_whose_process_is_gone_is_followed_at_once);
/// Killed and started again on its machine, also if its pid was given to another process since.
#[cfg(target_os = "linux")]
fn a_node_whose_process_is_gone_is_followed_at_once() {
    let own = Process::own().unwrap().to_string();
    let (pid, rest) = own.split_once(' ').unwrap();
    let (start, place) = rest.split_once(' ').unwrap();
    let reused = format!("{pid} {} {place}", start.parse::<u64>().unwrap() - 1);
    for gone in [reused, format!("2147483646 {start} {place}")] {
        let cluster = Cluster::new(open());
        let mut first = cluster.stranger("A");
        first.me.process = Some(gone.parse().unwrap());
        assert!(first.check_in().registered);
        let checkin = cluster.stranger("A").check_in();
        assert!(checkin.registered && checkin.recovered.len() == 1, "{gone}");
    }
}

on_each_strategy!(of_two_that_start_together_one_registers);
/// Two that start at the same time, where another of their name has died: the second sees that the
/// first was faster, before or after the second has looked who is there.
fn of_two_that_start_together_one_registers() {
    for held_up in ["register the instance", "recover a failed instance"] {
        let cluster = Cluster::new(open());
        drop(cluster.node("A"));
        cluster.advance(1);
        let mut first = cluster.stranger("A");
        let mut second = cluster.stranger("A");
        let (sender, receiver) = std::sync::mpsc::channel();
        cluster.hold_up(&mut second, held_up, move || {
            assert!(first.check_in().registered);
            sender.send(first).unwrap();
        });
        if held_up == "recover a failed instance" {
            assert!(second.check_in().has_namesake && second.me.owner().is_none());
        }
        assert!(refused(&mut second).contains("already"));
        assert!(second.me.owner().is_none());
        assert!(!receiver.recv().unwrap().check_in().failed_out);
    }
}

on_each_strategy!(leaving_gives_reservations_back_and_deletes_the_own_row);
fn leaving_gives_reservations_back_and_deletes_the_own_row() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    a.reserve_one();
    assert_eq!(a.store.upkeep().leave(&a.owner()).unwrap(), 0);
    assert_eq!(cluster.state("t"), "WAITING");
    assert_eq!(cluster.snapshot().instances.len(), 1);
    b.reserve_one();
    assert!(b.recovers().is_empty());
}

on_each_strategy!(leaving_with_fires_in_progress_leaves_them_to_the_peers);
fn leaving_with_fires_in_progress_leaves_them_to_the_peers() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    a.fire_one();
    assert_eq!(a.store.upkeep().leave(&a.owner()).unwrap(), 1);
    assert_eq!(cluster.fires(), ["t/EXECUTING@A"]);
    cluster.advance(15 * SECOND);
    b.check_in();
    cluster.advance(WINDOW - 15 * SECOND);
    b.check_in();
    assert_eq!(cluster.recovery_triggers().len(), 0);
    cluster.advance(1);
    b.check_in();
    assert_eq!(cluster.recovery_triggers().len(), 1);
}

on_each_strategy!(incarnations_are_all_different);
/// H24, law 2: never from a clock.
fn incarnations_are_all_different() {
    let cluster = Cluster::new(open());
    let incarnations: BTreeSet<_> = (0..50).map(|i| cluster.node(&format!("n{i}")).me.incarnation).collect();
    assert_eq!(incarnations.len(), 50);
}

#[cfg(feature = "test-util")]
on_each_strategy!(a_failed_check_in_does_not_move_the_time_of_the_last_one);
/// H8: an attempt that fails must not shorten the forgiveness.
#[cfg(feature = "test-util")]
fn a_failed_check_in_does_not_move_the_time_of_the_last_one() {
    use carnelian::FailureClass::ConnectionLost;
    use carnelian::store::faults::Fault;
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    for _ in 0..10 {
        cluster.advance(15 * SECOND);
        for node in [&mut a, &mut b] {
            cluster.opened.database.plan().plan(1, Fault::Statement(ConnectionLost));
            assert!(node.store.upkeep().check_in(&mut node.me).is_err());
        }
    }
    cluster.advance(15 * SECOND);
    assert!(a.recovers().is_empty(), "an outage convicts nobody");
    assert!(b.recovers().is_empty());
}

on_each_database!(a_fire_that_a_transaction_of_its_job_holds_keeps_no_node_out);
/// The verdict passes over the fire. The node comes back beside it, and takes it once it is free;
/// where whoever writes holds up everybody there is no such transaction.
fn a_fire_that_a_transaction_of_its_job_holds_keeps_no_node_out() {
    use carnelian::store::TxMode;
    use carnelian::store::row::FiredSelection;
    let cluster = Cluster::new(open());
    if !cluster.opened.database.begins_apart() {
        return;
    }
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("j").requests_recovery(true), [once("t", "j", NOW)]);
    let held = [a.fire_one().fire_id];
    cluster.advance(15 * SECOND);
    b.check_in();
    cluster.advance(WINDOW - 15 * SECOND + 1);
    let unknown = BTreeSet::from(held.clone());
    let recover = |a: &Node| a.store.upkeep().recover_unknown(&a.owner(), &unknown).unwrap();
    cluster
        .opened
        .database
        .transact("a job's", TxMode::OwnRows, &mut |s| {
            assert_eq!(s.fired(FiredSelection::FreeIds(&held))?.len(), 1);
            assert_eq!(b.recovers().len(), 1);
            assert!(a.check_in().failed_out);
            let checkin = a.check_in();
            assert!(checkin.registered && !checkin.has_namesake, "{checkin:?}");
            cluster.schedule(job("other"), [once("u", "other", NOW)]);
            a.complete(&a.fire_one());
            assert!(recover(&a).is_empty());
            assert!(b.recovers().is_empty());
            Ok(())
        })
        .unwrap();
    assert_eq!(cluster.fires(), ["t/EXECUTING@A"]);
    assert_eq!(recover(&a).recovery_triggers.len(), 1);
    assert_eq!((cluster.fires(), a.fire_one().recovering.unwrap().trigger), (Vec::new(), trigger_key("t")));
}
