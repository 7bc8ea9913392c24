//! The doctor's findings and their repair; explanations; bounds.

use super::acquisition::break_trigger;
use super::*;
use carnelian::TriggerState;
use carnelian::monitoring::CheckBounds;
use carnelian::store::row::{Departure, HeartbeatRow, Selection};
use std::time::Duration;

/// The findings as kind, subject and whether they can be mended.
fn findings(cluster: &Cluster) -> Vec<(String, String, bool)> {
    let found = cluster.store.diagnosis().doctor(true).unwrap();
    found.into_iter().map(|one| (one.kind.to_owned(), one.subject, one.is_repairable)).collect()
}

fn kinds(cluster: &Cluster) -> Vec<String> {
    findings(cluster).into_iter().filter(|(kind, ..)| kind != "invariant").map(|(kind, ..)| kind).collect()
}

/// The repairs as kind and subject; everything that was called repairable is mended.
fn repaired(cluster: &Cluster) -> Vec<(String, String)> {
    let expected: Vec<_> = findings(cluster).into_iter().filter(|(.., mends)| *mends).collect();
    let done = cluster.store.diagnosis().repair().unwrap();
    let done: Vec<(String, String)> = done.into_iter().map(|one| (one.kind.to_owned(), one.subject)).collect();
    for (kind, subject, _) in expected {
        assert!(done.contains(&(kind.clone(), subject.clone())), "{kind} {subject} is not in {done:?}");
    }
    assert!(findings(cluster).iter().all(|(.., mends)| !mends), "{:?}", findings(cluster));
    assert_eq!(cluster.store.diagnosis().repair().unwrap(), [], "a second repair finds nothing");
    done
}

fn pair(kind: &str, subject: &str) -> (String, String) {
    (kind.to_owned(), subject.to_owned())
}

on_each_database!(a_healthy_cluster_has_no_findings_and_nothing_to_mend);
fn a_healthy_cluster_has_no_findings_and_nothing_to_mend() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW), minutely("later", "a", NOW + MINUTE)]);
    let fire = node.fire_one();
    assert_eq!(findings(&cluster), []);
    assert_eq!(cluster.store.diagnosis().repair().unwrap(), []);
    node.complete(&fire);
    assert_eq!(findings(&cluster), []);
}

on_each_database!(a_trigger_that_waits_without_a_time_is_named);
/// Nobody fires it, and nothing else says so.
fn a_trigger_that_waits_without_a_time_is_named() {
    let cluster = Cluster::new(open());
    let _node = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW + MINUTE)]);
    break_trigger(&cluster, "t", |row| row.next_ms = None);
    assert_eq!(kinds(&cluster), ["no_time_left"]);
    let without_invariants = cluster.store.diagnosis().doctor(false).unwrap();
    assert_eq!(without_invariants.iter().map(|one| one.kind).collect::<Vec<_>>(), ["no_time_left"]);
}

on_each_database!(a_job_that_cannot_be_read_is_named_before_it_is_due);
fn a_job_that_cannot_be_read_is_named_before_it_is_due() {
    let cluster = Cluster::new(open());
    let mut node = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW + MINUTE)]);
    cluster.schedule(job("b"), [minutely("u", "b", NOW + MINUTE)]);
    // Neither a Java object stream that ends, nor properties.
    cluster.tamper(|s| s.write_job_data(&[(job_key("a"), vec![0xac, 0xed, 0, 5])]));
    let named = || {
        let found = cluster.store.diagnosis().doctor(false).unwrap();
        found.into_iter().map(|one| (one.kind, one.subject)).collect::<Vec<_>>()
    };
    let expected = [("unreadable_row", "jobs.a".to_owned())];
    assert_eq!(named(), expected);
    // No worker is blamed for it when it is due.
    cluster.advance(MINUTE + 11 * SECOND);
    node.check_in();
    let late: Vec<_> = named().into_iter().filter(|(_, subject)| subject.ends_with(".a")).collect();
    assert_eq!(late, expected);
}

