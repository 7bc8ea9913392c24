//! Continuations with real nodes: children run after their parents, on any node, and see them
//! (LT-12, LT-81).

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::{
    Continuation, IfExists, JobContext, JobDetail, JobError, JobKey, JobPolicy, On, Parent, RetryPolicy, Scheduler,
};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The children that ran, each with its parent and the data that it was given.
type Seen = Arc<Mutex<Vec<(String, Option<Parent>, Option<String>)>>>;

fn note(seen: &Seen, ctx: &JobContext) {
    let given = ctx.data().text("given").map(str::to_owned);
    seen.lock().push((ctx.job().key().name().to_owned(), ctx.parent(), given));
}

fn durable(name: &str, job_type: &str) -> JobDetail {
    job(name, job_type).to_builder().durable(true).build().unwrap()
}

fn link(parent: &JobDetail, child: &JobDetail, on: On) -> Continuation {
    Continuation::new(parent.key().clone(), child.key().clone()).on(on)
}

/// Fires with this outcome in the history, when there are so many.
fn await_history(
    node: &Scheduler,
    job: &JobKey,
    outcome: FireOutcome,
    rows: usize,
) -> Vec<carnelian::history::HistoryRow> {
    let query = HistoryQuery::new().job(job.clone()).outcome(outcome).limit(1000);
    wait_until("the ends are recorded", LONG, || node.history(&query).is_ok_and(|found| found.len() >= rows));
    node.history(&query).unwrap()
}

/// LT-12, LT-81.
#[test]
fn children_run_when_their_parent_is_done_and_see_it() {
    let cluster = Cluster::new();
    let seen = Seen::default();
    let node = |name: &str| {
        let its = Arc::clone(&seen);
        let parent = |ctx: &mut JobContext| {
            assert_eq!(ctx.parent(), None);
            ctx.set_result("42 rows");
            Ok::<(), JobError>(())
        };
        let child = move |ctx: &mut JobContext| {
            note(&its, ctx);
            Ok::<(), JobError>(())
        };
        cluster.node(name, 2).job_fn("parent", parent).job_fn("child", child).build().unwrap()
    };
    let (n1, n2) = (node("n1"), node("n2"));
    let (parent, next, last) = (job("parent", "parent"), durable("next", "child"), durable("last", "child"));
    let alarm = durable("alarm", "child");
    for child in [&next, &last, &alarm] {
        n1.add_job(child, IfExists::Refuse).unwrap();
    }
    let trigger = carnelian::Trigger::builder(carnelian::TriggerKey::new("g", "later"), parent.key().clone());
    let trigger = trigger.start_at(chrono::DateTime::<chrono::Utc>::MAX_UTC - chrono::Duration::days(366)).build();
    n1.schedule_jobs(vec![(parent.clone(), vec![trigger.unwrap()])], IfExists::Refuse).unwrap();
    n1.follow(&link(&parent, &next, On::Success).data("given", "this")).unwrap();
    n1.follow(&link(&next, &last, On::Any)).unwrap();
    n1.follow(&link(&parent, &alarm, On::Failure)).unwrap();
    n1.start().unwrap();
    n2.start().unwrap();
    n1.trigger_job(parent.key(), carnelian::JobDataMap::new()).unwrap();
    let fire = await_history(&n1, parent.key(), FireOutcome::Succeeded, 1).pop().unwrap();
    await_history(&n1, last.key(), FireOutcome::Succeeded, 1);
    cluster.await_quiet();
    let ran = seen.lock().clone();
    let names: Vec<&str> = ran.iter().map(|(name, ..)| name.as_str()).collect();
    assert_eq!(names, ["next", "last"]);
    let its = ran[0].1.clone().unwrap();
    assert_eq!((its.fire_id, its.job, its.outcome), (fire.fire_id, parent.key().clone(), FireOutcome::Succeeded));
    assert_eq!((its.result.as_deref(), ran[0].2.as_deref()), (Some("42 rows"), Some("this")));
    let its = ran[1].1.clone().unwrap();
    assert_eq!((&its.job, its.result, ran[1].2.as_ref()), (next.key(), None, None));
    cluster.assert_sound();
}

