//! The rows in which nodes describe themselves with their check-ins, and the end of these rows
//! (LT-30…37, LT-73…75, LT-88).

use super::beside_quartz::{JAVA, java_joins};
use super::*;
use carnelian::monitoring::AlarmKind;
use carnelian::monitoring::InstanceStatus;
use carnelian::node::{Labels, NodeActivity, NodeInfo, NodeReport, NodeRole};
use carnelian::store::row::{Departure, InstanceRow, NodeRow};
use carnelian::store::{Lock, StatementCounts, TxMode};
use std::time::Duration;

fn report(node_name: &str) -> NodeReport {
    let mut info = NodeInfo::default();
    info.node_name = node_name.to_owned();
    info.display_name = "Billing A".to_owned();
    info.application = "billing".to_owned();
    info.application_version = Some("3.1.4".to_owned());
    info.library_version = "0.1.0".to_owned();
    info.labels = Labels::new([("zone", "eu"), ("gpu", "")]).unwrap();
    info.activity = NodeActivity::Firing;
    info.host = Some("web7".to_owned());
    info.ip = Some("192.0.2.7".to_owned());
    (info.pid, info.pool_size, info.free_workers, info.running) = (4711, 10, 7, 3);
    info.load.cores = Some(8);
    info.load.host_cpu_permille = Some(420);
    info.load.memory_total = Some(64 << 30);
    info.load.memory_used = Some(u64::MAX >> 1);
    info.load.threads = Some(23);
    info.alarms = vec![AlarmKind::ParkedWork, AlarmKind::ClockSkew];
    NodeReport { info, uptime: Duration::from_secs(60) }
}

/// A node that says this of itself, and has checked in.
fn reporting(cluster: &Cluster, name: &str, report: NodeReport) -> Node {
    let mut node = cluster.stranger(name);
    node.me.node = Some(report);
    assert!(node.check_in().registered, "{name}");
    node
}

fn status(cluster: &Cluster, name: &str) -> InstanceStatus {
    cluster.store.upkeep().instance(name).unwrap().unwrap()
}

/// The names of the instances that have a row, whether or not they are members.
fn rows(cluster: &Cluster) -> Vec<String> {
    let mut names = Vec::new();
    cluster.tamper(|s| {
        names = s.rows::<NodeRow>().by(&["instance"]).list()?.into_iter().map(|row| row.instance).collect();
        Ok(())
    });
    names
}

on_each_database!(a_node_says_what_it_is_and_how_it_does);
/// LT-30…37: everything is there from the first check-in on; what has changed is there with the
/// next.
fn a_node_says_what_it_is_and_how_it_does() {
    let cluster = Cluster::new(open());
    let mut a = reporting(&cluster, "A", report("rack7"));
    let row = status(&cluster, "A").node.unwrap();
    assert_eq!((row.instance.as_str(), row.started_ms, row.seen_ms), ("A", NOW - MINUTE, NOW));
    assert_eq!(row.info, report("rack7").info, "nothing is lost or changed");
    assert_eq!(row.info.busy_workers(), 3);

    cluster.advance(15 * SECOND);
    let mut later = report("rack7");
    later.uptime = Duration::from_secs(76);
    later.info.activity = NodeActivity::Standby;
    later.info.load = Default::default();
    later.info.application_version = None;
    a.me.node = Some(later.clone());
    a.check_in();
    let row = status(&cluster, "A").node.unwrap();
    assert_eq!((row.started_ms, row.seen_ms), (NOW - MINUTE, NOW + 15 * SECOND), "its start stays what it was");
    assert_eq!(row.info, later.info);
    assert_eq!(cluster.store.upkeep().instance("B").unwrap(), None);
}

on_each_database!(a_report_costs_one_statement_at_most_and_no_commit);
/// LT-36, LT-72: it travels with the check-in: at most one statement more, and no commit.
fn a_report_costs_one_statement_at_most_and_no_commit() {
    let cluster = Cluster::new(open());
    let mut silent = cluster.node("A");
    let mut telling = reporting(&cluster, "B", report("rack7"));
    let cost = |node: &mut Node| {
        let before = cluster.store.database().counts();
        node.check_in();
        let after = cluster.store.database().counts();
        StatementCounts { statements: after.statements - before.statements, commits: after.commits - before.commits }
    };
    let (without, with) = (cost(&mut silent), cost(&mut telling));
    assert!(with.statements <= without.statements + 1, "{with:?} {without:?}");
    assert_eq!(with.commits, without.commits);
    assert_eq!(status(&cluster, "A").node, None, "who says nothing has no row");
}