on_each_database!(a_cluster_whose_nodes_are_all_drained_is_named_once);
/// Each job that was due was said to wait for busy workers.
fn a_cluster_whose_nodes_are_all_drained_is_named_once() {
    let cluster = Cluster::new(open());
    let mut node = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    cluster.schedule(job("b"), [once("u", "b", NOW)]);
    cluster.store.placement().drain("A", false, "ada").unwrap();
    cluster.advance(11 * SECOND);
    node.check_in();
    assert_eq!(kinds(&cluster), ["no_place"]);
    let why = cluster.store.diagnosis().explain(&trigger_key("t")).unwrap();
    assert!(why.reasons.iter().any(|reason| reason.contains("no living node takes work")), "{why:?}");
}

on_each_database!(states_that_nobody_ends_are_mended);
fn states_that_nobody_ends_are_mended() {
    let cluster = Cluster::new(open());
    cluster.schedule(
        job("a").durable(true),
        [
            minutely("acquired", "a", NOW + MINUTE),
            minutely("blocked", "a", NOW + MINUTE),
            minutely("paused", "a", NOW + MINUTE),
            minutely("complete", "a", NOW + MINUTE),
            minutely("fine", "a", NOW + MINUTE),
        ],
    );
    let states = [
        ("acquired", TriggerState::Acquired),
        ("blocked", TriggerState::Blocked),
        ("paused", TriggerState::PausedBlocked),
        ("complete", TriggerState::Complete),
    ];
    cluster.tamper(|s| {
        for (name, state) in states {
            let keys = [trigger_key(name)];
            s.change_states(Selection::Triggers(&keys), &[(TriggerState::Waiting, state)], false)?;
        }
        Ok(())
    });
    assert_eq!(kinds(&cluster), ["stuck"; 4]);
    let mut done = repaired(&cluster);
    done.sort();
    assert_eq!(
        done,
        ["acquired", "blocked", "complete", "paused"].map(|name| pair("stuck", &format!("triggers.{name}")))
    );
    let states = ["acquired", "blocked", "paused", "complete", "fine"].map(|name| cluster.state(name));
    assert_eq!(states, ["WAITING", "WAITING", "PAUSED", "-", "WAITING"]);
    assert_eq!(findings(&cluster), []);
}

on_each_database!(the_work_of_dead_nodes_is_recovered_without_a_living_one);
/// No node is left to do it: the operator's command takes over as a peer would.
fn the_work_of_dead_nodes_is_recovered_without_a_living_one() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("run").requests_recovery(true), [once("running", "run", NOW)]);
    a.fire_one();
    cluster.schedule(job("b"), [minutely("t", "b", NOW + SECOND)]);
    b.reserve_one();
    assert_eq!(findings(&cluster), [], "both live");
    cluster.advance(WINDOW);
    assert_eq!(kinds(&cluster), ["overdue_reservation"], "nobody is dead at the end of its window");
    cluster.advance(1);
    assert_eq!(kinds(&cluster), ["overdue_reservation", "silent_instance", "silent_instance"]);
    let done = repaired(&cluster);
    let expected = [("overdue_reservation", "triggers.t"), ("silent_instance", "A"), ("silent_instance", "B")];
    assert_eq!(done, expected.map(|(kind, subject)| pair(kind, subject)));
    assert_eq!((cluster.fires(), cluster.state("t").as_str()), (Vec::new(), "WAITING"));
    assert_eq!(cluster.recovery_triggers().len(), 1);
    cluster.check();
}

on_each_database!(a_node_that_lives_again_is_left_alone);
fn a_node_that_lives_again_is_left_alone() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("run"), [once("running", "run", NOW)]);
    let fire = a.fire_one();
    cluster.advance(WINDOW + 1);
    assert_eq!(kinds(&cluster), ["silent_instance"]);
    // The check-in comes between the doctor's look and the repair's.
    a.check_in();
    assert_eq!(cluster.store.upkeep().recover_dead_instance("A").unwrap(), []);
    assert_eq!(cluster.fires(), ["running/EXECUTING@A"]);
    a.complete(&fire);
}

