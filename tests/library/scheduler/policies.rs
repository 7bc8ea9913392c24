//! Policies of triggers whose runs meet, come late or fail, and backfills.

use crate::scheduler::fixture::{Cluster, LONG, job};
use crate::support::wait_until;
use carnelian::backfill::Backfill;
use carnelian::listener::{SchedulerListener, SkipReason, SkippedFires, TriggerListener};
use carnelian::{
    CronSchedule, JobContext, JobDetail, JobError, Overlap, Scheduler, SimpleSchedule, Trigger, TriggerBuilder,
    TriggerKey, TriggerState,
};
use chrono::{DateTime, Utc};
use crossbeam_channel::unbounded;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Writes down what is left out, and what is paused.
#[derive(Clone, Default)]
struct Recorder {
    skipped: Arc<Mutex<Vec<SkippedFires>>>,
    paused: Arc<Mutex<Vec<TriggerKey>>>,
    misfired: Arc<Mutex<Vec<TriggerKey>>>,
}

impl TriggerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn fires_skipped(&self, skipped: &SkippedFires) {
        self.skipped.lock().push(skipped.clone());
    }
    fn trigger_misfired(&self, trigger: &Trigger) {
        self.misfired.lock().push(trigger.key().clone());
    }
}

impl SchedulerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn trigger_paused(&self, trigger: &TriggerKey) {
        self.paused.lock().push(trigger.clone());
    }
}

fn key() -> TriggerKey {
    TriggerKey::new("g", "t")
}

fn every(ms: u64, detail: &JobDetail) -> TriggerBuilder {
    Trigger::builder(key(), detail.key().clone()).schedule(SimpleSchedule::every(Duration::from_millis(ms)))
}

