//! Total outages and the recovery mode: the report of a time without nodes, and the order in which
//! its backlog is drained.

use super::*;
use carnelian::node::{NodeActivity, NodeReport, NodeRole};
use carnelian::recovery::Outage;
use carnelian::settings::TriggerOrder;
use carnelian::store::row::InstanceRow;
use carnelian::store::{LateInOrder, PrefetchRequest};
use carnelian::{MisfireInstruction, TriggerKey};
use std::collections::BTreeSet;
use std::time::Duration;

/// Five that are late by an hour, each with another way to deal with it.
fn missed(cluster: &Cluster) {
    let late = cluster.now() + SECOND;
    let ignores = minutely("ignores", "j", late).misfire(MisfireInstruction::Ignore);
    let waits = minutely("waits", "j", late).misfire(MisfireInstruction::RescheduleNextWithRemainingCount);
    let now = minutely("now", "j", late).misfire(MisfireInstruction::RescheduleNowWithRemainingCount);
    cluster.schedule(
        job("j").durable(true),
        [
            ignores,
            waits,
            now,
            once("once", "j", late),
            minutely("young", "j", late + 3_540 * SECOND),
            once("to come", "j", late + 7_200 * SECOND),
        ],
    );
}

fn told(outage: &Outage) -> [i64; 5] {
    [outage.overdue, outage.fire_now, outage.fire_each, outage.skipped, outage.interrupted]
}

on_each_database!(the_first_after_a_total_outage_reports_it_and_the_second_does_not);
/// DS-80, scenario 10: after all were killed the first says from when to when nobody ran, and what
/// the policies decide.
fn the_first_after_a_total_outage_reports_it_and_the_second_does_not() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("held").requests_recovery(true), [once("runs", "held", NOW)]);
    assert_eq!(names(&a.acquire().fired), ["runs"]);
    cluster.advance(5 * SECOND);
    let mut b = cluster.stranger("B");
    assert_eq!(b.check_in().outage, None, "somebody lives");
    a.check_in();
    missed(&cluster);
    cluster.advance(3_600 * SECOND);

    let mut c = cluster.stranger("C");
    let checkin = c.check_in();
    let outage = checkin.outage.unwrap();
    assert_eq!((outage.began_ms, outage.ended_ms), (NOW + 5 * SECOND, NOW + 3_605 * SECOND));
    assert_eq!((outage.instance.as_str(), outage.uncounted, outage.unreadable), ("C", false, 0));
    // `once`, `now` and `young` fire now, `ignores` for each time, `waits` not; `runs` was under
    // way.
    assert_eq!(told(&outage), [5, 3, 1, 1, 1]);
    assert_eq!(checkin.recovered.len(), 2);
    assert_eq!(cluster.store.outages().list().unwrap(), std::slice::from_ref(&outage));

    assert_eq!(c.check_in().outage, None);
    assert_eq!(cluster.stranger("D").check_in().outage, None);
    assert_eq!(cluster.store.outages().list().unwrap().len(), 1);
    assert!(!c.store.is_in_recovery_mode(), "so few are no backlog");

    // The policies do what the report says.
    let pass = c.store.upkeep().handle_misfires().unwrap();
    assert_eq!(pass.handled.len(), 3);
    assert!(cluster.next("waits") > Some(cluster.now()));
    assert_eq!(cluster.next("now"), Some(cluster.now()));
}

on_each_database!(an_outage_is_told_of_after_clean_leaves_and_convictions);
/// DS-80: those that left cleanly are remembered as well, and those that were declared dead by one
/// that left then.
fn an_outage_is_told_of_after_clean_leaves_and_convictions() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let _dies = cluster.node("B");
    cluster.advance(WINDOW + SECOND);
    let mut c = cluster.stranger("C");
    assert!(c.check_in().outage.is_some(), "nobody has checked in since");
    cluster.advance(SECOND);
    assert_eq!(c.store.upkeep().leave(&c.owner()).unwrap(), 0);
    drop(a);
    cluster.advance(WINDOW);
    assert_eq!(cluster.stranger("E").check_in().outage, None, "a restart is no outage");
    cluster.advance(60 * SECOND);
    let outage = cluster.stranger("C").check_in().outage.unwrap();
    assert_eq!(outage.ended_ms - outage.began_ms, 60 * SECOND, "since the check-in of E");
    assert_eq!(told(&outage), [0; 5]);
}

