//! Placement: nodes that take no work, nodes on which jobs may run, limits of groups (LT-17, LT-60,
//! LT-61, LT-80).

use super::beside_quartz::java_joins;
use super::*;
use carnelian::node::{NodeReport, NodeRole};
use carnelian::placement::Placement;
use carnelian::placement::{BlacklistEntry, Refusal};
use carnelian::store::CompletionOutcome;
use carnelian::store::row::{BlacklistKind, BlacklistRow};
use carnelian::{Error, JobDetail, JobDetailBuilder, JobPolicy};
use std::time::Duration;

fn says(name: &str, labels: &str, role: NodeRole) -> NodeReport {
    let mut report = NodeReport::default();
    report.info.node_name = name.to_owned();
    report.info.labels = labels.parse().unwrap();
    report.info.role = role;
    report
}

/// A node that says who it is, and has checked in.
fn placed_node(cluster: &Cluster, instance: &str, name: &str, labels: &str) -> Node {
    let mut node = cluster.stranger(instance);
    node.me.node = Some(says(name, labels, NodeRole::Worker));
    assert!(node.check_in().registered, "{instance}");
    node
}

fn placed(name: &str, placement: Placement) -> JobDetailBuilder {
    job(name).policy(JobPolicy::new().placement(placement))
}

fn only(node: &str) -> Placement {
    Placement::new().allow_node(node)
}

fn of_group(group: &str, name: &str) -> JobDetail {
    JobDetail::builder(carnelian::JobKey::new(group, name), "work").build().unwrap()
}

fn due_of_group(cluster: &Cluster, group: &str, name: &str, at_ms: i64) {
    let detail = of_group(group, name);
    let trigger = carnelian::Trigger::builder(trigger_key(name), detail.key().clone()).start_at(at(at_ms));
    cluster.store.catalogue().schedule(vec![(detail, vec![trigger.build().unwrap()])], false).unwrap();
}

fn earliest(node: &Node) -> Option<i64> {
    node.store.firing().poll(None, "", &["work".to_owned()]).unwrap().earliest_ms
}

fn takes(node: &Node) -> Vec<String> {
    let mut fired: Vec<String> = names(&node.acquire().fired).into_iter().map(str::to_owned).collect();
    fired.sort();
    fired
}

on_each_database!(a_blacklisted_node_takes_nothing_from_its_next_check_in_on_and_keeps_what_it_runs);
/// LT-60, LT-61.
fn a_blacklisted_node_takes_nothing_from_its_next_check_in_on_and_keeps_what_it_runs() {
    let cluster = Cluster::new(open());
    let (mut a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("j").durable(true), [once("t1", "j", NOW)]);
    let running = a.fire_one();
    let entry = BlacklistEntry::new("A").reason("disk full").lasting(Duration::from_secs(60));
    let none = BlacklistEntry::new("A").lasting(Duration::ZERO);
    assert!(cluster.store.placement().blacklist(&none, "ann").is_err(), "an entry that is over when it is made");
    cluster.store.placement().blacklist(&entry, "ann").unwrap();
    cluster.store.catalogue().add_trigger(once("t2", "j", NOW).build().unwrap(), false).unwrap();
    let checkin = a.check_in();
    let refusal = checkin.refusal.unwrap();
    assert_eq!(refusal.to_string(), "`A` is on the blacklist by ann until 2027-01-15T08:01:00.000Z (disk full)");
    assert_eq!((takes(&a), earliest(&a)), (vec![], None));
    assert_eq!(cluster.fires(), ["t1/EXECUTING@A"]);
    assert_eq!(a.complete(&running), CompletionOutcome::Recorded);
    assert_eq!(takes(&b), ["t2"]);

    // The entry runs out by itself.
    let blacklist = cluster.store.placement().blacklist_rows().unwrap();
    assert_eq!((blacklist.len(), blacklist[0].made_ms, blacklist[0].until_ms), (1, NOW, Some(NOW + MINUTE)));
    cluster.store.catalogue().add_trigger(once("t3", "j", NOW).build().unwrap(), false).unwrap();
    for _ in 0..3 {
        cluster.advance(20 * SECOND);
        a.check_in();
    }
    assert_eq!(takes(&a), ["t3"]);
    assert!(cluster.store.placement().unblacklist("A").unwrap());
    assert!(!cluster.store.placement().unblacklist("A").unwrap());
    // The next change takes entries along that have run out.
    cluster.store.placement().blacklist(&entry, "ann").unwrap();
    cluster.advance(2 * MINUTE);
    cluster.store.placement().drain("Z", false, "ann").unwrap();
    assert_eq!(
        cluster.store.placement().blacklist_rows().unwrap().iter().map(|entry| entry.node.as_str()).collect::<Vec<_>>(),
        ["Z"]
    );
}

