//! Running fires that somebody outside declares failed (DS-120).

use super::*;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::store::CompletionOutcome;
use carnelian::store::row::{CheckpointRow, InstanceRow, InstanceSelection};
use carnelian::{JobPolicy, RetryPolicy};
use std::time::Duration;

fn retried() -> JobPolicy {
    JobPolicy::new().retry(RetryPolicy::fixed(Duration::from_secs(5)).max_attempts(2))
}

on_each_database!(a_fire_that_is_declared_failed_ends_so_and_is_tried_again);
/// The fire ends with the reason, and its retry policy applies, once. The fire's node can write
/// nothing for the fire any more.
fn a_fire_that_is_declared_failed_ends_so_and_is_tried_again() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(lone_job("a").policy(retried()), [minutely("t", "a", NOW).priority(7).data("k", "v")]);
    let first = a.fire_one();
    let row =
        CheckpointRow { root_fire_id: first.fire_id.clone(), version: 1, fence: first.fence, data: b"x".to_vec() };
    cluster.store.firing().write_checkpoint(&first.fire_id, &row).unwrap();
    cluster.advance(MINUTE);
    assert_eq!(cluster.state("t"), "BLOCKED");
    let failed = cluster.store.firing().fail_fire(&first.fire_id, "the disk is\u{0}full").unwrap().unwrap();
    assert_eq!((failed.job.name(), failed.instance.as_str(), failed.paused), ("a", "A", false));
    assert_eq!(failed.retried_after, Some(Duration::from_secs(5)));
    assert_eq!((cluster.state("t").as_str(), cluster.fires()), ("WAITING", Vec::new()));
    cluster.check();
    // Once; and not by its node either.
    assert_eq!(cluster.store.firing().fail_fire(&first.fire_id, "again").unwrap(), None);
    assert_eq!(a.complete(&first), CompletionOutcome::Fenced);
    let rows = cluster.store.history().find(&HistoryQuery::new()).unwrap();
    assert_eq!(rows.len(), 1);
    let row = &rows[0];
    assert_eq!((row.outcome, row.attempt, row.run_ms), (FireOutcome::Failed, 0, Some(MINUTE)));
    assert!(row.error.as_deref().is_some_and(|error| error.starts_with("the disk is") && error.ends_with("full")));
    assert_eq!((row.instance.as_deref(), row.job_type.is_some()), (Some("A"), true));
    assert!(cluster.store.firing().read_checkpoint(&first.fire_id).unwrap().is_some(), "the work goes on from it");

    // The due times of the schedule come first; then the retry, which is not tried a third time.
    let due = b.fire_one();
    assert_eq!(due.rerun, None);
    b.complete(&due);
    cluster.advance(5 * SECOND);
    let second = b.acquire_with(10, |request| request.look_ahead_ms = 0).unwrap().fired.pop().unwrap();
    let rerun = second.rerun.clone().unwrap();
    assert_eq!(
        (rerun.attempt, rerun.scheduled_fire_time, rerun.root_fire_id.as_ref()),
        (1, at(NOW), Some(&first.fire_id))
    );
    assert_eq!((second.trigger.priority(), second.trigger.data().text("k")), (7, Some("v")));
    let failed = cluster.store.firing().fail_fire(&second.fire_id, "no").unwrap().unwrap();
    assert_eq!(failed.retried_after, None);
    assert_eq!(cluster.store.firing().read_checkpoint(&first.fire_id).unwrap(), None, "the work is over");
    assert_eq!(cluster.store.history().find(&HistoryQuery::new()).unwrap()[0].attempt, 1);
    assert_eq!(cluster.snapshot().recoveries, []);
}

on_each_database!(a_one_shot_that_is_declared_failed_is_over);
/// A job that is not durable goes with the fire that was its last, with its marks.
fn a_one_shot_that_is_declared_failed_is_over() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    for (name, recovers) in [("a", false), ("b", true)] {
        cluster.schedule(job(name).requests_recovery(recovers), [once(name, name, NOW)]);
    }
    cluster.schedule(job("c"), [minutely("c", "c", NOW).pause_on_failure(true)]);
    for fire in a.acquire().fired {
        let failed = cluster.store.firing().fail_fire(&fire.fire_id, "no").unwrap().unwrap();
        assert_eq!((failed.retried_after, failed.paused), (None, failed.job.name() == "c"));
    }
    assert!(!cluster.has_job("a") && !cluster.has_job("b"));
    assert_eq!(cluster.state("c"), "PAUSED");
    assert_eq!(cluster.store.history().find(&HistoryQuery::new()).unwrap().len(), 3);
}

on_each_database!(only_what_runs_on_a_node_of_ours_can_be_declared_failed);
fn only_what_runs_on_a_node_of_ours_can_be_declared_failed() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND)]);
    let reserved = a.reserve_one();
    assert_eq!(cluster.store.firing().fail_fire(&reserved.fire_id, "no").unwrap(), None, "it does not run yet");
    assert_eq!(cluster.store.firing().fail_fire("no such fire", "no").unwrap(), None);
    cluster.advance(SECOND);
    let fire = a.fire(&[reserved]).pop().unwrap();
    // The row is one that a node of Quartz would have: without the side row.
    let row =
        |s: &mut dyn carnelian::store::Session| s.instances(InstanceSelection::Named("A")).map(|mut all| all.pop());
    let mut ours = None;
    cluster.tamper(|s| {
        ours = row(s)?;
        s.put_instance(&InstanceRow { incarnation: None, ..ours.clone().unwrap() })
    });
    let error = cluster.store.firing().fail_fire(&fire.fire_id, "no").unwrap_err().to_string();
    assert!(error.contains("node of Quartz"), "{error}");
    cluster.tamper(|s| s.put_instance(&ours.clone().unwrap()));
    assert!(cluster.store.firing().fail_fire(&fire.fire_id, "no").unwrap().is_some());
}