on_each_database!(a_check_in_from_the_future_hides_no_outage);
/// A node of Quartz whose clock is a month ahead dies. The time that it wrote is no sign of life in
/// the month to come.
fn a_check_in_from_the_future_hides_no_outage() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let month_ms = 30 * 24 * 3_600 * SECOND;
    cluster.tamper(|s| {
        s.put_instance(&InstanceRow {
            name: "java".to_owned(),
            last_checkin_ms: NOW + month_ms,
            checkin_interval_ms: 15_000,
            incarnation: None,
            joined: 0,
        })
    });
    let mut recovered = Vec::new();
    for _ in 0..10 {
        recovered.extend(a.recovers().into_iter().map(|dead| dead.instance));
        cluster.advance(5 * SECOND);
    }
    assert_eq!(recovered, ["java"]);
    let last_ms = cluster.now() - 5 * SECOND;
    drop(a);
    cluster.advance(3_600 * SECOND);
    let outage = cluster.stranger("C").check_in().outage.unwrap();
    assert_eq!(outage.ended_ms - outage.began_ms, cluster.now() - last_ms);
}

on_each_database!(a_node_alone_reports_its_own_outage);
/// DS-80: a node that died and starts again under its own name.
fn a_node_alone_reports_its_own_outage() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("held").requests_recovery(true), [once("runs", "held", NOW)]);
    let a = cluster.node("A");
    assert_eq!(a.acquire().fired.len(), 1);
    cluster.advance(WINDOW + SECOND);
    let outage = cluster.stranger("A").check_in().outage.unwrap();
    assert_eq!((outage.began_ms, outage.interrupted), (NOW, 1));
    // The recovery trigger of the interrupted fire is due.
    assert_eq!(told(&outage), [1, 0, 1, 0, 1]);
}

on_each_database!(a_hundred_outages_are_remembered);
/// The last hundred are remembered.
fn a_hundred_outages_are_remembered() {
    let cluster = Cluster::new(open());
    for _ in 0..103 {
        let node = cluster.node("A");
        node.store.upkeep().leave(&node.owner()).unwrap();
        cluster.advance(WINDOW + SECOND);
    }
    let outages = cluster.store.outages().list().unwrap();
    assert_eq!(outages.len(), 100);
    assert!(
        outages.windows(2).all(|two| two[0].began_ms == two[1].ended_ms),
        "each began when the one before it had ended"
    );
}

