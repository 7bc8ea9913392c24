//! Bugs that users of Quartz reported, told again here by their numbers in its tracker.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::listener::{FireEvent, SchedulerListener, TriggerListener};
use carnelian::{
    GroupMatcher, IfExists, JobContext, JobDetail, JobKey, MisfireInstruction, Scheduler, SimpleSchedule, Trigger,
    TriggerKey, TriggerState,
};
use crossbeam_channel::{Receiver, bounded, unbounded};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn every_ms(name: &str, job: &JobDetail, ms: u64, repeats: u32) -> carnelian::TriggerBuilder {
    Trigger::builder(TriggerKey::new("g", name), job.key().clone())
        .schedule(SimpleSchedule::every(Duration::from_millis(ms)).repeat(repeats))
}

fn in_ms(cluster: &Cluster, ms: i64) -> chrono::DateTime<chrono::Utc> {
    chrono::DateTime::from_timestamp_millis(cluster.clock.wall_ms() + ms).unwrap()
}

/// A node that sends the scheduled times of its runs, and the names of their triggers.
fn noting(cluster: &Cluster, properties: &str) -> (Scheduler, Receiver<(String, i64)>) {
    let (ran, runs) = unbounded();
    let note = move |ctx: &mut JobContext| {
        Ok(ran.send((ctx.trigger().key().name().to_owned(), ctx.scheduled_fire_time().timestamp_millis()))?)
    };
    (cluster.node_with("n1", properties).job_fn("note", note).build().unwrap(), runs)
}

/// A scheduler that ended in the middle of a job that may run once at a time leaves a blocked
/// trigger and a fired row. Once the trigger has misfired as well, neither may keep the next start
/// from firing it again.
#[test]
fn a_start_after_an_end_in_mid_job_fires_again_what_was_blocked_and_has_misfired() {
    let mut cluster = Cluster::new();
    cluster.misfire_threshold = Duration::from_millis(200);
    let (begun, begins) = unbounded();
    let (_first_only, gate) = bounded::<()>(0);
    let runs = Arc::new(AtomicUsize::new(0));
    let node = || {
        let (begun, gate, runs) = (begun.clone(), gate.clone(), Arc::clone(&runs));
        let work = move |_: &mut JobContext| {
            let is_first = runs.fetch_add(1, Ordering::SeqCst) == 0;
            begun.send(())?;
            if is_first { Ok(gate.recv()?) } else { Ok(()) }
        };
        let node = cluster.node("n1", 2).job_fn("work", work).build().unwrap();
        node.start().unwrap();
        node
    };
    let first = node();
    let detail = JobDetail::builder(JobKey::new("g", "j"), "work").disallow_concurrent_execution(true).build().unwrap();
    let key = TriggerKey::new("g", "t");
    let often = every_ms("t", &detail, 50, 100_000).build().unwrap();
    first.schedule_job(detail.clone(), often).unwrap();
    begins.recv_timeout(LONG).unwrap();
    assert_eq!(first.shutdown_now().left_executing, 1);
    assert_eq!(first.trigger_state(&key).unwrap(), Some(TriggerState::Blocked));
    assert_eq!(first.running_fires().unwrap().len(), 1);
    let due = first.trigger(&key).unwrap().unwrap().next_fire_time().unwrap().timestamp_millis();
    wait_until("it has misfired", LONG, || cluster.clock.wall_ms() > due + 200);

    let second = node();
    begins.recv_timeout(LONG).unwrap();
    begins.recv_timeout(LONG).unwrap();
    assert_eq!(second.health().counters.recoveries_lost, 1, "the job asks for no recovery");
    assert!(second.shutdown_and_wait().is_clean());
    cluster.assert_sound();
}

/// QTZ-385: the end of the scheduler comes between the fire in the store and its hand-over to a
/// worker.
#[test]
fn a_shutdown_between_a_fire_and_its_worker_still_runs_it_and_leaves_nothing_to_recover() {
    for (purpose, delay_ms) in [("acquire triggers", 0), ("fire triggers", 300)] {
        let cluster = Cluster::new();
        let (node, runs) = noting(&cluster, "threadPool.threadCount = 1");
        node.start().unwrap();
        let detail = JobDetail::builder(JobKey::new("g", "j"), "note").requests_recovery(true).build().unwrap();
        let trigger =
            Trigger::builder(TriggerKey::new("g", "t"), detail.key().clone()).start_at(in_ms(&cluster, delay_ms));
        let (held, go) = cluster.database.hold_answer_of(purpose);
        node.schedule_job(detail.clone(), trigger.build().unwrap()).unwrap();
        held.recv_timeout(LONG).unwrap();
        let other = node.clone();
        let ending = std::thread::spawn(move || other.shutdown_and_wait());
        wait_until("the end has begun", LONG, || node.is_shut_down());
        assert!(runs.is_empty());
        go.send(()).unwrap();
        let report = ending.join().unwrap();
        assert!(report.is_clean(), "{purpose}: {report:?}");
        assert_eq!((runs.len(), node.running_fires().unwrap().len()), (1, 0), "{purpose}");

        let (next, runs) = noting(&cluster, "threadPool.threadCount = 1");
        next.start().unwrap();
        assert!(next.triggers(&GroupMatcher::Any).unwrap().is_empty() && runs.is_empty());
        assert_eq!(next.health().counters.recoveries_recovered, 0);
        assert!(next.shutdown_and_wait().is_clean());
        cluster.assert_sound();
    }
}

