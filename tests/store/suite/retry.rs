//! Reruns: the work of a run that failed, was interrupted or asked for it goes on in a fire of its
//! own.

use super::*;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::key::RETRY_GROUP;
use carnelian::placement::Strategy;
use carnelian::recovery::RerunReason;
use carnelian::store::row::CheckpointRow;
use carnelian::store::{Completion, CompletionInstruction, CompletionOutcome, Ending, FireBundle};
use carnelian::{Continuation, JobPolicy, RetryPolicy, TriggerKey};
use std::time::Duration;

fn goes_on(bundle: &FireBundle, reason: RerunReason, delay_ms: u64) -> Completion {
    let outcome = match reason {
        RerunReason::Failed => FireOutcome::Failed,
        RerunReason::Interrupted => FireOutcome::Interrupted,
        _ => FireOutcome::Succeeded,
    };
    Completion {
        ending: Ending { outcome, ..Ending::default() },
        rerun: Some(bundle.rerun_order(reason, Duration::from_millis(delay_ms))),
        ..bundle.completion(CompletionInstruction::NoInstruction, None)
    }
}

fn failed(bundle: &FireBundle) -> Completion {
    goes_on(bundle, RerunReason::Failed, 5_000)
}

/// The triggers that wait to run work again.
fn waiting(cluster: &Cluster) -> Vec<TriggerKey> {
    let reruns = ["RETRYING_JOBS", "INTERRUPTED_JOBS", "CONTINUED_JOBS"];
    let keys = cluster.snapshot().triggers.into_iter().map(|trigger| trigger.key);
    keys.filter(|key| reruns.contains(&key.group())).collect()
}

fn history(cluster: &Cluster) -> Vec<(FireOutcome, i64)> {
    let mut rows = cluster.store.history().find(&HistoryQuery::new()).unwrap();
    rows.reverse();
    rows.into_iter().map(|row| (row.outcome, row.attempt)).collect()
}

on_each_strategy!(a_failed_run_is_tried_again_beside_its_schedule);
/// PA-08, PA-50.
fn a_failed_run_is_tried_again_beside_its_schedule() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW).priority(7).data("k", "v")]);
    let first = a.fire_one();
    assert_eq!(first.rerun, None);
    assert_eq!(a.complete_all(&[failed(&first)]), [CompletionOutcome::Recorded]);
    // The schedule goes on as if nothing had happened.
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + MINUTE)));
    let key = waiting(&cluster).pop().unwrap();
    assert_eq!(key, TriggerKey::new(RETRY_GROUP, format!("retry_{}", first.fire_id)));
    cluster.check();

    cluster.advance(4_999);
    assert!(b.acquire_with(10, |request| request.look_ahead_ms = 0).unwrap().fired.is_empty());
    cluster.advance(1);
    let second = b.acquire_with(10, |request| request.look_ahead_ms = 0).unwrap().fired.pop().unwrap();
    let rerun = second.rerun.clone().unwrap();
    assert_eq!((rerun.reason, rerun.attempt, rerun.scheduled_fire_time), (RerunReason::Failed, 1, at(NOW)));
    assert_eq!(rerun.root_fire_id.as_deref(), Some(first.fire_id.as_str()));
    assert_eq!(rerun.origin_fire_id.as_deref(), Some(first.fire_id.as_str()));
    assert_eq!(second.recovering, None);
    assert_eq!((second.trigger.priority(), second.trigger.data().text("k")), (7, Some("v")));
    assert_eq!(second.scheduled_ms, NOW + 5 * SECOND);
    // The work fails again; then it ends well.
    b.complete_all(&[failed(&second)]);
    cluster.advance(5 * SECOND);
    let third = a.acquire_with(10, |request| request.look_ahead_ms = 0).unwrap().fired.pop().unwrap();
    let rerun = third.rerun.clone().unwrap();
    assert_eq!((rerun.attempt, rerun.scheduled_fire_time), (2, at(NOW)));
    assert_eq!(rerun.root_fire_id.as_deref(), Some(first.fire_id.as_str()));
    assert_eq!(rerun.origin_fire_id.as_deref(), Some(second.fire_id.as_str()));
    a.complete(&third);
    assert_eq!(history(&cluster), [(FireOutcome::Failed, 0), (FireOutcome::Failed, 1), (FireOutcome::Succeeded, 2)]);
    assert!(waiting(&cluster).is_empty() && cluster.fires().is_empty());
    assert!(cluster.snapshot().recoveries.is_empty(), "nothing is left");
}