on_each_database!(a_backlog_is_drained_by_priority_and_then_by_delay);
/// DS-82, DS-83: above the threshold the first node begins the recovery mode; then the most
/// important is first, and of those the longest delayed, also among what the misfire handler
/// brings.
fn a_backlog_is_drained_by_priority_and_then_by_delay() {
    let cluster = Cluster::with(open(), |settings| {
        settings.recovery.threshold = 4;
        settings.job_store.max_misfires_at_a_time = 1;
        settings.recovery.batch = 2;
    });
    let gone = cluster.node("A");
    let late = |name: &str, ms: i64, priority: i32| once(name, "j", NOW + ms).priority(priority);
    cluster
        .schedule(job("j").durable(true), [late("low", 1, 1), late("old", 2, 5), late("new", 3, 5), late("top", 4, 9)]);
    drop(gone);
    cluster.advance(3_600 * SECOND);
    let mut b = cluster.stranger("B");
    let checkin = b.check_in();
    assert_eq!(checkin.outage.map(|outage| outage.overdue), Some(4));
    let mode = cluster.store.outages().recovery_mode().unwrap().unwrap();
    assert_eq!((mode.since_ms, mode.begun_by.as_str(), mode.backlog), (Some(cluster.now()), "B", 4));
    assert!(b.store.is_in_recovery_mode());

    let handled = |node: &Node| -> Vec<String> {
        let pass = node.store.upkeep().handle_misfires().unwrap();
        pass.handled.iter().map(|trigger| trigger.key().name().to_owned()).collect()
    };
    assert_eq!(handled(&b), ["top", "old"]);
    assert_eq!(names(&b.try_acquire(1).unwrap().fired), ["top"]);
    assert_eq!(handled(&b), ["new", "low"]);
    assert_eq!(names(&b.acquire().fired), ["new", "old", "low"], "all are due now, in order of their names");
    assert_eq!(b.store.upkeep().cluster_load(Duration::ZERO, 100).unwrap().recovery_since_ms, mode.since_ms);

    // A node that begins later learns it with its registration.
    let c = cluster.node("C");
    assert!(c.store.is_in_recovery_mode());
    assert!(!b.store.outages().stop_recovery(Some(1)).unwrap(), "that was another");
    assert!(b.store.outages().stop_recovery(mode.since_ms).unwrap());
    assert!(!b.store.outages().stop_recovery(None).unwrap());
    assert_eq!(cluster.store.outages().recovery_mode().unwrap(), None);
}

on_each_database!(the_recovery_mode_begins_and_ends_by_command);
/// DS-82: by command, at any time; the order is back to what it was when it ends.
fn the_recovery_mode_begins_and_ends_by_command() {
    let cluster = Cluster::with(open(), |settings| settings.job_store.misfire_threshold = Duration::from_secs(3_600));
    let a = cluster.node("A");
    let due = |name: &str, ms: i64, priority: i32| once(name, "j", NOW - ms).priority(priority);
    cluster.schedule(
        job("j").durable(true),
        [due("old", 30, 1), due("older", 40, 2), due("top", 10, 9), due("oldest", 50, 2)],
    );
    let mode = a.store.outages().start_recovery("ann").unwrap();
    assert_eq!((mode.begun_by.as_str(), mode.backlog), ("ann", 4));
    assert_eq!(cluster.store.outages().start_recovery("bob").unwrap(), mode, "it is on already");
    assert_eq!(names(&a.try_acquire(1).unwrap().fired), ["top"]);
    assert_eq!(names(&a.try_acquire(1).unwrap().fired), ["oldest"]);
    assert!(a.store.outages().stop_recovery(None).unwrap());
    assert_eq!(a.store.settings().job_store.trigger_order, TriggerOrder::TimeThenPriority);
    assert_eq!(names(&a.acquire().fired), ["older", "old"]);
    assert!(a.store.outages().start_recovery("").is_err());
}