/// QTZ-179: after a restart of the database triggers stay reserved for ever.
#[test]
fn what_was_reserved_when_the_database_went_fires_once_when_it_is_back() {
    let cluster = Cluster::new();
    let (node, runs) = noting(&cluster, "threadPool.threadCount = 5");
    node.start().unwrap();
    let detail = job("j", "note");
    let start = in_ms(&cluster, 1000);
    let soon = |name: &&str| Trigger::builder(TriggerKey::new("g", *name), detail.key().clone()).start_at(start);
    let triggers = ["a", "b", "c"].iter().map(|name| soon(name).build().unwrap()).collect();
    node.schedule_jobs(vec![(detail.clone(), triggers)], IfExists::Refuse).unwrap();
    wait_until("all are reserved", LONG, || node.health().reserved == 3);
    cluster.database.turn(false);
    let acquirer = || node.health().services.into_iter().find(|service| service.name == "acquirer").unwrap();
    wait_until("their time has come in vain", LONG, || acquirer().errors_in_a_row > 0);
    cluster.database.turn(true);
    let mut ran: Vec<String> = (0..3).map(|_| runs.recv_timeout(LONG).unwrap().0).collect();
    ran.sort();
    assert_eq!(ran, ["a", "b", "c"]);
    cluster.await_quiet();
    assert!(node.triggers(&GroupMatcher::Any).unwrap().is_empty() && runs.is_empty());
    cluster.assert_sound();
}

/// QTZ-336: a change that is signalled after the look for due triggers and before the wait that
/// follows it.
#[test]
fn a_change_between_the_look_for_due_triggers_and_the_wait_is_not_missed() {
    let cluster = Cluster::new();
    // Nothing but the signal can end the wait.
    let idle = "scheduler.idleWaitTime = 86400000\ncarnelian.scheduler.pollInterval = 1d";
    let (node, runs) = noting(&cluster, idle);
    let (held, go) = cluster.database.hold_answer_of("look for due triggers");
    node.start().unwrap();
    held.recv_timeout(LONG).unwrap();
    let detail = job("j", "note");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    go.send(()).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap().0, "t");
    cluster.await_quiet();
}

/// A node that stores a due trigger takes it without a poll. If the trigger cannot be taken, the
/// time of the next poll stays.
#[test]
fn what_is_stored_and_may_not_run_hides_no_later_time() {
    let cluster = Cluster::new();
    // Nothing but that time, or a signal, can end the wait.
    let idle = "scheduler.idleWaitTime = 86400000\ncarnelian.scheduler.pollInterval = 1d";
    let (node, runs) = noting(&cluster, idle);
    node.start().unwrap();
    let detail = job("j", "note");
    let later = Trigger::builder(TriggerKey::new("g", "later"), detail.key().clone()).start_at(in_ms(&cluster, 3_500));
    node.schedule_job(detail.clone(), later.build().unwrap()).unwrap();
    node.pause_triggers(&GroupMatcher::equals("halted")).unwrap();
    for name in ["a", "b"] {
        let halted = Trigger::builder(TriggerKey::new("halted", name), detail.key().clone()).build().unwrap();
        node.schedule_trigger(halted).unwrap();
    }
    assert_eq!(runs.recv_timeout(LONG).unwrap().0, "later");
}

/// QTZ-283.
#[test]
fn a_trigger_that_ignores_misfires_runs_for_each_time_that_it_missed() {
    let mut cluster = Cluster::new();
    cluster.misfire_threshold = Duration::from_secs(1);
    let (node, runs) = noting(&cluster, "threadPool.threadCount = 3");
    let detail = job("j", "note");
    let start = in_ms(&cluster, -60_000);
    let missed = every_ms("t", &detail, 1000, 9).start_at(start).misfire(MisfireInstruction::Ignore);
    node.schedule_job(detail.clone(), missed.build().unwrap()).unwrap();
    node.start().unwrap();
    let mut ran: Vec<i64> = (0..10).map(|_| runs.recv_timeout(LONG).unwrap().1 - start.timestamp_millis()).collect();
    ran.sort_unstable();
    assert_eq!(ran, (0..10).map(|n| n * 1000).collect::<Vec<_>>());
    wait_until("it is over", LONG, || !node.trigger_exists(&TriggerKey::new("g", "t")).unwrap());
    assert!(runs.is_empty());
    cluster.await_quiet();
}