on_each_strategy!(a_job_that_is_not_durable_waits_for_its_retry);
fn a_job_that_is_not_durable_waits_for_its_retry() {
    for recovers in [false, true] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a").requests_recovery(recovers), [once("t", "a", NOW)]);
        let first = a.fire_one();
        a.complete_all(&[failed(&first)]);
        assert!(cluster.has_job("a") && cluster.state("t") == "-");
        cluster.advance(5 * SECOND);
        let second = a.fire_one();
        assert!(cluster.has_job("a"), "while it runs");
        a.complete(&second);
        assert!(!cluster.has_job("a"), "recovers={recovers}");
        assert!(waiting(&cluster).is_empty());
    }
}

on_each_strategy!(a_checkpoint_outlives_the_runs_that_failed);
/// The checkpoint of a chain stays until the work is done, whatever the audit finds in between.
fn a_checkpoint_outlives_the_runs_that_failed() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let first = a.fire_one();
    let root = first.fire_id.clone();
    let row = CheckpointRow { root_fire_id: root.clone(), version: 1, fence: first.fence, data: b"half".to_vec() };
    cluster.store.firing().write_checkpoint(&first.fire_id, &row).unwrap();
    let kept = || {
        cluster.store.upkeep().audit().unwrap();
        cluster.store.firing().read_checkpoint(&root).unwrap().is_some()
    };
    a.complete_all(&[Completion { checkpoint: Some(root.clone()), ..failed(&first) }]);
    assert!(kept(), "it waits");
    cluster.advance(5 * SECOND);
    let second = a.fire_one();
    assert!(kept(), "it runs");
    let row = CheckpointRow { root_fire_id: root.clone(), version: 2, fence: second.fence, data: b"more".to_vec() };
    cluster.store.firing().write_checkpoint(&second.fire_id, &row).unwrap();
    let end = second.completion(CompletionInstruction::NoInstruction, None);
    a.complete_all(&[Completion { checkpoint: Some(root.clone()), ..end }]);
    assert_eq!(cluster.store.firing().read_checkpoint(&root).unwrap(), None);
}

on_each_strategy!(a_fenced_completion_makes_no_retry);
/// PA-34: a node that lost its fire says nothing about the work any more.
fn a_fenced_completion_makes_no_retry() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    let first = a.fire_one();
    cluster.advance(WINDOW + SECOND);
    let _b = cluster.node("B");
    assert_eq!(a.complete_all(&[failed(&first)]), [CompletionOutcome::Fenced]);
    assert!(waiting(&cluster).is_empty());
    assert_eq!(cluster.recovery_triggers().len(), 1);
    assert_eq!(history(&cluster), [(FireOutcome::Lost, 0)]);
}

on_each_strategy!(a_node_may_die_between_failure_and_retry);
/// The failure and its retry are one transaction: a node that dies before it has recorded the
/// failure is recovered, one that dies after it leaves the retry to others.
fn a_node_may_die_between_failure_and_retry() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    let first = a.fire_one();
    a.complete_all(&[failed(&first)]);
    cluster.advance(WINDOW + SECOND);
    let b = cluster.node("B");
    assert!(cluster.recovery_triggers().is_empty(), "there was nothing to recover");
    let second = b.fire_one();
    assert_eq!(second.rerun.as_ref().map(|rerun| rerun.reason), Some(RerunReason::Failed));
    // This one dies in the middle of the retry: it is recovered, in the same chain.
    cluster.advance(WINDOW + SECOND);
    let c = cluster.node("C");
    let third = c.fire_one();
    let rerun = third.rerun.clone().unwrap();
    assert_eq!((rerun.reason, rerun.attempt, rerun.scheduled_fire_time), (RerunReason::Died, 2, at(NOW)));
    assert_eq!(rerun.root_fire_id.as_deref(), Some(first.fire_id.as_str()));
    assert!(third.recovering.is_some());
    cluster.advance(1);
    // And it fails after that: its retry says nothing of the recovery.
    c.complete_all(&[failed(&third)]);
    cluster.advance(5 * SECOND);
    let fourth = c.fire_one();
    assert_eq!((fourth.recovering.as_ref(), fourth.rerun.as_ref().unwrap().attempt), (None, 3));
    assert_eq!(fourth.trigger.data().iter().count(), 0);
    c.complete(&fourth);
    assert!(!cluster.has_job("a"));
    assert!(cluster.snapshot().recoveries.is_empty());
    use FireOutcome::{Failed, Lost, Succeeded};
    assert_eq!(history(&cluster), [(Failed, 0), (Lost, 1), (Failed, 2), (Succeeded, 3)]);
}