on_each_database!(the_order_of_what_is_late_is_kept_over_passes_and_beside_other_nodes);
/// DS-82: late triggers are put in order once for many passes. Another node may work beside this
/// one, and a trigger that is no longer late, or was paused meanwhile, is left alone: all others
/// get what their instruction says once, the most important first.
fn the_order_of_what_is_late_is_kept_over_passes_and_beside_other_nodes() {
    let cluster = Cluster::with(open(), |settings| {
        settings.job_store.max_misfires_at_a_time = 1;
        settings.recovery.batch = 3;
    });
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    let late = |priority: i32| once(&format!("p{priority}"), "j", NOW + 1).priority(priority);
    cluster.schedule(job("j").durable(true), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map(late));
    cluster.advance(3_600 * SECOND);
    let mode = a.store.outages().start_recovery("ann").unwrap();
    b.store.outages().start_recovery("bob").unwrap();
    assert_eq!(mode.backlog, 11);

    let (mut of_a, mut of_b) = (LateInOrder::default(), LateInOrder::default());
    let handle = |node: &Node, order: &mut LateInOrder| {
        // Nobody takes what is due, and that holds nothing up for long.
        cluster.advance(600);
        let pass = node.store.upkeep().handle_misfires_of(order).unwrap();
        let handled: Vec<String> = pass.handled.iter().map(|trigger| trigger.key().name().to_owned()).collect();
        (handled, pass.more)
    };
    let told = |names: &[&str], more: bool| (names.iter().map(ToString::to_string).collect::<Vec<_>>(), more);
    assert_eq!(handle(&a, &mut of_a), told(&["p11", "p10", "p9"], true));
    assert_eq!(handle(&b, &mut of_b), told(&["p8", "p7", "p6"], true));
    // The next three of the order of A were handled by B.
    cluster.store.catalogue().pause_triggers(&[trigger_key("p4")]).unwrap();
    assert_eq!(handle(&a, &mut of_a), told(&["p5", "p3"], true));
    // The next order finds triggers that come to be late meanwhile.
    cluster.schedule(job("k").durable(true), [once("top", "k", NOW + 2).priority(99)]);
    assert_eq!(handle(&b, &mut of_b), told(&["p2", "p1"], false), "of three, one is paused");
    assert_eq!(handle(&a, &mut of_a), told(&[], false));
    assert_eq!(handle(&a, &mut of_a), told(&["top"], false));
    assert_eq!(handle(&b, &mut of_b), told(&[], false));
    assert_eq!(cluster.state("p4"), "PAUSED");
    // Out of the recovery mode the order is as usual.
    assert!(a.store.outages().stop_recovery(None).unwrap());
    assert_eq!(handle(&a, &mut of_a), told(&[], false));
}

on_each_database!(the_misfire_handler_of_a_recovery_waits_for_the_workers_as_long_as_they_get_on);
/// DS-82: the handler brings no more than can be taken soon: it waits while what is due is enough
/// and gets less, and goes on when it does not, since nobody may be able to run it.
fn the_misfire_handler_of_a_recovery_waits_for_the_workers_as_long_as_they_get_on() {
    let cluster = Cluster::with(open(), |settings| {
        settings.job_store.max_misfires_at_a_time = 1;
        settings.recovery.batch = 1;
    });
    let a = cluster.node("A");
    let late = |priority: i32| once(&format!("p{priority}"), "j", NOW + 1).priority(priority);
    cluster.schedule(job("j").durable(true), [1, 2, 3, 4, 5, 6].map(late));
    cluster.advance(3_600 * SECOND);
    a.store.outages().start_recovery("ann").unwrap();
    let mut order = LateInOrder::default();
    let handle = |order: &mut LateInOrder| {
        let pass = a.store.upkeep().handle_misfires_of(order).unwrap();
        (pass.handled.first().map(|trigger| trigger.key().name().to_owned()), pass.more)
    };
    assert_eq!(handle(&mut order), (Some("p6".to_owned()), true));
    assert_eq!(handle(&mut order), (None, true), "one is due, and somebody may take it");
    cluster.advance(600);
    assert_eq!(handle(&mut order), (Some("p5".to_owned()), true), "nobody has");
    assert_eq!(names(&a.try_acquire(1).unwrap().fired), ["p6"]);
    assert_eq!(handle(&mut order), (None, true), "one is due, of two");
    assert_eq!(names(&a.acquire().fired), ["p5"]);
    assert_eq!(handle(&mut order), (Some("p4".to_owned()), true), "nothing is due");
    for (name, more) in [("p3", true), ("p2", true), ("p1", false)] {
        cluster.advance(600);
        // The workers are at long jobs: there is no sense in bringing more.
        for _ in 0..3 {
            order.note_busy(true);
            assert_eq!(handle(&mut order), (None, true));
            cluster.advance(600);
        }
        order.note_busy(false);
        assert_eq!(handle(&mut order), (Some(name.to_owned()), more));
    }
}