on_each_database!(a_row_that_is_missing_is_written_again);
/// LT-74: a row that somebody has deleted is there again with the next check-in.
fn a_row_that_is_missing_is_written_again() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    assert_eq!(rows(&cluster), [""; 0]);
    a.me.node = Some(report("rack7"));
    a.check_in();
    assert_eq!(rows(&cluster), ["A"]);
}

on_each_database!(the_row_of_a_failed_node_goes_with_it);
/// LT-73, LT-75: the row of a silent node goes with its registration, in the transaction that
/// recovers its work.
fn the_row_of_a_failed_node_goes_with_it() {
    let cluster = Cluster::new(open());
    let mut a = reporting(&cluster, "A", report("rack7"));
    let b = reporting(&cluster, "B", report("rack8"));
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    b.fire_one();
    cluster.advance(15 * SECOND);
    a.check_in();
    cluster.advance(WINDOW - 15 * SECOND + 1);
    assert_eq!(a.recovers().len(), 1);
    assert_eq!(rows(&cluster), ["A"]);
    assert_eq!(cluster.recovery_triggers().len(), 1);

    // The node lived all the same: it learns that it was declared dead, and says anew what it is.
    let mut b = b;
    assert!(b.check_in().failed_out);
    assert_eq!(rows(&cluster), ["A"], "nothing is written for an incarnation that is over");
    assert!(b.check_in().registered);
    assert_eq!(rows(&cluster), ["A", "B"]);
}

on_each_database!(a_node_that_leaves_takes_its_row_along);
/// LT-88: a node that leaves takes its row along; both rows of a node with fires that still run
/// stay, for the one that takes over.
fn a_node_that_leaves_takes_its_row_along() {
    let cluster = Cluster::new(open());
    let a = reporting(&cluster, "A", report("rack7"));
    let b = reporting(&cluster, "B", report("rack8"));
    assert_eq!(a.store.upkeep().leave(&a.owner()).unwrap(), 0);
    assert_eq!(rows(&cluster), ["B"]);
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    b.fire_one();
    assert_eq!(b.store.upkeep().leave(&b.owner()).unwrap(), 1);
    assert_eq!(rows(&cluster), ["B"]);
}

on_each_database!(a_restart_begins_anew);
/// A process that is started again under the name of its last life has not been there since then.
fn a_restart_begins_anew() {
    let cluster = Cluster::new(open());
    reporting(&cluster, "A", report("rack7"));
    cluster.advance(10 * MINUTE);
    reporting(&cluster, "A", NodeReport { uptime: Duration::ZERO, ..report("rack7") });
    assert_eq!(status(&cluster, "A").node.unwrap().started_ms, NOW + 10 * MINUTE);
}

on_each_database!(a_node_of_quartz_is_shown_as_foreign);
/// A node of Quartz has a state row and says nothing: it is shown as foreign, even where a row of
/// that name was left.
fn a_node_of_quartz_is_shown_as_foreign() {
    let cluster = Cluster::new(open());
    let mut a = reporting(&cluster, "A", report("rack7"));
    java_joins(&cluster, &mut a);
    let left = NodeRow { instance: JAVA.to_owned(), started_ms: NOW, seen_ms: NOW, info: report("old").info };
    cluster.tamper(|s| s.upsert(&left, &[]));
    let shown = status(&cluster, JAVA);
    assert!(shown.foreign && shown.alive && shown.node.is_none(), "{shown:?}");
    assert!(status(&cluster, "A").node.is_some());
}