on_each_strategy!(an_interrupted_run_goes_on_at_once_with_the_same_attempt);
/// PA-54: at once, for any other, and no attempt is consumed.
fn an_interrupted_run_goes_on_at_once_with_the_same_attempt() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(lone_job("a").requests_recovery(true), [once("t", "a", NOW)]);
    let first = a.fire_one();
    cluster.advance(SECOND);
    a.complete_all(&[goes_on(&first, RerunReason::Interrupted, 0)]);
    let second = b.fire_one();
    let rerun = second.rerun.clone().unwrap();
    assert_eq!((rerun.reason, rerun.attempt), (RerunReason::Interrupted, 0));
    assert_eq!(second.scheduled_ms, NOW, "it is late, and stands for the same time");
    assert_eq!(rerun.root_fire_id.as_deref(), Some(first.fire_id.as_str()));
    b.complete(&second);
    assert_eq!(history(&cluster), [(FireOutcome::Interrupted, 0), (FireOutcome::Succeeded, 0)]);
}

on_each_strategy!(work_that_asks_for_it_goes_on_later);
fn work_that_asks_for_it_goes_on_later() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let first = a.fire_one();
    a.complete_all(&[goes_on(&first, RerunReason::Continued, 2_000)]);
    cluster.advance(2 * SECOND);
    let second = a.fire_one();
    let rerun = second.rerun.clone().unwrap();
    assert_eq!((rerun.reason, rerun.attempt), (RerunReason::Continued, 0));
    a.complete(&second);
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(a_retry_waits_while_everything_is_paused);
fn a_retry_waits_while_everything_is_paused() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let first = a.fire_one();
    cluster.store.catalogue().pause_all().unwrap();
    a.complete_all(&[failed(&first)]);
    let key = waiting(&cluster).pop().unwrap();
    assert_eq!(cluster.state_of(&key), "PAUSED");
    cluster.advance(5 * SECOND);
    cluster.store.catalogue().resume_all(true).unwrap();
    assert_eq!(a.fire_one().trigger.key(), &key);
}

on_each_strategy!(a_retry_of_a_job_that_runs_one_at_a_time_waits_its_turn);
/// The job executes elsewhere: its retry is blocked until that has ended.
fn a_retry_of_a_job_that_runs_one_at_a_time_waits_its_turn() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [once("t", "a", NOW), once("u", "a", NOW)]);
    let first = a.fire_one();
    a.complete_all(&[goes_on(&first, RerunReason::Failed, 0)]);
    // The other trigger and the retry are due: one of them runs.
    let second = a.fire_one();
    assert!(a.acquire().fired.is_empty());
    a.complete(&second);
    let third = a.fire_one();
    a.complete(&third);
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(work_whose_job_was_deleted_is_over);
fn work_whose_job_was_deleted_is_over() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let first = a.fire_one();
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    assert_eq!(a.complete_all(&[failed(&first)]), [CompletionOutcome::Recorded]);
    assert!(waiting(&cluster).is_empty());
    assert!(cluster.snapshot().recoveries.is_empty());
}

