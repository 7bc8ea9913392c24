//! Outcomes and retries: the end that a job reports, and the place where its work goes on.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::history::{FireOutcome, HistoryQuery, HistoryRow};
use carnelian::recovery::{Rerun, RerunReason};
use carnelian::{IfExists, JobContext, JobDetail, JobError, JobPolicy, Outcome, RetryPolicy, Scheduler};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// The runs: the node, the attempt, the reason of the rerun.
type Runs = Arc<Mutex<Vec<(String, i64, Option<RerunReason>)>>>;

fn note(runs: &Runs, ctx: &JobContext) -> usize {
    let mut runs = runs.lock();
    runs.push((ctx.instance_id().to_owned(), ctx.attempt(), ctx.rerun().map(|rerun| rerun.reason)));
    runs.len()
}

fn with_policy(name: &str, job_type: &str, policy: RetryPolicy) -> JobDetail {
    job(name, job_type).to_builder().policy(JobPolicy::new().retry(policy)).build().unwrap()
}

fn store(node: &Scheduler, detail: &JobDetail) {
    node.schedule_jobs(vec![(detail.clone(), vec![now(detail.key().name(), detail)])], IfExists::Refuse).unwrap();
}

/// The history of a job, the oldest first, when there are so many rows.
fn history(node: &Scheduler, detail: &JobDetail, rows: usize) -> Vec<HistoryRow> {
    let query = HistoryQuery::new().job(detail.key().clone());
    wait_until("the ends are recorded", LONG, || node.history(&query).unwrap().len() >= rows);
    let mut found = node.history(&query).unwrap();
    found.sort_by_key(|row| (row.attempt, row.fired_ms));
    found
}

fn told(rows: &[HistoryRow]) -> Vec<(FireOutcome, i64)> {
    rows.iter().map(|row| (row.outcome, row.attempt)).collect()
}

/// PA-08, PA-52, LT-08.
#[test]
fn a_job_that_fails_twice_succeeds_at_its_third_attempt() {
    let cluster = Cluster::new();
    let runs = Runs::default();
    let seen = Arc::clone(&runs);
    let twice = move |ctx: &mut JobContext| {
        ctx.set_result(format!("attempt {}", ctx.attempt()));
        assert_eq!(ctx.resume::<i64>().unwrap(), ctx.attempt().checked_sub(1).filter(|last| *last >= 0));
        ctx.checkpoint(&ctx.attempt())?;
        match note(&seen, ctx) {
            1 => Err(JobError::new("no paper")),
            2 => panic!("no ink"),
            _ => Ok(()),
        }
    };
    let node = cluster.node("n1", 2).job_fn("twice", twice).build().unwrap();
    node.start().unwrap();
    let detail = with_policy("j", "twice", RetryPolicy::fixed(Duration::from_millis(1)));
    store(&node, &detail);
    let rows = history(&node, &detail, 3);
    assert_eq!(told(&rows), [(FireOutcome::Failed, 0), (FireOutcome::Failed, 1), (FireOutcome::Succeeded, 2)]);
    assert_eq!((rows[0].error.as_deref(), rows[1].error.as_deref()), (Some("no paper"), Some("panic: no ink")));
    assert_eq!((rows[2].error.as_deref(), rows[2].result.as_deref()), (None, Some("attempt 2")));
    assert_eq!((&rows[0].root_fire_id, rows[1].root_fire_id.as_ref()), (&None, Some(&rows[0].fire_id)));
    assert_eq!(rows[2].root_fire_id.as_ref(), Some(&rows[0].fire_id));
    let reasons: Vec<_> = runs.lock().iter().map(|(_, attempt, reason)| (*attempt, *reason)).collect();
    assert_eq!(reasons, [(0, None), (1, Some(RerunReason::Failed)), (2, Some(RerunReason::Failed))]);
    cluster.await_quiet();
    assert!(!node.job_exists(detail.key()).unwrap());
    assert_eq!(node.store().firing().read_checkpoint(&rows[0].fire_id).unwrap(), None);
    cluster.assert_sound();
}