on_each_database!(a_backlog_is_put_in_order_once_for_many_acquisitions);
/// To put all that is due in order of priority for the few that one acquisition takes held the lock
/// for a tenth of a second with 9,000 due: a recovery took 73 triggers a second.
fn a_backlog_is_put_in_order_once_for_many_acquisitions() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    for node in [&a, &b] {
        node.store.outages().start_recovery("ann").unwrap();
    }
    let due = |priority: i32| once(&format!("p{priority}"), "j", NOW + 1).priority(priority);
    cluster.schedule(job("j").durable(true), std::array::from_fn::<_, 90, _>(|at| due(at as i32 + 1)));
    cluster.advance(SECOND);
    let takes = |node: &Node| -> Vec<String> {
        names(&node.try_acquire(2).unwrap().fired).into_iter().map(ToOwned::to_owned).collect()
    };
    assert_eq!(takes(&a), ["p90", "p89"], "a search");
    assert_eq!(takes(&a), ["p88", "p87"], "with a backlog, the first of an order");
    cluster.schedule(job("k").durable(true), ["top", "high"].map(|name| once(name, "k", NOW + 1).priority(99)));
    assert_eq!(takes(&a), ["p86", "p85"], "the next of them");
    assert_eq!(takes(&b), ["high", "top"], "another node searches");
    for of_b in [["p84", "p83"], ["p82", "p81"], ["p80", "p79"], ["p78", "p77"]] {
        assert_eq!(takes(&b), of_b);
    }
    cluster.store.catalogue().pause_triggers(&[trigger_key("p75"), trigger_key("p74")]).unwrap();
    cluster.store.catalogue().unschedule(&[trigger_key("p72")]).unwrap();
    assert_eq!(takes(&a), ["p76", "p73"], "the first that are there of its order");
    assert_eq!(takes(&a), ["p71", "p70"]);
    // An order counts for 200 ms at least.
    cluster.schedule(job("l").durable(true), [once("late", "l", NOW + 1).priority(98)]);
    cluster.advance(200);
    assert_eq!(takes(&a), ["late", "p69"]);
    let mut left: Vec<String> = Vec::new();
    for node in [&a, &b].into_iter().cycle().take(34) {
        left.extend(takes(node));
    }
    assert_eq!(left, (1..=68).rev().map(|priority| format!("p{priority}")).collect::<Vec<_>>());
    assert_eq!((takes(&a), takes(&b)), (Vec::new(), Vec::new()));
}

on_each_strategy!(what_is_due_again_at_once_keeps_its_place_in_the_order);
/// A trigger makes up for each time that it missed, one after the other, and a job that runs once
/// at a time goes on with its next trigger soon after its end.
fn what_is_due_again_at_once_keeps_its_place_in_the_order() {
    let cluster = Cluster::with(open(), |settings| settings.job_store.trigger_order = TriggerOrder::PriorityThenTime);
    let a = cluster.node("A");
    let due = |priority: i32| once(&format!("p{priority}"), "j", NOW + 1).priority(priority);
    cluster.schedule(job("j").durable(true), std::array::from_fn::<_, 90, _>(|at| due(at as i32 + 1)));
    let each = minutely("each", "each", NOW + 1).priority(200).misfire(MisfireInstruction::Ignore);
    cluster.schedule(job("each").durable(true), [each]);
    let alone = [("one", 101), ("two", 100)];
    let alone = alone.map(|(name, priority)| once(name, "alone", NOW + 180 * SECOND).priority(priority));
    cluster.schedule(job("alone").durable(true).disallow_concurrent_execution(true), alone);
    cluster.advance(200 * SECOND);
    a.store.upkeep().handle_misfires().unwrap();
    let fired = |a: &Node| a.try_acquire(2).unwrap().fired;
    let first = fired(&a);
    assert_eq!(names(&first), ["each", "one"], "a search");
    assert_eq!(names(&fired(&a)), ["each", "p90"], "the first of an order");
    assert_eq!(names(&fired(&a)), ["each", "p89"]);
    assert_eq!(names(&fired(&a)), ["each", "p88"]);
    assert_eq!(names(&fired(&a)), ["p87", "p86"], "its times are made up for");
    a.complete(&first[1]);
    cluster.advance(200);
    assert_eq!(names(&fired(&a)), ["two", "p85"]);
}