on_each_database!(a_node_is_drained_by_its_node_name_until_that_is_ended);
fn a_node_is_drained_by_its_node_name_until_that_is_ended() {
    let cluster = Cluster::new(open());
    let mut a = placed_node(&cluster, "A", "rack7", "");
    cluster.schedule(job("j"), [once("t1", "j", NOW), once("t2", "j", NOW + SECOND)]);
    let taken = a.acquire();
    assert_eq!((taken.fired.len(), taken.reserved.len()), (1, 1));
    cluster.store.placement().drain("rack7", false, "ann").unwrap();
    cluster.store.placement().drain("rack7", true, "bob").unwrap();
    assert_eq!(cluster.store.placement().blacklist_rows().unwrap().len(), 1, "one drain takes the place of the other");
    let expected = Refusal::Drained { node: "rack7".to_owned(), who: "bob".to_owned(), stops: true };
    assert_eq!(a.check_in().refusal, Some(expected));
    // The reservations of the node are given back.
    cluster.advance(SECOND);
    assert_eq!(a.fire(&taken.reserved).len(), 0);
    assert_eq!((cluster.state("t2"), cluster.fires()), ("WAITING".to_owned(), vec!["t1/EXECUTING@A".to_owned()]));
    assert!(cluster.store.placement().undrain("rack7").unwrap());
    assert!(!cluster.store.placement().undrain("rack7").unwrap());
    assert_eq!((a.check_in().refusal, takes(&a)), (None, vec!["t2".to_owned()]));
}

on_each_database!(what_operators_say_is_checked);
fn what_operators_say_is_checked() {
    let cluster = Cluster::new(open());
    let invalid = |result: carnelian::Result<()>| assert!(matches!(result, Err(Error::Invalid { .. })), "{result:?}");
    invalid(cluster.store.placement().drain("", false, "ann"));
    invalid(cluster.store.placement().blacklist(&BlacklistEntry::new("A").reason("x".repeat(251)), "ann"));
    invalid(cluster.store.placement().blacklist(&BlacklistEntry::new("A"), &"x".repeat(251)));
    invalid(cluster.store.placement().set_group_limit("g", None, None, "ann"));
    invalid(cluster.store.placement().set_group_limit("", Some(1), None, "ann"));
    assert_eq!(
        (cluster.store.placement().blacklist_rows().unwrap(), cluster.store.placement().group_limits().unwrap()),
        (vec![], vec![])
    );
}

on_each_database!(a_job_runs_only_on_nodes_that_it_allows_and_with_its_labels);
/// LT-17: only the nodes that the job allows; by instance id or node name.
fn a_job_runs_only_on_nodes_that_it_allows_and_with_its_labels() {
    let cluster = Cluster::new(open());
    let a = placed_node(&cluster, "A", "rack7", "zone=eu");
    let b = placed_node(&cluster, "B", "rack8", "zone=us,spot=yes");
    let label = |rule: &str| Placement::new().require_label(rule.parse().unwrap());
    cluster.schedule(placed("by-name", only("rack7")), [once("t1", "by-name", NOW)]);
    cluster.schedule(placed("by-id", only("B").allow_node("C")), [once("t2", "by-id", NOW)]);
    cluster.schedule(placed("eu", label("zone=eu")), [once("t3", "eu", NOW)]);
    cluster.schedule(placed("no-spot", label("!spot")), [once("t4", "no-spot", NOW)]);
    cluster.schedule(placed("nowhere", only("C")), [once("t5", "nowhere", NOW)]);
    assert_eq!(takes(&b), ["t2"]);
    assert_eq!(takes(&a), ["t1", "t3", "t4"]);
    for node in [&a, &b] {
        assert_eq!((takes(node), earliest(node)), (vec![], None), "what is refused is not due");
    }
    let unplaceable: Vec<_> =
        cluster.store.placement().unplaceable_jobs().unwrap().into_iter().map(|one| one.job).collect();
    assert_eq!(unplaceable, [job_key("nowhere")]);
    let nowhere = cluster.store.catalogue().job(&job_key("nowhere")).unwrap().unwrap();
    let may: Vec<String> = a
        .store
        .placement()
        .who_may_run(&nowhere, NOW)
        .unwrap()
        .into_iter()
        .map(|node| format!("{}: {}", node.instance, node.refusal.map_or("may".to_owned(), |why| why.to_string())))
        .collect();
    assert_eq!(may, ["A: the job allows C only", "B: the job allows C only"]);
}