/// The number of the job's runs that are under way, and the largest number ever.
#[derive(Default)]
struct Runs {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Runs {
    fn during<T>(&self, run: impl FnOnce() -> T) -> T {
        self.most.fetch_max(self.now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let result = run();
        self.now.fetch_sub(1, Ordering::SeqCst);
        result
    }
}

/// Two nodes fire every 20 ms what takes longer, until three runs have ended; no two meet.
fn runs_never_meet(overlap: Overlap) -> (Cluster, Vec<Scheduler>, Recorder) {
    let cluster = Cluster::new();
    let (runs, recorder) = (Arc::new(Runs::default()), Recorder::default());
    let nodes: Vec<Scheduler> = ["n1", "n2"]
        .map(|instance| {
            let runs = Arc::clone(&runs);
            let work = move |ctx: &mut JobContext| {
                runs.during(|| ctx.wait(Duration::from_millis(70)));
                Ok(())
            };
            cluster.node(instance, 4).job_fn("work", work).trigger_listener(recorder.clone()).build().unwrap()
        })
        .into();
    nodes.iter().for_each(|node| node.start().unwrap());
    let detail = job("j", "work");
    nodes[0].schedule_job(detail.clone(), every(20, &detail).overlap(overlap).build().unwrap()).unwrap();
    let ended = || nodes.iter().map(|node| node.health().counters.succeeded).sum::<u64>();
    wait_until("three runs have ended", LONG, || ended() >= 3);
    nodes[0].unschedule(&key()).unwrap();
    cluster.await_quiet();
    assert_eq!(runs.most.load(Ordering::SeqCst), 1, "{overlap:?}");
    cluster.assert_sound();
    (cluster, nodes, recorder)
}

#[test]
fn fires_that_would_meet_a_run_are_skipped_counted_and_told() {
    let (_cluster, nodes, recorder) = runs_never_meet(Overlap::Skip);
    let counted: u64 = nodes.iter().map(|node| node.health().counters.skipped).sum();
    let told = recorder.skipped.lock();
    assert!(told.iter().all(|one| one.trigger == key() && one.reason == SkipReason::Overlap));
    assert_eq!(told.iter().map(|one| one.times).sum::<u64>(), counted);
    assert!(counted >= 3, "{counted}");
}

#[test]
fn a_fire_that_waits_begins_when_the_run_before_it_has_ended() {
    let (_cluster, nodes, _) = runs_never_meet(Overlap::BufferOne);
    drop(nodes);
}

#[test]
fn a_run_is_cancelled_by_the_next_fire_of_its_trigger() {
    let cluster = Cluster::new();
    let (told, tell) = unbounded();
    let node = cluster
        .node("n1", 4)
        .job_fn("sleep", move |ctx: &mut JobContext| match ctx.wait(Duration::from_secs(3600)) {
            true => Ok(()),
            false => {
                told.send(ctx.scheduled_fire_time()).unwrap();
                Err(JobError::new("told to stop"))
            }
        })
        .build()
        .unwrap();
    node.start().unwrap();
    let detail = job("j", "sleep");
    let trigger = every(200, &detail).overlap(Overlap::CancelPrevious).pause_on_failure(true);
    node.schedule_job(detail, trigger.build().unwrap()).unwrap();
    let stopped: Vec<DateTime<Utc>> = (0..3).map(|_| tell.recv_timeout(LONG).unwrap()).collect();
    assert!(stopped.windows(2).all(|pair| pair[0] < pair[1]), "{stopped:?}");
    wait_until("they are counted", LONG, || node.health().counters.cancelled >= 3);
    assert_eq!(
        node.trigger_state(&key()).unwrap().map(|state| state == TriggerState::Paused),
        Some(false),
        "no failure"
    );
    node.unschedule(&key()).unwrap();
    // One may have been fired just before, and be on its way to a worker.
    wait_until("no run is left", LONG, || {
        node.interrupt(&carnelian::JobKey::new("g", "j"));
        cluster.store().upkeep().fired_triggers().unwrap().is_empty()
    });
    cluster.assert_sound();
}

#[test]
fn a_failed_run_pauses_its_trigger_until_somebody_resumes_it() {
    let cluster = Cluster::new();
    let recorder = Recorder::default();
    let work = |ctx: &mut JobContext| match ctx.data().text("fails") {
        Some(_) => Err(JobError::new("no such file")),
        None => Ok(()),
    };
    let node = cluster.node("n1", 2).job_fn("work", work).scheduler_listener(recorder.clone()).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "work");
    let trigger = every(3_600_000, &detail).pause_on_failure(true).data("fails", "yes");
    node.schedule_job(detail.clone(), trigger.build().unwrap()).unwrap();
    wait_until("it is paused", LONG, || node.trigger_state(&key()).unwrap() == Some(TriggerState::Paused));
    wait_until("it is told", LONG, || *recorder.paused.lock() == [key()]);
    assert_eq!((node.health().counters.failed, node.health().counters.paused_on_failure), (1, 1));
    let good = every(3_600_000, &detail).pause_on_failure(true).build().unwrap();
    node.reschedule(&key(), good).unwrap();
    wait_until("it has run", LONG, || node.health().counters.succeeded == 1);
    cluster.await_quiet();
    assert_eq!(node.trigger_state(&key()).unwrap(), Some(TriggerState::Waiting));
}

#[test]
fn what_is_too_late_is_told_as_a_misfire_and_as_left_out() {
    let cluster = Cluster::new();
    let recorder = Recorder::default();
    let node =
        cluster.node("n1", 2).job_fn("work", |_: &mut JobContext| Ok(())).trigger_listener(recorder.clone()).build();
    let node = node.unwrap();
    let detail = job("j", "work");
    // Not late enough for a misfire of Quartz.
    let start = DateTime::from_timestamp_millis(cluster.clock.wall_ms() - 30_000).unwrap();
    let late = every(3_600_000, &detail).start_at(start).catch_up_window(Duration::from_secs(10));
    node.schedule_job(detail, late.build().unwrap()).unwrap();
    node.start().unwrap();
    wait_until("it is told", LONG, || recorder.skipped.lock().len() == 1);
    wait_until("it is counted", LONG, || node.health().counters.skipped == 1);
    let left_out = recorder.skipped.lock()[0].clone();
    assert_eq!((left_out.reason, left_out.times), (SkipReason::CatchUp, 1));
    assert_eq!(*recorder.misfired.lock(), [key()]);
    let counters = node.health().counters;
    assert_eq!((counters.misfires, counters.succeeded), (1, 0));
}

#[test]
fn a_backfill_runs_for_each_time_of_the_past() {
    let cluster = Cluster::new();
    let (ran, runs) = unbounded();
    let work = move |ctx: &mut JobContext| {
        ran.send(ctx.scheduled_fire_time()).unwrap();
        Ok(())
    };
    let node = cluster.node("n1", 1).job_fn("work", work).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "work");
    let noon =
        Trigger::builder(key(), detail.key().clone()).schedule(CronSchedule::new("0 0 12 * * ? 2020-2030").unwrap());
    node.schedule_job(detail, noon.build().unwrap()).unwrap();
    let day = |text: &str| text.parse::<DateTime<Utc>>().unwrap();
    let range = Backfill::new(key(), day("2026-01-01T00:00:00Z"), day("2026-01-04T00:00:00Z"));
    assert_eq!(node.backfill(&range).unwrap().stored.len(), 3);
    let ran: Vec<_> = (0..3).map(|_| runs.recv_timeout(LONG).unwrap().to_rfc3339()).collect();
    assert_eq!(ran, ["01", "02", "03"].map(|day| format!("2026-01-{day}T12:00:00+00:00")));
    assert_eq!(node.backfill(&range).unwrap().stored.len(), 0);
    wait_until("they are counted", LONG, || node.health().counters.succeeded == 3);
    cluster.await_quiet();
}

/// The node that finds the trigger due is not the one that runs it: that one learns of it with its
/// next heartbeat.
#[test]
fn a_run_on_another_node_is_cancelled_too() {
    let cluster = Cluster::new();
    let (stopped, stops) = unbounded();
    let node = |instance: &str| {
        let stopped = stopped.clone();
        let name = instance.to_owned();
        let properties = "threadPool.threadCount = 2\ncarnelian.scheduler.heartbeatInterval = 100";
        let sleep = move |ctx: &mut JobContext| match ctx.wait(Duration::from_secs(3600)) {
            true => Ok(()),
            false => {
                stopped.send(name.clone()).unwrap();
                Err(JobError::new("told to stop"))
            }
        };
        cluster.node_with(instance, properties).job_fn("sleep", sleep).build().unwrap()
    };
    let (first, second) = (node("n1"), node("n2"));
    first.start().unwrap();
    let detail = job("j", "sleep");
    first
        .schedule_job(detail.clone(), every(1_000, &detail).overlap(Overlap::CancelPrevious).build().unwrap())
        .unwrap();
    wait_until("it runs", LONG, || first.running_here().iter().any(|run| run.running_for.is_some()));
    first.standby();
    second.start().unwrap();
    assert_eq!(stops.recv_timeout(LONG).unwrap(), "n1");
    wait_until("the next runs", LONG, || second.running_here().iter().any(|run| run.running_for.is_some()));
    second.unschedule(&key()).unwrap();
    second.interrupt(detail.key());
    cluster.await_quiet();
    cluster.assert_sound();
}