on_each_database!(what_is_left_of_a_node_that_quartz_recovered_is_swept);
/// A node of Quartz that recovers one of ours knows nothing of what it said.
fn what_is_left_of_a_node_that_quartz_recovered_is_swept() {
    let cluster = Cluster::new(open());
    let _a = reporting(&cluster, "A", report("rack7"));
    if cluster.store.database().describe().contains("memory") {
        return; // There is no node of Quartz, and all rows of an instance go together.
    }
    let left = NodeRow { instance: "gone".to_owned(), started_ms: NOW, seen_ms: NOW, info: report("old").info };
    cluster.tamper(|s| s.upsert(&left, &[]));
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 1);
    assert_eq!(rows(&cluster), ["A"]);
}

on_each_database!(an_observer_never_serves_longest_beside_a_worker);
/// An observer is never the one that fires in active-passive mode, or that cleans up for all,
/// beside a worker.
fn an_observer_never_serves_longest_beside_a_worker() {
    let cluster = Cluster::new(open());
    let mut observing = report("rack7");
    observing.info.role = NodeRole::Observer;
    let mut observer = reporting(&cluster, "A", observing);
    assert!(observer.check_in().is_longest_serving, "it is alone");
    let mut worker = reporting(&cluster, "B", report("rack8"));
    assert!(worker.check_in().is_longest_serving);
    assert!(!observer.check_in().is_longest_serving);
    assert_eq!(status(&cluster, "A").node.unwrap().info.role, NodeRole::Observer);
}

on_each_database!(texts_are_cut_to_their_columns);
/// A text that is longer than its column is cut: it is no reason to miss a check-in.
fn texts_are_cut_to_their_columns() {
    let cluster = Cluster::new(open());
    let mut long = report(&"ä".repeat(500));
    for text in [&mut long.info.display_name, &mut long.info.application, &mut long.info.library_version] {
        *text = "\0ö".repeat(500);
    }
    let texts = [&mut long.info.application_version, &mut long.info.host, &mut long.info.ip];
    texts.into_iter().for_each(|text| *text = Some("€".repeat(500)));
    let many = (0..32).map(|n| (format!("{n:063}"), "ü".repeat(63)));
    long.info.labels = Labels::new(many).unwrap();
    reporting(&cluster, "A", long.clone());
    let info = status(&cluster, "A").node.unwrap().info;
    assert_eq!(info.node_name.chars().count(), 200);
    assert!(info.node_name.ends_with("ä…") && !info.display_name.contains('\0'));
    assert_eq!(info.labels, long.info.labels);
}

on_each_database!(the_rows_of_other_schedulers_are_not_seen);
/// The rows of a scheduler that is forgotten go with it; those of others stay.
fn the_rows_of_other_schedulers_are_not_seen() {
    let (one, other) = (Cluster::new(open()), Cluster::new(open()));
    reporting(&one, "A", report("rack7"));
    reporting(&other, "A", report("rack8"));
    assert_eq!(status(&one, "A").node.unwrap().info.node_name, "rack7");
    one.store.database().forget_scheduler().unwrap();
    // The locks of the scheduler went too: they are made anew.
    one.store.database().migrate().unwrap();
    assert_eq!(rows(&one), [""; 0]);
    assert_eq!(rows(&other), ["A"]);
}

on_each_database!(a_late_check_in_does_not_bring_its_row_back);
/// A check-in that comes after a peer's verdict writes nothing: the row that it would write belongs
/// to nobody.
fn a_late_check_in_does_not_bring_its_row_back() {
    let cluster = Cluster::new(open());
    let mut a = reporting(&cluster, "A", report("rack7"));
    let begin = TxMode::Exclusive(Lock::StateAccess);
    cluster
        .opened
        .database
        .transact("a peer", begin, &mut |s| s.delete_instance("A", Departure::Any).map(drop))
        .unwrap();
    assert!(a.check_in().failed_out);
    assert_eq!(rows(&cluster), [""; 0]);
    let taken = InstanceRow {
        name: "A".to_owned(),
        last_checkin_ms: NOW,
        checkin_interval_ms: 15_000,
        incarnation: Some("another".to_owned()),
        joined: 1,
    };
    cluster.opened.database.transact("a namesake", begin, &mut |s| s.put_instance(&taken)).unwrap();
    assert!(a.check_in().has_namesake);
    assert_eq!(rows(&cluster), [""; 0]);
}