on_each_database!(refused_work_starves_nothing);
/// Triggers that may not run here do not stand in the way of those behind them, however many there
/// are, and a node does not spin on them.
fn refused_work_starves_nothing() {
    let cluster = Cluster::new(open());
    let a = placed_node(&cluster, "A", "rack7", "");
    let many = (0..60).map(|n| once(&format!("r{n:02}"), "refused", NOW - 100 + n).build().unwrap()).collect();
    let refused = placed("refused", only("B")).build().unwrap();
    cluster.store.catalogue().schedule(vec![(refused, many)], false).unwrap();
    cluster.schedule(job("mine"), [once("t1", "mine", NOW), once("t2", "mine", NOW + 10 * MINUTE)]);
    let taken = a.try_acquire(1).unwrap();
    assert_eq!(names(&taken.fired), ["t1"], "with pages of one");
    assert_eq!(earliest(&a), Some(NOW + 10 * MINUTE));
    assert_eq!(a.acquire().fired.len(), 0);

    // More placements than are remembered do no harm: at last all of them are looked at.
    for n in 0..70 {
        let name = format!("p{n}");
        cluster.schedule(placed(&name, only(&format!("C{n}"))), [once(&name, &name, NOW)]);
    }
    cluster.schedule(job("last"), [once("last", "last", NOW)]);
    assert_eq!(names(&a.acquire().fired), ["last"]);
    assert_eq!(a.acquire().fired.len(), 0);

    // And what is changed so that it may run here does.
    let detail = placed("p3", only("A")).build().unwrap();
    cluster.store.catalogue().schedule(vec![(detail, vec![once("p3", "p3", NOW).build().unwrap()])], true).unwrap();
    assert_eq!(takes(&a), ["p3"]);
}

on_each_database!(others_take_the_work_of_a_preferred_node_that_is_late_or_dead_or_takes_none);
fn others_take_the_work_of_a_preferred_node_that_is_late_or_dead_or_takes_none() {
    let cluster = Cluster::new(open());
    let mut a = placed_node(&cluster, "A", "rack7", "");
    let mut b = placed_node(&cluster, "B", "rack8", "");
    a.check_in();
    cluster.schedule(placed("j", Placement::new().prefer_node("A")).durable(true), [once("t1", "j", NOW)]);
    assert_eq!((takes(&b), earliest(&b)), (vec![], None), "A is alive");
    assert_eq!(takes(&a), ["t1"]);

    // Late by one check-in interval.
    let add = |name: &str, at_ms: i64| {
        cluster.store.catalogue().add_trigger(once(name, "j", at_ms).build().unwrap(), false).unwrap()
    };
    add("t2", cluster.now());
    cluster.advance(15 * SECOND - 1);
    a.check_in();
    b.check_in();
    assert_eq!(takes(&b), Vec::<String>::new());
    cluster.advance(1);
    assert_eq!(earliest(&b), Some(NOW));
    assert_eq!(takes(&b), ["t2"]);

    // Drained: at once, as soon as B knows.
    add("t3", cluster.now());
    assert_eq!(takes(&b), Vec::<String>::new());
    cluster.store.placement().drain("A", false, "ann").unwrap();
    b.check_in();
    assert_eq!(takes(&b), ["t3"]);
    cluster.store.placement().undrain("A").unwrap();
    b.check_in();

    // Dead: at once, as soon as B knows.
    cluster.advance(WINDOW);
    b.check_in();
    cluster.advance(8 * SECOND);
    assert_eq!(b.recovers().len(), 1, "A is declared dead");
    add("t4", cluster.now());
    assert_eq!(takes(&b), ["t4"]);
}