on_each_strategy!(equals_of_a_backlog_are_taken_once_each);
/// Triggers of one time and one priority stand in a backlog in the order of the database, which is
/// another one than that of a batch. A trigger that is due again at once was in the list twice.
fn equals_of_a_backlog_are_taken_once_each() {
    let cluster = Cluster::with(open(), |settings| settings.job_store.trigger_order = TriggerOrder::PriorityThenTime);
    let a = cluster.node("A");
    let each = |at: usize| minutely(&format!("t{}", at * 37 % 90), "j", NOW + 1).misfire(MisfireInstruction::Ignore);
    cluster.schedule(job("j").durable(true), std::array::from_fn::<_, 90, _>(each));
    cluster.advance(150 * SECOND);
    for times in 1..=3 {
        let fired: Vec<_> = (0..45).flat_map(|_| a.try_acquire(2).unwrap().fired).collect();
        let keys: BTreeSet<&TriggerKey> = fired.iter().map(|fire| fire.trigger.key()).collect();
        assert_eq!((fired.len(), keys.len()), (90, 90), "round {times}: the earliest first");
        assert!(fired.iter().all(|fire| fire.scheduled_ms == NOW + 1 + (times - 1) * MINUTE));
        cluster.advance(200);
    }
    assert!(a.try_acquire(2).unwrap().fired.is_empty());
}

on_each_strategy!(a_trigger_that_waits_for_a_free_worker_keeps_its_place_in_the_order);
/// With the profile `db-scheduler`: the most important trigger runs alone, and waits for a free
/// worker, while short jobs behind it are prefetched.
fn a_trigger_that_waits_for_a_free_worker_keeps_its_place_in_the_order() {
    let cluster = Cluster::with(open(), |settings| settings.job_store.trigger_order = TriggerOrder::PriorityThenTime);
    let a = cluster.node("A");
    let due = |priority: i32| once(&format!("p{priority}"), "j", NOW + 1).priority(2 * priority);
    cluster.schedule(job("j").durable(true), std::array::from_fn::<_, 90, _>(|at| due(at as i32 + 1)));
    let alone = job("alone").durable(true).disallow_concurrent_execution(true);
    cluster.schedule(alone, [once("alone", "alone", NOW + 1).priority(173)]);
    cluster.advance(SECOND);
    let short: BTreeSet<String> = ["work".to_owned()].into();
    let takes = |free: usize| -> Vec<String> {
        let prefetch = PrefetchRequest { free, quick: 2, short: &short };
        let acquisition = a.acquire_with(2, |request| request.prefetch = Some(prefetch)).unwrap();
        names(&acquisition.fired).into_iter().map(ToOwned::to_owned).collect()
    };
    assert_eq!(takes(0), ["p90", "p89"], "a search");
    assert_eq!(takes(0), ["p88", "p87"], "the first of an order");
    assert_eq!(takes(0), ["p86", "p85"], "the first waits");
    assert_eq!(takes(1), ["alone", "p84"], "a worker is free");
}