on_each_strategy!(a_fire_of_the_history_is_run_again_by_hand);
/// "Retry now".
fn a_fire_of_the_history_is_run_again_by_hand() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW).data("k", "v"), once("u", "a", NOW)]);
    let fired = a.acquire_with(10, |request| request.look_ahead_ms = 0).unwrap().fired;
    let (good, bad): (Vec<_>, Vec<_>) = fired.iter().partition(|fire| fire.trigger.key().name() == "u");
    let running = cluster.store.firing().retry_fire(&good[0].fire_id).unwrap_err().to_string();
    assert!(running.contains("still runs"), "{running}");
    a.complete(good[0]);
    let ending = Ending { outcome: FireOutcome::Failed, ..Ending::default() };
    a.complete_all(&[Completion { ending, ..bad[0].completion(CompletionInstruction::NoInstruction, None) }]);

    let key = cluster.store.firing().retry_fire(&bad[0].fire_id).unwrap();
    assert_eq!(key.group(), RETRY_GROUP);
    let twice = cluster.store.firing().retry_fire(&bad[0].fire_id).unwrap_err();
    assert!(twice.to_string().contains("run again already"), "{twice}");
    let again = a.acquire_with(10, |request| request.look_ahead_ms = 0).unwrap().fired.pop().unwrap();
    assert_eq!((again.trigger.key(), again.trigger.data().text("k")), (&key, Some("v")));
    assert_eq!(again.rerun.as_ref().map(|rerun| (rerun.attempt, rerun.scheduled_fire_time)), Some((1, at(NOW))));
    a.complete(&again);
    let refused = cluster.store.firing().retry_fire(&good[0].fire_id).unwrap_err();
    assert!(refused.to_string().contains("has succeeded"), "{refused}");
    assert!(cluster.store.firing().retry_fire("nobody").unwrap_err().is_not_found());
    // The first may be run again once more, now that its rerun has ended; not without its job.
    cluster.store.firing().retry_fire(&bad[0].fire_id).unwrap();
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    assert!(cluster.store.firing().retry_fire(&bad[0].fire_id).unwrap_err().is_not_found());
}

on_each_database!(a_retry_by_hand_has_the_data_of_the_first_attempt_or_is_refused);
/// The trigger of an attempt is gone when a person looks at it, and with it which part of the work
/// it was, or what its parent had left.
fn a_retry_by_hand_has_the_data_of_the_first_attempt_or_is_refused() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let fails = |fire: &FireBundle| {
        let ending = Ending { outcome: FireOutcome::Failed, ..Ending::default() };
        a.complete_all(&[Completion { ending, ..fire.completion(CompletionInstruction::NoInstruction, None) }]);
    };
    let policy = JobPolicy::new().retry(RetryPolicy::fixed(Duration::ZERO).max_attempts(2));
    cluster.schedule(job("a").durable(true).policy(policy), [minutely("t", "a", NOW).data("k", "v")]);
    a.complete_all(&[failed(&a.fire_one())]);
    cluster.advance(5 * SECOND);
    let second = a.fire_one();
    assert_eq!(second.trigger.key().group(), RETRY_GROUP);
    fails(&second);
    cluster.store.firing().retry_fire(&second.fire_id).unwrap();
    let by_hand = a.fire_one();
    assert_eq!(by_hand.trigger.data().text("k"), Some("v"), "the trigger of the first attempt is there");
    a.complete(&by_hand);

    let sharded = job("s").durable(true).policy(JobPolicy::new().strategy(Strategy::Sharded));
    cluster.schedule(sharded, [once("u", "s", NOW)]);
    let mut parts = a.acquire().fired;
    if parts.is_empty() {
        parts = a.acquire().fired; // the first look has spread the tick
    }
    fails(&parts[0]);
    let refused = cluster.store.firing().retry_fire(&parts[0].fire_id).unwrap_err().to_string();
    assert!(refused.contains("which part of the work it was"), "{refused}");

    cluster.schedule(job("p"), [once("v", "p", cluster.now())]);
    cluster.store.catalogue().add_job(&job("c").durable(true).build().unwrap(), false).unwrap();
    cluster.store.catalogue().follow(&Continuation::new(job_key("p"), job_key("c"))).unwrap();
    a.complete(&a.fire_one());
    let child = a.fire_one();
    fails(&child);
    let refused = cluster.store.firing().retry_fire(&child.fire_id).unwrap_err().to_string();
    assert!(refused.contains("what the job that it followed had left"), "{refused}");
}

#[cfg(feature = "test-util")]
on_each_strategy!(a_failure_whose_answer_was_lost_has_one_retry);
/// A failure whose answer was lost is recorded once, with one retry.
#[cfg(feature = "test-util")]
fn a_failure_whose_answer_was_lost_has_one_retry() {
    use carnelian::store::faults::Fault;
    for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a"), [once("t", "a", NOW)]);
        let first = a.fire_one();
        cluster.opened.database.plan().plan(1, fault);
        assert_eq!(a.complete_all(&[failed(&first)]), [CompletionOutcome::Recorded], "{fault:?}");
        assert_eq!(waiting(&cluster).len(), 1, "{fault:?}");
        assert_eq!(history(&cluster), [(FireOutcome::Failed, 0)]);
    }
}