on_each_database!(limits_of_groups_hold_on_each_node_and_in_the_cluster);
fn limits_of_groups_hold_on_each_node_and_in_the_cluster() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.store.placement().set_group_limit("g", Some(2), Some(3), "ann").unwrap();
    a.check_in();
    b.check_in();
    for n in 0..8 {
        due_of_group(&cluster, "g", &format!("g{n}"), NOW - 10 + n);
    }
    cluster.schedule(job("free"), [once("free", "free", NOW)]);
    let first = a.acquire().fired;
    assert_eq!(names(&first), ["g0", "g1", "free"], "a full group does not stand in the way of others");
    assert_eq!(earliest(&a), None, "and nothing of it is due here");
    let taken = b.acquire();
    let second = taken.fired;
    assert_eq!(names(&second), ["g2"], "three in the cluster");
    assert_eq!((a.acquire().fired.len(), b.acquire().fired.len()), (0, 0));
    a.complete(&first[0]);
    assert_eq!(earliest(&b), Some(NOW - 7));
    assert_eq!(names(&b.acquire().fired), ["g3"]);
    b.complete(&second[0]);
    assert_eq!(names(&b.try_acquire(1).unwrap().fired), ["g4"]);
    assert!(cluster.store.placement().remove_group_limit("g").unwrap());
    assert!(!cluster.store.placement().remove_group_limit("g").unwrap());
    a.check_in();
    assert_eq!(takes(&a), ["g5", "g6", "g7"]);
}

on_each_database!(fires_of_a_limited_group_begin_only_if_there_is_room);
/// A fire counts when it begins: what was reserved before the limit was set is given back, and
/// nothing is reserved ahead.
fn fires_of_a_limited_group_begin_only_if_there_is_room() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    for n in 0..3 {
        due_of_group(&cluster, "g", &format!("g{n}"), NOW + SECOND);
    }
    let reserved = a.acquire().reserved;
    assert_eq!(reserved.len(), 3);
    cluster.store.placement().set_group_limit("g", None, Some(1), "ann").unwrap();
    a.check_in();
    cluster.advance(SECOND);
    let fired = a.fire(&reserved);
    assert_eq!(fired.len(), 1);
    assert_eq!(cluster.fires().len(), 1, "the others are given back");
    a.complete(&fired[0]);

    due_of_group(&cluster, "h", "later", NOW + 3 * SECOND);
    cluster.store.placement().set_group_limit("h", Some(1), None, "ann").unwrap();
    a.check_in();
    let taken = a.acquire();
    assert_eq!((taken.reserved.len(), taken.unreserved_ms), (0, Some(NOW + 3 * SECOND)));
    assert_eq!(taken.fired.len(), 1, "one of group g");
}

on_each_database!(recoveries_obey_the_placement_of_their_job);
fn recoveries_obey_the_placement_of_their_job() {
    let cluster = Cluster::new(open());
    let a = placed_node(&cluster, "A", "rack7", "zone=eu");
    let mut b = placed_node(&cluster, "B", "rack8", "zone=us");
    let eu = Placement::new().require_label("zone=eu".parse().unwrap());
    cluster.schedule(placed("j", eu).requests_recovery(true), [once("t", "j", NOW)]);
    assert_eq!(takes(&a), ["t"]);
    cluster.advance(WINDOW);
    b.check_in();
    cluster.advance(8 * SECOND);
    assert_eq!(b.recovers().len(), 1);
    assert_eq!(cluster.recovery_triggers().len(), 1);
    assert_eq!(takes(&b), Vec::<String>::new());
    let c = placed_node(&cluster, "C", "rack9", "zone=eu");
    assert_eq!(c.acquire().fired.len(), 1);
}

on_each_database!(beside_quartz_a_placement_is_refused_unless_it_is_forced);
fn beside_quartz_a_placement_is_refused_unless_it_is_forced() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    java_joins(&cluster, &mut a);
    let typed = |job: JobDetailBuilder| job.job_type("com.acme.Work");
    let refused = cluster.try_schedule(typed(placed("j", only("A"))), [once("t", "j", NOW)]).unwrap_err();
    let text = refused.to_string();
    assert!(matches!(refused, Error::Refused(_)) && text.contains("(only A)") && text.contains("java"), "{text}");
    cluster.try_schedule(typed(placed("j", only("A")).even_beside_quartz()), [once("t", "j", NOW)]).unwrap();
    cluster.try_schedule(typed(job("k")), [once("u", "k", NOW)]).unwrap();
}