on_each_database!(a_threshold_above_what_an_outage_counts_is_reached);
/// An outage counts 10,000 overdue triggers and no more. A threshold above that was never reached.
fn a_threshold_above_what_an_outage_counts_is_reached() {
    for (threshold, begins) in [(10_002, true), (10_003, false)] {
        let cluster = Cluster::with(open(), |settings| settings.recovery.threshold = threshold);
        let mut worker = saying(&cluster, "W", NodeRole::Worker, NodeActivity::Firing);
        let many = (0..10_002).map(|n| once(&format!("t{n}"), "j", NOW + 30 * SECOND).build().unwrap()).collect();
        cluster.store.catalogue().schedule(vec![(job("j").durable(true).build().unwrap(), many)], false).unwrap();
        worker.check_in();
        cluster.advance(MINUTE * 10);
        let outage = cluster.stranger("X").check_in().outage.expect("nobody lived");
        assert_eq!((outage.overdue, outage.uncounted), (10_000, true));
        assert_eq!(cluster.store.outages().recovery_mode().unwrap().is_some(), begins);
    }
}

on_each_database!(an_observer_hides_no_outage);
/// DS-82, DS-86: observers and whoever takes no work are nobody: workers die, an observer lives on
/// and clears up after them, and the first worker that returns finds the outage and a backlog for
/// the recovery mode.
fn an_observer_hides_no_outage() {
    let cluster = Cluster::with(open(), |settings| settings.recovery.threshold = 3);
    let mut observer = saying(&cluster, "admin", NodeRole::Observer, NodeActivity::Observing);
    let mut worker = saying(&cluster, "W", NodeRole::Worker, NodeActivity::Firing);
    cluster.schedule(job("j").durable(true), ["a", "b", "c", "d"].map(|name| once(name, "j", NOW + 30 * SECOND)));
    cluster.advance(10 * SECOND);
    assert_eq!((observer.check_in().outage, worker.check_in().outage), (None, None));
    let mut convicted = 0;
    for _ in 0..8 {
        cluster.advance(10 * SECOND);
        convicted += observer.recovers().len();
    }
    assert_eq!(convicted, 1);
    let load = observer.store.upkeep().cluster_load(Duration::ZERO, 100).unwrap();
    assert_eq!(load.longest_serving.as_deref(), Some("admin"), "nobody else can speak for the cluster");
    assert_eq!(saying(&cluster, "spare", NodeRole::Observer, NodeActivity::Starting).check_in().outage, None);

    let mut back = cluster.stranger("X");
    let outage = back.check_in().outage.expect("no worker lived");
    assert_eq!((outage.began_ms, outage.ended_ms, outage.overdue), (NOW + 10 * SECOND, NOW + 90 * SECOND, 4));
    assert!(back.store.is_in_recovery_mode());
    assert_eq!(cluster.store.outages().recovery_mode().unwrap().unwrap().begun_by, "X");
    // That it is there, an observer says no more than that it was.
    observer.store.upkeep().leave(&observer.owner()).unwrap();
    assert_eq!(cluster.stranger("Y").check_in().outage, None);
}

on_each_database!(a_node_in_standby_or_drained_hides_no_outage);
/// A node in standby or drained ends no outage: nothing was done since the node stopped.
fn a_node_in_standby_or_drained_hides_no_outage() {
    for drains in [false, true] {
        let cluster = Cluster::new(open());
        let mut a = saying(&cluster, "A", NodeRole::Worker, NodeActivity::Firing);
        cluster.advance(10 * SECOND);
        match drains {
            true => cluster.store.placement().drain("A", false, "ann").unwrap(),
            false => a.me.node.as_mut().unwrap().info.activity = NodeActivity::Standby,
        }
        a.check_in();
        for _ in 0..6 {
            cluster.advance(10 * SECOND);
            a.check_in();
        }
        let outage = cluster.stranger("B").check_in().outage.expect("nobody took work");
        assert_eq!((outage.began_ms, outage.ended_ms), (NOW + 10 * SECOND, NOW + 70 * SECOND), "{drains}");
    }
}

/// A node that says this of itself.
fn saying(cluster: &Cluster, name: &str, role: NodeRole, activity: NodeActivity) -> Node {
    let mut node = cluster.stranger(name);
    let mut report = NodeReport::default();
    report.info.node_name = name.to_owned();
    (report.info.role, report.info.activity) = (role, activity);
    node.me.node = Some(report);
    node.check_in();
    node
}
