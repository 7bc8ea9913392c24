//! The last run of each job on each node, of jobs that several nodes run (LT-15).

use super::*;
use carnelian::history::FireOutcome;
use carnelian::placement::Strategy;
use carnelian::settings::HistoryRecord;
use carnelian::store::{Completion, CompletionInstruction, CompletionOutcome, Ending};
use carnelian::{JobDetailBuilder, JobPolicy};
use std::time::Duration;

fn spread(name: &str) -> JobDetailBuilder {
    job(name).durable(true).policy(JobPolicy::new().strategy(Strategy::Broadcast))
}

/// The last runs of a job as `instance outcome`.
fn last(cluster: &Cluster, job: &str) -> Vec<String> {
    let rows = cluster.store.history().last_runs(&job_key(job)).unwrap();
    rows.iter().map(|row| format!("{} {}", row.instance, row.outcome)).collect()
}

/// Runs this node's part of the next tick, to this end.
fn run(node: &Node, outcome: FireOutcome) -> String {
    let mut fired = node.acquire().fired;
    if fired.is_empty() {
        fired = node.acquire().fired; // the first look has spread the tick
    }
    let fire = fired.pop().unwrap();
    let error = (outcome == FireOutcome::Failed).then(|| "no paper".to_owned());
    let ending = Ending { outcome, error, run_time: Some(Duration::from_millis(5)), ..Ending::default() };
    let end = Completion { ending, ..fire.completion(CompletionInstruction::NoInstruction, None) };
    assert_eq!(node.complete_all(&[end]), [CompletionOutcome::Recorded]);
    fire.fire_id
}

on_each_database!(each_node_has_a_last_run_of_a_job_that_is_spread);
/// LT-15: whatever the history keeps, as long as the job is there.
fn each_node_has_a_last_run_of_a_job_that_is_spread() {
    let cluster = Cluster::with(open(), |settings| settings.history.record = HistoryRecord::None);
    let (mut a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(spread("j"), [minutely("t", "j", NOW)]);
    cluster.schedule(job("plain").durable(true), []);
    run(&a, FireOutcome::Succeeded);
    assert_eq!(last(&cluster, "j"), ["A succeeded"]);
    run(&b, FireOutcome::Succeeded);
    cluster.advance(MINUTE);
    a.check_in();
    let (_, second) = (run(&a, FireOutcome::Failed), cluster.now());
    assert_eq!(last(&cluster, "j"), ["A failed", "B succeeded"]);
    let rows = cluster.store.history().last_runs(&job_key("j")).unwrap();
    assert_eq!((rows[0].end_time(), rows[0].run_time()), (at(second), Some(Duration::from_millis(5))));
    assert_eq!((rows[0].error.as_deref(), rows[1].error.as_deref()), (Some("no paper"), None));

    cluster.store.catalogue().rename_job(&job_key("j"), &job_key("k"), false).unwrap();
    assert_eq!(last(&cluster, "k"), ["A failed", "B succeeded"]);
    cluster.store.catalogue().delete_jobs(&[job_key("k")]).unwrap();
    assert_eq!(last(&cluster, "k"), [""; 0]);
}

on_each_database!(last_runs_of_nodes_that_are_gone_are_kept_as_long_as_the_history);
/// A node that is there keeps its last runs; those of names that come once only would be more and
/// more.
fn last_runs_of_nodes_that_are_gone_are_kept_as_long_as_the_history() {
    let cluster = Cluster::with(open(), |settings| settings.history.retention = Duration::from_secs(3600));
    let (mut a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(spread("j"), [minutely("t", "j", NOW)]);
    run(&a, FireOutcome::Succeeded);
    run(&b, FireOutcome::Succeeded);
    cluster.store.catalogue().unschedule(&[trigger_key("t")]).unwrap();
    cluster.advance(59 * MINUTE);
    b.check_in();
    cluster.advance(10 * SECOND);
    a.check_in();
    cluster.advance(12_501);
    assert_eq!(b.recovers().len(), 0, "A is there");
    b.store.upkeep().leave(&b.owner()).unwrap();
    cluster.store.upkeep().clean_up().unwrap();
    assert_eq!(last(&cluster, "j"), ["A succeeded", "B succeeded"]);
    cluster.advance(MINUTE);
    cluster.store.upkeep().clean_up().unwrap();
    assert_eq!(last(&cluster, "j"), ["A succeeded"], "as old as the other one");
}

on_each_database!(a_lost_part_is_the_last_run_of_its_node);
/// LT-15: a run that dies with its node was its last.
fn a_lost_part_is_the_last_run_of_its_node() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(spread("j"), [minutely("t", "j", NOW)]);
    cluster.schedule(job("plain").durable(true), [once("u", "plain", NOW + 1)]);
    assert!(!run(&a, FireOutcome::Succeeded).is_empty());
    cluster.advance(MINUTE);
    let mut a = a;
    a.check_in();
    while a.acquire().fired.is_empty() {}
    cluster.advance(WINDOW + SECOND);
    cluster.node("B");
    assert_eq!(last(&cluster, "j"), ["A lost"]);
    assert_eq!(last(&cluster, "plain"), [""; 0], "a job that one node runs has none");
}