#[test]
fn attempts_are_counted_and_errors_decide() {
    let cluster = Cluster::new();
    let node = cluster
        .node("n1", 2)
        .job_fn("bad", |_: &mut JobContext| Err::<(), _>(JobError::new("no")))
        .job_fn("hopeless", |_: &mut JobContext| Err::<(), _>(JobError::new("never").permanent()))
        .job_fn("classy", |_: &mut JobContext| Err::<(), _>(JobError::new("full").class("disk")))
        .job_fn("asks", |_: &mut JobContext| Err::<(), _>(JobError::new("later").retry_after(Duration::from_millis(1))))
        .job_fn("ends", |_: &mut JobContext| Err::<(), _>(JobError::new("enough").unschedule_firing_trigger()))
        .build()
        .unwrap();
    node.start().unwrap();
    let quick = RetryPolicy::fixed(Duration::from_millis(1));
    for (job_type, detail, tried) in [
        ("bad", with_policy("bad", "bad", quick.clone().max_attempts(4)), 4),
        ("plain", job("plain", "bad"), 1),
        ("hopeless", with_policy("hopeless", "hopeless", quick.clone()), 1),
        ("classy", with_policy("classy", "classy", quick.clone().never_on("disk")), 1),
        ("twice", with_policy("twice", "classy", quick.clone().on_class("disk", quick.clone().max_attempts(2))), 2),
        ("asks", job("asks", "asks"), 3),
        ("ends", with_policy("ends", "ends", quick.clone()), 1),
    ] {
        store(&node, &detail);
        let rows = history(&node, &detail, tried);
        let expected: Vec<_> = (0..tried).map(|attempt| (FireOutcome::Failed, attempt as i64)).collect();
        assert_eq!(told(&rows), expected, "{job_type}");
        cluster.await_quiet();
        assert!(!node.job_exists(detail.key()).unwrap(), "{job_type}: nothing more comes");
    }
    cluster.assert_sound();
}

/// The node that failed takes no part in the next attempt.
#[test]
fn a_retry_runs_wherever_there_is_a_node() {
    let cluster = Cluster::new();
    let runs = Runs::default();
    let node = |name: &str| {
        let seen = Arc::clone(&runs);
        let fails_first = move |ctx: &mut JobContext| match note(&seen, ctx) {
            1 => Err(JobError::new("not here")),
            _ => Ok(()),
        };
        cluster.node(name, 2).job_fn("work", fails_first).build().unwrap()
    };
    let first = node("n1");
    first.start().unwrap();
    let detail = with_policy("j", "work", RetryPolicy::fixed(Duration::from_millis(300)));
    store(&first, &detail);
    assert_eq!(told(&history(&first, &detail, 1)), [(FireOutcome::Failed, 0)]);
    assert!(first.shutdown_and_wait().is_clean());
    let second = node("n2");
    second.start().unwrap();
    assert_eq!(told(&history(&second, &detail, 2)), [(FireOutcome::Failed, 0), (FireOutcome::Succeeded, 1)]);
    let nodes: Vec<String> = runs.lock().iter().map(|(node, ..)| node.clone()).collect();
    assert_eq!(nodes, ["n1", "n2"]);
    cluster.assert_sound();
}

/// PA-54, S4: the end of a node is no failure of its jobs.
#[test]
fn what_a_shutdown_interrupts_goes_on_elsewhere_at_once() {
    let cluster = Cluster::new();
    let runs = Runs::default();
    let node = |name: &'static str| {
        let seen = Arc::clone(&runs);
        let wait = move |ctx: &mut JobContext| {
            let run = note(&seen, ctx);
            if run > 1 {
                assert_eq!(ctx.resume::<String>()?.as_deref(), Some("half"));
                return Ok(Outcome::Succeeded);
            }
            ctx.checkpoint("half")?;
            while ctx.wait(Duration::from_secs(3600)) {}
            Ok(Outcome::Stopped)
        };
        // A shutdown interrupts what runs shortly before its deadline.
        let soon = "threadPool.threadCount = 2\ncarnelian.shutdown.deadline = 5s";
        cluster.node_with(name, soon).job_fn("wait", wait).build().unwrap()
    };
    let (first, second) = (node("n1"), node("n2"));
    first.start().unwrap();
    let detail = job("j", "wait").to_builder().requests_recovery(true).build().unwrap();
    store(&first, &detail);
    wait_until("it runs", LONG, || runs.lock().len() == 1);
    wait_until("its checkpoint is there", LONG, || {
        first
            .running_fires()
            .unwrap()
            .iter()
            .any(|fire| first.store().firing().read_checkpoint(&fire.fire_id).unwrap().is_some())
    });
    second.start().unwrap();
    assert!(first.shutdown_and_wait().is_clean());
    let rows = history(&second, &detail, 2);
    assert_eq!(told(&rows), [(FireOutcome::Interrupted, 0), (FireOutcome::Succeeded, 0)]);
    let runs: Vec<_> = runs.lock().clone();
    assert_eq!(runs, [("n1".to_owned(), 0, None), ("n2".to_owned(), 0, Some(RerunReason::Interrupted))]);
    assert_eq!(first.health().counters.interrupted, 1);
    cluster.await_quiet();
    cluster.assert_sound();
}