/// Only the last attempt is followed: as a success if it is one, else as a failure.
#[test]
fn retries_are_followed_at_their_end() {
    let cluster = Cluster::new();
    let seen = Seen::default();
    let its = Arc::clone(&seen);
    let child = move |ctx: &mut JobContext| {
        note(&its, ctx);
        Ok::<(), JobError>(())
    };
    let parent = |ctx: &mut JobContext| match ctx.data().integer("fails") {
        Some(fails) if ctx.attempt() < fails => Err(JobError::new("not yet")),
        _ => Ok(()),
    };
    let node = cluster.node("n1", 2).job_fn("parent", parent).job_fn("child", child).build().unwrap();
    node.start().unwrap();
    for (name, fails, child, last) in
        [("mends", 2, "good", FireOutcome::Succeeded), ("breaks", 9, "bad", FireOutcome::Failed)]
    {
        let policy = JobPolicy::new().retry(RetryPolicy::fixed(Duration::from_millis(1)).max_attempts(3));
        let parent = durable(name, "parent").to_builder().policy(policy).data("fails", fails).build().unwrap();
        let (good, bad) = (durable("good", "child"), durable("bad", "child"));
        for job in [&parent, &good, &bad] {
            node.add_job(job, IfExists::Replace).unwrap();
        }
        node.follow(&link(&parent, &good, On::Success)).unwrap();
        node.follow(&link(&parent, &bad, On::Failure)).unwrap();
        node.trigger_job(parent.key(), carnelian::JobDataMap::new()).unwrap();
        let child = durable(child, "child");
        await_history(&node, child.key(), FireOutcome::Succeeded, 1);
        cluster.await_quiet();
        let ran = std::mem::take(&mut *seen.lock());
        assert_eq!(ran.len(), 1, "{ran:?}");
        assert_eq!(ran[0].0, child.key().name());
        let its = ran[0].1.clone().unwrap();
        let rows = await_history(&node, parent.key(), last, 1);
        let third = rows.iter().find(|row| row.attempt == 2).unwrap();
        assert_eq!((&its.fire_id, its.outcome), (&third.fire_id, last));
    }
    cluster.assert_sound();
}

/// A database that fails at every turn, two nodes, sixty parents: each child runs once for each
/// parent's end.
#[test]
fn children_follow_once_whatever_fails() {
    let cluster = Cluster::flaky();
    let seen = Seen::default();
    let nodes: Vec<Scheduler> = ["n1", "n2"]
        .into_iter()
        .map(|name| {
            let its = Arc::clone(&seen);
            let child = move |ctx: &mut JobContext| {
                note(&its, ctx);
                Ok::<(), JobError>(())
            };
            let parent = |ctx: &mut JobContext| match ctx.job().key().name().ends_with('0') {
                true => Err(JobError::new("no")),
                false => Ok(()),
            };
            cluster.node(name, 3).job_fn("parent", parent).job_fn("child", child).build().unwrap()
        })
        .collect();
    let store = nodes[0].store();
    let (good, any) = (durable("good", "child"), durable("any", "child"));
    store.catalogue().add_job(&good, false).unwrap();
    store.catalogue().add_job(&any, false).unwrap();
    let parents: Vec<JobDetail> = (0..60).map(|i| job(&format!("p{i}"), "parent")).collect();
    for parent in &parents {
        store.catalogue().add_job(&parent.to_builder().durable(true).build().unwrap(), false).unwrap();
        store.catalogue().follow(&link(parent, &good, On::Success)).unwrap();
        store.catalogue().follow(&link(parent, &any, On::Any)).unwrap();
    }
    for parent in &parents {
        store.catalogue().add_trigger(now(parent.key().name(), parent), false).unwrap();
    }
    for node in &nodes {
        node.start().unwrap();
    }
    await_history(&nodes[0], any.key(), FireOutcome::Succeeded, 60);
    await_history(&nodes[0], good.key(), FireOutcome::Succeeded, 54);
    cluster.await_quiet();
    for node in &nodes {
        node.shutdown_and_wait();
    }
    let mut runs: BTreeMap<(String, JobKey), usize> = BTreeMap::new();
    for (child, parent, _) in seen.lock().iter() {
        *runs.entry((child.clone(), parent.clone().unwrap().job)).or_default() += 1;
    }
    assert_eq!(runs.len(), 114);
    assert!(runs.values().all(|n| *n == 1), "{runs:?}");
    cluster.assert_sound();
}