on_each_database!(an_observer_mends_and_runs_nothing);
/// DS-86: an observer checks in and takes over the work of the dead, but runs nothing.
fn an_observer_mends_and_runs_nothing() {
    let cluster = Cluster::new(open());
    let mut observer = cluster.stranger("admin");
    observer.me.node = Some(says("admin", "", NodeRole::Observer));
    let checkin = observer.check_in();
    assert!(checkin.registered && !checkin.is_active, "an observer is never the active node");
    assert_eq!(checkin.refusal, Some(Refusal::Observer));
    let mut a = cluster.node("A");
    assert!(a.check_in().is_active, "although the observer was first");
    cluster.schedule(job("j").requests_recovery(true), [once("t", "j", NOW)]);
    assert_eq!((takes(&observer), earliest(&observer)), (vec![], None));
    assert_eq!(takes(&a), ["t"]);
    cluster.advance(WINDOW);
    observer.check_in();
    cluster.advance(8 * SECOND);
    assert_eq!(observer.recovers().len(), 1);
    assert_eq!(cluster.recovery_triggers().len(), 1);
    assert_eq!(takes(&observer), Vec::<String>::new());
}

on_each_database!(a_drained_node_hands_over_and_takes_back_without_two_being_active);
/// QZ-22: in active-passive mode the one that has served longest of those that take work is active,
/// and never two.
fn a_drained_node_hands_over_and_takes_back_without_two_being_active() {
    let cluster = Cluster::new(open());
    let mut a = placed_node(&cluster, "A", "rack7", "");
    let mut b = placed_node(&cluster, "B", "rack8", "");
    let mut turn = |expected: (bool, bool)| {
        cluster.advance(15 * SECOND);
        let seen = (a.check_in().is_active, b.check_in().is_active);
        assert_eq!(seen, expected);
    };
    turn((true, false));
    cluster.store.placement().drain("rack7", false, "ann").unwrap();
    turn((false, true));
    turn((false, true));
    cluster.store.placement().undrain("rack7").unwrap();
    // B learns of it before A begins, however late A looks: no clock wakes anybody to the
    // microsecond.
    cluster.advance(1);
    turn((false, false));
    turn((true, false));

    // The deputy that looks first waits until the other must know.
    cluster.store.placement().drain("rack7", false, "ann").unwrap();
    assert!(!b.check_in().is_active);
    assert!(!a.check_in().is_active);
    cluster.advance(15 * SECOND);
    a.check_in();
    assert!(b.check_in().is_active);
}

#[cfg(feature = "test-util")]
on_each_database!(a_node_that_has_not_learnt_of_its_cluster_takes_nothing);
/// The look at the others after the registration fails: nothing is known of drains, limits, and
/// nodes of Quartz.
#[cfg(feature = "test-util")]
fn a_node_that_has_not_learnt_of_its_cluster_takes_nothing() {
    for is_beside_quartz in [false, true] {
        let cluster = Cluster::new(open());
        cluster.schedule(job("j"), [once("t", "j", NOW)]);
        if is_beside_quartz {
            java_joins(&cluster, &mut cluster.stranger("B"));
        } else {
            cluster.store.placement().drain("A", false, "ann").unwrap();
        }
        let mut a = cluster.stranger("A");
        fails_once(&cluster, &mut a, "look at the cluster");
        let failed = a.store.upkeep().check_in(&mut a.me);
        assert!(a.me.owner().is_none(), "it may acquire: {failed:?}");
        let checkin = a.check_in();
        assert!(checkin.registered && !checkin.has_namesake);
        assert_eq!((checkin.refusal.is_some(), a.store.is_beside_quartz()), (!is_beside_quartz, is_beside_quartz));
        assert!(is_beside_quartz || takes(&a).is_empty());
    }
}

/// The node's next transaction for `purpose` fails.
#[cfg(feature = "test-util")]
pub(super) fn fails_once(cluster: &Cluster, node: &mut Node, purpose: &'static str) {
    use carnelian::FailureClass::Permanent;
    use carnelian::store::faults::Fault;
    let database = std::sync::Arc::clone(&cluster.opened.database);
    cluster.hold_up(node, purpose, move || database.plan().plan(1, Fault::Statement(Permanent)));
}