#[test]
fn of_triggers_due_at_the_same_time_the_higher_priority_runs_first() {
    let cluster = Cluster::new();
    let (node, runs) = noting(&cluster, "threadPool.threadCount = 1");
    let detail = job("j", "note");
    let start = in_ms(&cluster, 0);
    let trigger = |name: &str| Trigger::builder(TriggerKey::new("g", name), detail.key().clone()).start_at(start);
    let triggers = vec![
        trigger("low").priority(1).build().unwrap(),
        trigger("usual").build().unwrap(),
        trigger("high").priority(10).build().unwrap(),
    ];
    node.schedule_jobs(vec![(detail.clone(), triggers)], IfExists::Refuse).unwrap();
    node.start().unwrap();
    let ran: Vec<String> = (0..3).map(|_| runs.recv_timeout(LONG).unwrap().0).collect();
    assert_eq!(ran, ["high", "usual", "low"]);
    cluster.await_quiet();
}

/// QTZ-205: a veto of the last fire kept the end of the trigger from being told, or told it twice.
#[test]
fn a_trigger_ends_once_for_its_listeners_whichever_of_its_fires_is_vetoed() {
    #[derive(Clone, Default)]
    struct Recorder {
        vetoed: i64,
        ends: Arc<Mutex<Vec<TriggerKey>>>,
    }
    impl TriggerListener for Recorder {
        fn name(&self) -> &str {
            "recorder"
        }
        fn veto_job_execution(&self, fire: &FireEvent<'_>) -> bool {
            (fire.scheduled_fire_time() - fire.trigger().start_time()).num_milliseconds() == self.vetoed
        }
    }
    impl SchedulerListener for Recorder {
        fn name(&self) -> &str {
            "recorder"
        }
        fn trigger_finalized(&self, trigger: &TriggerKey) {
            self.ends.lock().push(trigger.clone());
        }
    }
    for vetoed in [0, 50, 100] {
        let cluster = Cluster::new();
        let recorder = Recorder { vetoed, ends: Arc::default() };
        let (ran, runs) = unbounded();
        let node = cluster.node("n1", 1).job_fn("note", move |_: &mut JobContext| Ok(ran.send(())?));
        let node = node.trigger_listener(recorder.clone()).scheduler_listener(recorder.clone()).build().unwrap();
        node.start().unwrap();
        let detail = job("j", "note");
        node.schedule_job(detail.clone(), every_ms("t", &detail, 50, 2).build().unwrap()).unwrap();
        wait_until("its end is told", LONG, || !recorder.ends.lock().is_empty());
        assert!(node.shutdown_and_wait().is_clean());
        assert_eq!((runs.len(), node.health().counters.vetoed), (2, 1), "vetoed at {vetoed} ms");
        assert_eq!(*recorder.ends.lock(), [TriggerKey::new("g", "t")]);
        assert!(!node.job_exists(detail.key()).unwrap());
    }
}

/// Quartz marks a map as dirty that was touched and then put back. Ours compares: what is as it was
/// is not written, and cannot overwrite what somebody else stored meanwhile.
#[test]
fn data_that_a_run_leaves_as_it_was_is_not_written_back() {
    let cluster = Cluster::new();
    let ((begun, begins), (go, gate)) = (unbounded(), bounded::<bool>(0));
    let touch = move |ctx: &mut JobContext| {
        let was = ctx.job_data().text("x").unwrap_or_default().to_owned();
        begun.send(was.clone())?;
        ctx.job_data_mut().put("x", "touched");
        ctx.job_data_mut().put("y", 1);
        if !gate.recv()? {
            ctx.job_data_mut().put("x", was);
            ctx.job_data_mut().remove("y");
        }
        Ok(())
    };
    let node = cluster.node("n1", 1).job_fn("touch", touch).build().unwrap();
    node.start().unwrap();
    let detail = |x: &str| {
        let job =
            JobDetail::builder(JobKey::new("g", "j"), "touch").persist_job_data_after_execution(true).durable(true);
        job.data("x", x).build().unwrap()
    };
    node.add_job(&detail("first"), IfExists::Refuse).unwrap();
    for (changes, after) in [(false, "stored meanwhile"), (true, "touched")] {
        node.add_job(&detail("first"), IfExists::Replace).unwrap();
        node.schedule_trigger(now("t", &detail("first"))).unwrap();
        assert_eq!(begins.recv_timeout(LONG).unwrap(), "first");
        node.add_job(&detail("stored meanwhile"), IfExists::Replace).unwrap();
        go.send(changes).unwrap();
        cluster.await_quiet();
        wait_until("its trigger has gone", LONG, || !node.trigger_exists(&TriggerKey::new("g", "t")).unwrap());
        let data = node.job(&JobKey::new("g", "j")).unwrap().unwrap();
        assert_eq!(data.data().text("x"), Some(after));
        assert_eq!(data.data().integer("y"), changes.then_some(1));
    }
    assert!(node.shutdown_and_wait().is_clean());
}