on_each_database!(fires_of_nobody_overdue_reservations_and_left_over_rows_are_mended);
fn fires_of_nobody_overdue_reservations_and_left_over_rows_are_mended() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("run"), [once("running", "run", NOW)]);
    a.fire_one();
    cluster.schedule(job("b"), [minutely("t", "b", NOW + SECOND)]);
    b.reserve_one();
    cluster.tamper(|s| {
        s.delete_instance("A", Departure::Any)?;
        s.put(&HeartbeatRow {
            fire_id: "gone".to_owned(),
            instance: "A".to_owned(),
            beat_ms: NOW,
            limit_ms: 1,
            progress: None,
            progress_ms: None,
            progress_limit_ms: None,
        })
    });
    cluster.advance(12 * SECOND);
    b.check_in();
    // The check-in of B has recovered what A left, but for the stray row.
    assert_eq!(kinds(&cluster), ["overdue_reservation"], "a stray row harms nobody");
    let done = repaired(&cluster);
    assert_eq!(done[0], pair("overdue_reservation", "triggers.t"));
    assert_eq!((done[1].0.as_str(), done.len()), ("stray_side_rows", 2));
    assert_eq!(cluster.state("t"), "WAITING");
    assert!(a.check_in().failed_out);
}

on_each_database!(fires_of_a_node_that_is_not_registered_are_recovered);
fn fires_of_a_node_that_is_not_registered_are_recovered() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("run").requests_recovery(true), [once("running", "run", NOW)]);
    a.fire_one();
    cluster.damage(|s| s.delete_instance("A", Departure::Any).map(drop));
    assert_eq!(kinds(&cluster)[0], "orphan_fires");
    assert!(repaired(&cluster).contains(&pair("orphan_fires", "A")));
    assert_eq!((cluster.fires(), cluster.recovery_triggers().len()), (Vec::new(), 1));
    cluster.check();
}

on_each_database!(a_trigger_is_explained_and_the_rest_is_not_read);
fn a_trigger_is_explained_and_the_rest_is_not_read() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [minutely("t", "a", NOW + MINUTE), minutely("u", "a", NOW + MINUTE)]);
    let told = cluster.store.diagnosis().explain(&trigger_key("t")).unwrap();
    assert_eq!(
        (told.trigger.state.as_str(), told.is_running, told.job_type.as_deref()),
        ("WAITING", false, Some("work"))
    );
    assert_eq!(told.reasons, ["its time has not come: it fires in 1 min 0 s", "no node is alive to run it"]);
    assert!(told.schedule.unwrap().starts_with("every minute, "));
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    let told = cluster.store.diagnosis().explain(&trigger_key("t")).unwrap();
    assert_eq!(told.reasons, ["it or its job is paused: `carnelian trigger resume triggers.t`"]);
    let missing = cluster.store.diagnosis().explain(&trigger_key("none")).unwrap_err();
    assert!(missing.is_not_found(), "{missing}");
}

on_each_database!(bounds_that_are_broken_are_named);
fn bounds_that_are_broken_are_named() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("t", "a", NOW - 30 * SECOND)]);
    let check = |bounds: CheckBounds| cluster.store.diagnosis().check(&bounds).unwrap();
    let report = check(CheckBounds::new());
    assert_eq!((report.problems.len(), report.overdue, report.oldest_overdue), (0, 1, Some(Duration::from_secs(30))));
    let report = check(CheckBounds::new().max_overdue(0).min_nodes(1).max_age(Duration::from_secs(1)).max_failed(0));
    let expected = [
        "1 triggers are overdue, at most 0 are allowed",
        "0 nodes are alive and take work, at least 1 are needed",
        "no node that takes work has checked in",
    ];
    assert_eq!((report.problems, report.failed), (expected.map(str::to_owned).to_vec(), Some(0)));
    let node = cluster.node("A");
    let fire = node.fire_one();
    let report = check(CheckBounds::new().max_overdue(0).min_nodes(1).max_age(Duration::from_secs(1)).max_stuck(0));
    assert_eq!((report.problems, report.working_nodes, report.stuck), (Vec::new(), 1, Some(0)));
    node.complete(&fire);
}
