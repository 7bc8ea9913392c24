//! Stories that Quartz tells of every scheduler, on memory and on a database, and again while a
//! fifth of all operations fail.

use crate::scheduler::fixture::{Cluster, LONG, now};
use crate::support::wait_until;
use carnelian::history::HistoryQuery;
use carnelian::{
    DataValue, GroupMatcher, IfExists, JobContext, JobDataMap, JobDetail, JobDetailBuilder, JobKey, Scheduler,
    SimpleSchedule, Trigger, TriggerKey, TriggerState,
};
use crossbeam_channel::{Receiver, bounded, unbounded};
use std::time::Duration;

macro_rules! on_every_database {
    ($($story:ident),* $(,)?) => {
        mod memory {
            $(#[test] fn $story() { super::$story(super::Cluster::new()) })*
        }
        mod flaky_memory {
            $(#[test] fn $story() { super::$story(super::Cluster::flaky()) })*
        }
        #[cfg(feature = "sqlite")]
        mod sqlite {
            $(#[test] fn $story() { super::$story(super::Cluster::on_sqlite()) })*
        }
        #[cfg(feature = "sqlite")]
        mod flaky_sqlite {
            $(#[test] fn $story() { super::$story(super::Cluster::flaky_on_sqlite()) })*
        }
    };
}
on_every_database!(
    what_is_stored_can_be_found_paused_resumed_and_deleted,
    a_job_that_is_not_durable_waits_for_its_first_trigger_and_goes_with_the_last,
    a_durable_job_stays_when_its_last_trigger_has_gone,
    what_is_due_fires_at_once_whether_it_came_before_the_start_or_after,
    several_triggers_of_a_job_are_stored_in_one_call_and_each_fires,
    a_shutdown_that_waits_ends_with_the_job_and_leaves_no_thread,
    a_shutdown_that_does_not_wait_leaves_the_job_running_and_no_thread_after_it,
    a_hundred_counters_are_raised_by_every_fire,
);

/// In the year 2096.
fn much_later(name: &str, job: &JobDetail) -> Trigger {
    let start = chrono::DateTime::from_timestamp(4_000_000_000, 0).unwrap();
    Trigger::builder(TriggerKey::new("g", name), job.key().clone()).start_at(start).build().unwrap()
}

/// A node that says which triggers it ran. A fire that a lost answer left in doubt runs by a
/// recovery trigger, so the jobs of these stories ask for recovery.
fn noting(cluster: &Cluster) -> (Scheduler, Receiver<String>) {
    let (ran, runs) = unbounded();
    let note = move |ctx: &mut JobContext| {
        let trigger = ctx.recovering().map_or(ctx.trigger().key(), |recovering| &recovering.trigger);
        Ok(ran.send(trigger.name().to_owned())?)
    };
    (cluster.node("n1", 5).job_fn("note", note).build().unwrap(), runs)
}

fn job(name: &str, job_type: &str) -> JobDetail {
    builder(name, job_type).build().unwrap()
}

fn durable(name: &str) -> JobDetail {
    builder(name, "note").durable(true).build().unwrap()
}

fn builder(name: &str, job_type: &str) -> JobDetailBuilder {
    JobDetail::builder(JobKey::new("g", name), job_type).requests_recovery(true)
}

fn end(cluster: &Cluster, node: &Scheduler) {
    cluster.await_quiet();
    let report = node.shutdown_and_wait();
    assert!(report.is_clean(), "{report:?}");
    cluster.assert_sound();
}

fn what_is_stored_can_be_found_paused_resumed_and_deleted(cluster: Cluster) {
    let (node, _) = noting(&cluster);
    let (j, t) = (JobKey::new("g", "j"), TriggerKey::new("g", "t"));
    assert!(!node.job_exists(&j).unwrap() && !node.trigger_exists(&t).unwrap());
    assert_eq!((node.job(&j).unwrap(), node.trigger(&t).unwrap(), node.trigger_state(&t).unwrap()), (None, None, None));
    let detail = durable("j");
    node.add_job(&detail, IfExists::Refuse).unwrap();
    assert!(node.job_exists(&j).unwrap() && !node.trigger_exists(&t).unwrap());
    node.schedule_trigger(much_later("t", &detail)).unwrap();
    assert_eq!((node.job(&j).unwrap(), node.trigger(&t).unwrap().unwrap().job_key()), (Some(detail.clone()), &j));
    assert_eq!(node.trigger_state(&t).unwrap(), Some(TriggerState::Waiting));

    let other = JobDetail::builder(JobKey::new("h", "j"), "note").build().unwrap();
    let in_h = |name: &str| {
        let key = TriggerKey::new("h", name);
        Trigger::builder(key, other.key().clone()).start_at(much_later("t", &detail).start_time()).build().unwrap()
    };
    node.schedule_jobs(vec![(other.clone(), vec![in_h("t"), in_h("u")])], IfExists::Refuse).unwrap();
    assert_eq!(node.job_groups().unwrap(), ["g", "h"]);
    assert_eq!(node.trigger_groups().unwrap(), ["g", "h"]);
    assert_eq!(node.jobs(&GroupMatcher::equals("g")).unwrap().len(), 1);
    assert_eq!(node.triggers(&GroupMatcher::equals("h")).unwrap().len(), 2);
    assert_eq!(node.triggers_of_job(other.key()).unwrap().len(), 2);

    node.pause_trigger(&TriggerKey::new("h", "t")).unwrap();
    node.pause_triggers(&GroupMatcher::equals("h")).unwrap();
    assert_eq!(node.paused_trigger_groups().unwrap(), ["h"]);
    node.schedule_trigger({
        let key = TriggerKey::new("h", "v");
        Trigger::builder(key, j.clone()).start_at(much_later("t", &detail).start_time()).build().unwrap()
    })
    .unwrap();
    let state = |name: &str| node.trigger_state(&TriggerKey::new("h", name)).unwrap().unwrap();
    assert_eq!(["t", "u", "v"].map(state), [TriggerState::Paused; 3]);
    node.resume_triggers(&GroupMatcher::equals("h")).unwrap();
    assert_eq!(["t", "u", "v"].map(state), [TriggerState::Waiting; 3]);
    assert!(node.paused_trigger_groups().unwrap().is_empty());

    assert!(!node.unschedule(&TriggerKey::new("h", "nobody")).unwrap());
    assert!(node.unschedule(&TriggerKey::new("h", "v")).unwrap());
    assert!(node.delete_job(&j).unwrap() && !node.delete_job(&j).unwrap());
    assert!(!node.trigger_exists(&t).unwrap());
    node.clear().unwrap();
    assert!(node.jobs(&GroupMatcher::Any).unwrap().is_empty() && node.triggers(&GroupMatcher::Any).unwrap().is_empty());
    end(&cluster, &node);
}

fn a_job_that_is_not_durable_waits_for_its_first_trigger_and_goes_with_the_last(cluster: Cluster) {
    let (node, _) = noting(&cluster);
    node.start().unwrap();
    let detail = job("j", "note");
    assert!(node.add_job(&detail, IfExists::Refuse).is_err());
    node.add_job_awaiting_trigger(&detail, IfExists::Refuse).unwrap();
    assert!(node.job_exists(detail.key()).unwrap());
    assert_eq!((node.job_groups().unwrap(), node.trigger_groups().unwrap()), (vec!["g".to_owned()], Vec::new()));
    node.schedule_trigger(now("t", &detail)).unwrap();
    wait_until("it went with its trigger", LONG, || !node.job_exists(detail.key()).unwrap());
    let keys = ["a", "b"].map(|name| TriggerKey::new("g", name));
    let later = ["a", "b"].iter().map(|name| much_later(name, &detail)).collect();
    node.schedule_jobs(vec![(detail.clone(), later)], IfExists::Refuse).unwrap();
    assert_eq!(node.unschedule_all(&keys).unwrap(), 2);
    assert!(!node.job_exists(detail.key()).unwrap());
    end(&cluster, &node);
}

fn a_durable_job_stays_when_its_last_trigger_has_gone(cluster: Cluster) {
    let (node, runs) = noting(&cluster);
    node.start().unwrap();
    let detail = durable("j");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), "t");
    wait_until("its trigger has gone", LONG, || !node.trigger_exists(&TriggerKey::new("g", "t")).unwrap());
    cluster.await_quiet();
    assert_eq!(node.job(detail.key()).unwrap(), Some(detail.clone()));
    assert!(node.delete_job(detail.key()).unwrap());
    end(&cluster, &node);
}

fn what_is_due_fires_at_once_whether_it_came_before_the_start_or_after(cluster: Cluster) {
    let (node, runs) = noting(&cluster);
    let detail = durable("j");
    node.add_job(&detail, IfExists::Refuse).unwrap();
    node.schedule_trigger(now("stored before", &detail)).unwrap();
    let triggered = node.trigger_job(detail.key(), JobDataMap::new()).unwrap();
    assert!(runs.try_recv().is_err(), "nothing fires before the start");
    node.start().unwrap();
    let mut ran = [runs.recv_timeout(LONG).unwrap(), runs.recv_timeout(LONG).unwrap()];
    ran.sort_by_key(|name| name.starts_with("MT_"));
    assert_eq!(ran, ["stored before", triggered.name()]);
    node.schedule_trigger(now("stored after", &detail)).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), "stored after");
    let triggered = node.trigger_job(detail.key(), JobDataMap::new()).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap(), triggered.name());
    end(&cluster, &node);
}