/// LT-83: all that stops a run reaches it in the same way, and the history has the reason.
#[test]
fn a_run_that_is_cancelled_is_over_and_one_that_is_done_is_done() {
    let cluster = Cluster::new();
    let node = cluster
        .node("n1", 4)
        .job_fn("obeys", |ctx: &mut JobContext| match ctx.wait(Duration::from_secs(3600)) {
            true => Ok(Outcome::Succeeded),
            false => Ok(Outcome::Stopped),
        })
        .job_fn("fails", |ctx: &mut JobContext| match ctx.wait(Duration::from_secs(3600)) {
            true => Ok(()),
            false => Err(JobError::stopped()),
        })
        .job_fn("done", |ctx: &mut JobContext| {
            ctx.wait(Duration::from_secs(3600));
            Ok(())
        })
        .job_fn("again", |ctx: &mut JobContext| {
            ctx.wait(Duration::from_secs(3600));
            Ok(Outcome::Again(Duration::ZERO))
        })
        .build()
        .unwrap();
    node.start().unwrap();
    let retry = RetryPolicy::fixed(Duration::ZERO);
    for (job_type, outcome) in [
        ("obeys", FireOutcome::Cancelled),
        ("fails", FireOutcome::Cancelled),
        ("done", FireOutcome::Succeeded),
        ("again", FireOutcome::Cancelled),
    ] {
        let detail = with_policy(job_type, job_type, retry.clone());
        store(&node, &detail);
        // The one before may not have left its worker yet.
        let runs = || node.running_here().iter().any(|run| run.job == *detail.key() && run.running_for.is_some());
        wait_until("it runs", LONG, runs);
        node.interrupt(detail.key());
        assert_eq!(told(&history(&node, &detail, 1)), [(outcome, 0)], "{job_type}");
        cluster.await_quiet();
        assert!(!node.job_exists(detail.key()).unwrap(), "{job_type}: it is over");
    }
}

#[test]
fn work_may_ask_to_go_on_later_and_a_failed_fire_is_run_again_by_hand() {
    let cluster = Cluster::new();
    let steps = |ctx: &mut JobContext| {
        let step = ctx.resume::<u32>()?.unwrap_or(0) + 1;
        ctx.checkpoint(&step)?;
        Ok(if step < 3 { Outcome::Again(Duration::from_millis(1)) } else { Outcome::Succeeded })
    };
    let told_to = |ctx: &mut JobContext| match ctx.rerun() {
        Some(Rerun { reason: RerunReason::Failed, attempt: 1, .. }) => Ok(()),
        _ => Err(JobError::new("only by hand")),
    };
    let node = cluster.node("n1", 2).job_fn("steps", steps).job_fn("told", told_to).build().unwrap();
    node.start().unwrap();
    let detail = job("steps", "steps");
    store(&node, &detail);
    assert_eq!(told(&history(&node, &detail, 3)), [(FireOutcome::Succeeded, 0); 3]);
    cluster.await_quiet();
    assert!(!node.job_exists(detail.key()).unwrap());

    let detail = job("told", "told").to_builder().durable(true).build().unwrap();
    store(&node, &detail);
    let failed = history(&node, &detail, 1).remove(0);
    assert_eq!(failed.outcome, FireOutcome::Failed);
    node.retry(&failed.fire_id).unwrap();
    let rows = history(&node, &detail, 2);
    assert_eq!(told(&rows), [(FireOutcome::Failed, 0), (FireOutcome::Succeeded, 1)]);
    assert!(node.retry(&rows[1].fire_id).is_err());
    cluster.await_quiet();
    cluster.assert_sound();
}