on_each_database!(a_verdict_that_is_not_carried_out_makes_nobody_active);
/// The active node comes back after its window, before its deputy has recovered it.
fn a_verdict_that_is_not_carried_out_makes_nobody_active() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.advance(15 * SECOND);
    b.check_in();
    cluster.advance(WINDOW - 15 * SECOND + 1);
    let (sender, receiver) = std::sync::mpsc::channel();
    cluster.hold_up(&mut b, "recover a failed instance", move || {
        assert!(a.check_in().is_active);
        sender.send(a).unwrap();
    });
    let checkin = b.check_in();
    assert!(receiver.try_recv().is_ok(), "it came back meanwhile");
    assert!(checkin.recovered.is_empty() && !checkin.is_active);
    assert_eq!(checkin.next_suspicion, Some(Duration::ZERO), "what was seen is no longer so");
    assert!(!b.check_in().is_active);
}

on_each_database!(the_deputy_is_active_soon_if_another_recovers_the_active_node);
fn the_deputy_is_active_soon_if_another_recovers_the_active_node() {
    let cluster = Cluster::new(open());
    let (_dead, mut b, mut c) = (cluster.node("A"), cluster.node("B"), cluster.node("C"));
    cluster.advance(15 * SECOND);
    b.check_in();
    c.check_in();
    cluster.advance(WINDOW - 15 * SECOND + 1);
    cluster.hold_up(&mut b, "recover a failed instance", move || assert_eq!(c.recovers().len(), 1));
    let checkin = b.check_in();
    assert!(checkin.recovered.is_empty());
    assert!(checkin.is_active || checkin.next_suspicion == Some(Duration::ZERO));
    assert!(b.check_in().is_active);
}

#[cfg(feature = "test-util")]
on_each_database!(a_deputy_is_active_though_the_dead_cannot_be_recovered);
/// Rows that somebody has to mend first keep nobody from the work of the others.
#[cfg(feature = "test-util")]
fn a_deputy_is_active_though_the_dead_cannot_be_recovered() {
    let cluster = Cluster::new(open());
    let (_dead, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.advance(15 * SECOND);
    b.check_in();
    cluster.advance(WINDOW - 15 * SECOND + 1);
    fails_once(&cluster, &mut b, "recover a failed instance");
    let checkin = b.check_in();
    assert_eq!((checkin.unrecovered.len(), checkin.is_active), (1, true));
    assert_eq!(checkin.next_suspicion, Some(Duration::from_secs(1)));
    let checkin = b.check_in();
    assert_eq!((checkin.recovered.len(), checkin.is_active), (1, true));
}

on_each_database!(a_thousand_drains_of_nodes_that_are_gone_make_room_for_one_more);
/// Nodes whose names come once only are drained before their end, and nobody ends such a drain.
fn a_thousand_drains_of_nodes_that_are_gone_make_room_for_one_more() {
    let cluster = Cluster::with(open(), |settings| settings.history.retention = std::time::Duration::from_secs(3600));
    let _a = cluster.node("A");
    let placement = cluster.store.placement();
    placement.drain("A", false, "ann").unwrap();
    placement.blacklist(&BlacklistEntry::new("old"), "ann").unwrap();
    let drain = |n: usize| BlacklistRow {
        node: format!("pod-{n}"),
        kind: BlacklistKind::DrainAndStop,
        reason: None,
        who: "ann".to_owned(),
        until_ms: None,
        made_ms: NOW,
    };
    cluster.tamper(|s| s.put_all(&(0..998).map(drain).collect::<Vec<_>>()));
    let refused = placement.drain("one more", false, "ann").unwrap_err().to_string();
    assert!(refused.contains("`one more`: 1000 nodes take no work already"), "{refused}");
    cluster.advance(60 * MINUTE + 1);
    placement.drain("one more", false, "ann").unwrap();
    let left: Vec<String> = placement.blacklist_rows().unwrap().into_iter().map(|row| row.node).collect();
    assert_eq!(
        left,
        ["A", "old", "one more"],
        "a node that is there stays drained, and an order of the blacklist stands"
    );
}