fn several_triggers_of_a_job_are_stored_in_one_call_and_each_fires(cluster: Cluster) {
    let (node, runs) = noting(&cluster);
    node.start().unwrap();
    let detail = job("j", "note");
    let stored = node
        .schedule_jobs(vec![(detail.clone(), vec![now("a", &detail), now("b", &detail)])], IfExists::Refuse)
        .unwrap();
    assert!(stored.len() == 2 && stored.iter().all(|trigger| trigger.next_fire_time().is_some()));
    let mut ran = [runs.recv_timeout(LONG).unwrap(), runs.recv_timeout(LONG).unwrap()];
    ran.sort();
    assert_eq!(ran, ["a", "b"]);
    end(&cluster, &node);
}

/// The names of the threads of this process that a scheduler has started.
#[cfg(target_os = "linux")]
fn threads(cluster: &Cluster) -> Vec<String> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok());
    names.filter(|name| name.starts_with(&cluster.name)).collect()
}

#[cfg(not(target_os = "linux"))]
fn threads(_: &Cluster) -> Vec<String> {
    Vec::new()
}

/// A node that runs a job which ends when it is told to.
fn with_a_job_at_work(cluster: &Cluster) -> (Scheduler, crossbeam_channel::Sender<()>) {
    let (begun, begins) = unbounded();
    let (go, gate) = bounded::<()>(0);
    let gated = move |_: &mut JobContext| {
        begun.send(())?;
        Ok(gate.recv()?)
    };
    let node = cluster.node("n1", 3).job_fn("gated", gated).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "gated");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    begins.recv_timeout(LONG).unwrap();
    if cfg!(target_os = "linux") {
        // A thread is named when it first runs.
        wait_until("three workers and eleven services have their names", LONG, || threads(cluster).len() == 3 + 11);
    }
    (node, go)
}

