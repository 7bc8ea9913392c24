//! The simulated cluster for tests of programs: deaths, late fires and retries in milliseconds, and
//! the same each time.
#![cfg(feature = "test-util")]

use carnelian::placement::Strategy;
use carnelian::settings::Settings;
use carnelian::testing::SimulatedCluster;
use carnelian::{JobContext, JobDetail, JobError, JobKey, JobPolicy, RetryPolicy, SimpleSchedule, Trigger, TriggerKey};
use chrono::TimeDelta;
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

/// The runs so far, each in words.
type Runs = Arc<Mutex<Vec<String>>>;

/// A cluster with one job type, whose first runs fail.
fn cluster(nodes: usize, fails: usize) -> (SimulatedCluster, Runs) {
    let runs = Runs::default();
    let seen = Arc::clone(&runs);
    let start = "2027-01-15T08:00:00Z".parse().unwrap();
    let mut cluster = SimulatedCluster::new(start, Settings::default(), move |node| {
        let seen = Arc::clone(&seen);
        node.job_fn("work", move |ctx: &mut JobContext| {
            let late = (ctx.fire_time() - ctx.scheduled_fire_time()).num_seconds();
            let is_again = if ctx.recovering().is_some() { " again" } else { "" };
            let mut seen = seen.lock();
            seen.push(format!("{}{is_again}, {late} s late", ctx.instance_id()));
            if seen.len() > fails { Ok(()) } else { Err(JobError::new("not yet")) }
        })
    })
    .unwrap();
    for _ in 0..nodes {
        cluster.start_node().unwrap();
    }
    (cluster, runs)
}

/// Stores a job that runs once, after so many seconds.
fn once(
    cluster: &SimulatedCluster,
    after: i64,
    change: impl FnOnce(carnelian::JobDetailBuilder) -> carnelian::JobDetailBuilder,
) {
    let job = change(JobDetail::builder(JobKey::named("j"), "work").requests_recovery(true)).build().unwrap();
    let start = cluster.now() + TimeDelta::seconds(after);
    let trigger = Trigger::builder(TriggerKey::named("t"), job.key().clone()).start_at(start).build().unwrap();
    cluster.scheduler().schedule_job(job, trigger).unwrap();
}

#[test]
fn work_goes_on_elsewhere_after_a_death_at_its_end() {
    let (mut cluster, runs) = cluster(2, 0);
    once(&cluster, 1, |job| job);
    cluster.kill_at_next_end();
    cluster.advance(2 * SECOND);
    assert_eq!((runs.lock().len(), cluster.nodes().len()), (1, 1));
    cluster.advance(30 * SECOND);
    let (runs, left) = (runs.lock().clone(), cluster.nodes());
    assert_eq!(runs.len(), 2, "{runs:?}");
    assert!(runs[1].starts_with(&format!("node-{} again", left[0])), "{runs:?}");
}

#[test]
fn a_death_in_a_run_ends_it_without_the_job() {
    let (mut cluster, runs) = cluster(1, 0);
    once(&cluster, 1, |job| job);
    cluster.let_runs_take(10 * SECOND);
    cluster.advance(5 * SECOND);
    cluster.kill(1);
    cluster.advance(60 * SECOND);
    assert!(runs.lock().is_empty() && cluster.nodes().is_empty());
    assert_eq!(cluster.start_node().unwrap(), 2);
    cluster.advance(60 * SECOND);
    assert_eq!(runs.lock().len(), 1);
    assert!(runs.lock()[0].starts_with("node-2 again"), "{runs:?}");
}

#[test]
fn what_came_due_while_no_node_lived_fires_late() {
    let (mut cluster, runs) = cluster(0, 0);
    once(&cluster, 5, |job| job);
    cluster.advance(15 * SECOND);
    cluster.start_node().unwrap();
    cluster.advance(SECOND);
    assert_eq!(*runs.lock(), ["node-1, 10 s late"]);
}

#[test]
fn work_that_fails_is_tried_again_when_its_policy_says() {
    let (mut cluster, runs) = cluster(1, 2);
    let retry = RetryPolicy::fixed(60 * SECOND).max_attempts(5).jitter(0.0);
    once(&cluster, 0, |job| job.policy(JobPolicy::new().retry(retry)));
    for (advance, count) in [(1, 1), (58, 1), (3, 2), (60, 3), (600, 3)] {
        cluster.advance(advance * SECOND);
        assert_eq!(runs.lock().len(), count, "at {}", cluster.now());
    }
}

#[test]
fn minutes_of_a_cluster_are_the_same_each_time() {
    let minutes = || {
        let (mut cluster, runs) = cluster(3, 0);
        let job = JobDetail::builder(JobKey::named("j"), "work").requests_recovery(true).build().unwrap();
        let every = SimpleSchedule::every(10 * SECOND);
        let trigger = Trigger::builder(TriggerKey::named("t"), job.key().clone()).schedule(every).build().unwrap();
        cluster.scheduler().schedule_job(job, trigger).unwrap();
        for node in 1..=3 {
            cluster.advance(2 * 60 * SECOND);
            cluster.kill(node);
            cluster.start_node().unwrap();
        }
        runs.lock().clone()
    };
    let first = minutes();
    assert!(first.len() >= 36, "{} runs", first.len());
    assert_eq!(first, minutes());
}

/// The service cleans up, and not only a test that asks the store to: the last runs of nodes whose
/// names come once only would be more and more.
#[test]
fn last_runs_of_nodes_that_are_gone_are_forgotten_in_time() {
    let mut settings = Settings::default();
    settings.history.retention = 3_600 * SECOND;
    let start = "2027-01-15T08:00:00Z".parse().unwrap();
    let mut cluster =
        SimulatedCluster::new(start, settings, |node| node.job_fn("work", |_: &mut JobContext| Ok(()))).unwrap();
    let (gone, _) = (cluster.start_node().unwrap(), cluster.start_node().unwrap());
    once(&cluster, 1, |job| {
        job.requests_recovery(false).durable(true).policy(JobPolicy::new().strategy(Strategy::Broadcast))
    });
    let last = |cluster: &SimulatedCluster| cluster.scheduler().last_runs(&JobKey::named("j")).unwrap().len();
    cluster.advance(10 * SECOND);
    assert_eq!(last(&cluster), 2);
    cluster.kill(gone);
    cluster.advance(50 * 60 * SECOND);
    assert_eq!(last(&cluster), 2, "the history has them still");
    cluster.advance(30 * 60 * SECOND);
    assert_eq!(last(&cluster), 1);
}