fn a_shutdown_that_waits_ends_with_the_job_and_leaves_no_thread(cluster: Cluster) {
    let (node, go) = with_a_job_at_work(&cluster);
    let other = node.clone();
    let letting_go = std::thread::spawn(move || {
        wait_until("the acquirer has ended", LONG, || {
            other.health().services[0].state == carnelian::monitoring::ServiceState::Stopped
        });
        assert_eq!(other.health().running, 1);
        go.send(()).unwrap();
    });
    // In this thread, which the dice spare: in another all tries to leave the cluster may fail.
    let report = node.shutdown_and_wait();
    letting_go.join().unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(node.health().counters.succeeded, 1);
    wait_until("no thread is left", LONG, || threads(&cluster).is_empty());
    cluster.await_quiet();
    cluster.assert_sound();
}

fn a_shutdown_that_does_not_wait_leaves_the_job_running_and_no_thread_after_it(cluster: Cluster) {
    let (node, go) = with_a_job_at_work(&cluster);
    let report = node.shutdown_now();
    assert_eq!((report.abandoned_jobs.len(), report.left_executing), (1, 1), "{report:?}");
    assert_eq!(node.health().counters.succeeded, 0);
    assert_eq!(node.running_fires().unwrap().len(), 1, "whoever comes next recovers it");
    go.send(()).unwrap();
    wait_until("no thread is left", LONG, || threads(&cluster).is_empty());
}

/// Quartz asks that each counter ends at five or more: at least once. Ours counts each due time
/// once, since what a lost answer leaves in doubt is looked up.
fn a_hundred_counters_are_raised_by_every_fire(cluster: Cluster) {
    const JOBS: usize = 100;
    const FIRES: i64 = 5;
    let (ran, runs) = unbounded();
    let count = move |ctx: &mut JobContext| {
        let n = ctx.job_data().integer("n").unwrap_or(0);
        ctx.job_data_mut().put("n", DataValue::Long(n + 1));
        Ok(ran.send((ctx.job().key().clone(), n, ctx.attempt(), ctx.fire_id().to_owned()))?)
    };
    let node = cluster.node("n1", 8).job_fn("count", count).build().unwrap();
    let details: Vec<JobDetail> = (0..JOBS)
        .map(|n| {
            builder(&format!("j{n}"), "count")
                .persist_job_data_after_execution(true)
                .disallow_concurrent_execution(true)
                .durable(true)
                .build()
                .unwrap()
        })
        .collect();
    for (n, detail) in details.iter().enumerate() {
        let often = SimpleSchedule::every(Duration::from_millis(100)).repeat(FIRES as u32 - 1);
        let trigger = Trigger::builder(TriggerKey::new("g", format!("t{n}")), detail.key().clone()).schedule(often);
        node.schedule_job(detail.clone(), trigger.build().unwrap()).unwrap();
    }
    node.start().unwrap();
    wait_until("every trigger has fired for the last time", 4 * LONG, || {
        node.triggers(&GroupMatcher::Any).unwrap().is_empty()
    });
    cluster.await_quiet();
    let runs: Vec<_> = runs.try_iter().collect();
    for detail in &details {
        let counted = node.job(detail.key()).unwrap().unwrap().data().integer("n").unwrap();
        let own: Vec<_> = runs.iter().filter(|run| run.0 == *detail.key()).collect();
        let rows = || node.history(&HistoryQuery::new().job(detail.key().clone()));
        assert_eq!((counted, own.len()), (FIRES, FIRES as usize), "{own:?}: {:#?}", rows());
    }
    println!(
        "{} of {} runs stood for a fire whose beginning was not known",
        runs.iter().filter(|(_, _, attempt, _)| *attempt > 0).count(),
        runs.len()
    );
    end(&cluster, &node);
}
