//! Threads of a node that wait: for a lock of the store, for each other, for code of the
//! application. Nothing waits behind them that need not.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::listener::SchedulerListener;
use carnelian::placement::Strategy;
use carnelian::{Job, JobContext, JobDetail, JobError, JobKey, JobPolicy, Outcome, Scheduler, StuckAction};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

/// The lock of the store may be held for long. Each of six tries to give a run away waited for it,
/// and the beats of the other runs waited as well.
#[test]
fn a_run_that_is_given_away_holds_up_no_beats_of_others() {
    let cluster = Cluster::new();
    let (go, gate) = bounded::<()>(0);
    let node = cluster
        .node_with("n1", "threadPool.threadCount = 2\ncarnelian.scheduler.heartbeatInterval = 100ms")
        .job_fn("healthy", |ctx: &mut JobContext| ctx.wait(HOUR).then_some(()).map_or_else(|| ctx.check(), Ok))
        .job_fn("stuck", move |_: &mut JobContext| {
            let _ = gate.recv();
            Ok(())
        })
        .build()
        .unwrap();
    node.start().unwrap();
    let healthy = job("healthy", "healthy");
    node.schedule_job(healthy.clone(), now("healthy", &healthy)).unwrap();
    wait_until("it runs", LONG, || node.running_here().iter().any(|run| run.running_for.is_some()));
    cluster.database.refuse(Some("give up fires"));
    let policy = JobPolicy::new().stuck_after(Duration::from_millis(100), StuckAction::FailOver);
    let stuck = JobDetail::builder(JobKey::new("g", "stuck"), "stuck").policy(policy).build().unwrap();
    node.schedule_job(stuck.clone(), now("stuck", &stuck)).unwrap();
    wait_until("the other beats", LONG, || cluster.database.tries_before("give up fires", "beat").is_some());
    assert_eq!(cluster.database.tries_before("give up fires", "beat"), Some(1));
    // A run that could not be given away is found later.
    wait_until("it is given away", LONG, || node.running_fires().unwrap().len() == 1);
    cluster.database.refuse(None);
    assert_eq!(node.health().counters.failed_out, 0);
    drop(go);
    assert!(node.shutdown_now().is_clean());
    cluster.assert_sound();
}

/// A check-in of a node that takes no work gives up its parts, under a lock. The next check-in
/// waited for six tries to have it.
#[test]
fn parts_that_cannot_be_given_up_hold_up_no_check_in() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(60));
    let (begun, begins) = unbounded();
    let (go, gate) = unbounded::<()>();
    let build = |name: &str| {
        let (begun, gate) = (begun.clone(), gate.clone());
        let gated = move |_: &mut JobContext| {
            begun.send(())?;
            let _ = gate.recv();
            Ok(())
        };
        let node = cluster.node(name, 1).job_fn("gated", gated).job_fn("part", |_: &mut JobContext| Ok(()));
        let node = node.build().unwrap();
        node.start().unwrap();
        node
    };
    let first = build("n1");
    let gated = job("gated", "gated");
    first.schedule_job(gated.clone(), now("gated", &gated)).unwrap();
    begins.recv_timeout(LONG).unwrap();
    let second = build("n2");
    let policy = JobPolicy::new().strategy(Strategy::Broadcast);
    let all = JobDetail::builder(JobKey::new("g", "all"), "part").policy(policy).build().unwrap();
    second.schedule_job(all.clone(), now("all", &all)).unwrap();
    wait_until("the second has done its part", LONG, || second.health().counters.succeeded == 1);
    assert!(second.shutdown_and_wait().is_clean());

    cluster.database.refuse(Some("give up parts"));
    first.standby();
    wait_until("it checks in again", LONG, || cluster.database.tries_before("give up parts", "check in").is_some());
    assert_eq!(cluster.database.tries_before("give up parts", "check in"), Some(1));
    cluster.database.refuse(None);
    wait_until("the parts are given up", LONG, || !first.job_exists(all.key()).unwrap());
    drop(go);
    assert!(first.shutdown_and_wait().is_clean());
    cluster.assert_sound();
}

/// Likewise of a node that tells which job types it has, after one was added.
#[test]
fn types_that_cannot_be_told_hold_up_no_check_in() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(60));
    let node = cluster.node("n1", 1).build().unwrap();
    node.start().unwrap();
    cluster.database.refuse(Some("publish job types"));
    node.register_job("late", |_: &mut JobContext| -> Result<(), JobError> { Ok(()) }).unwrap();
    let tries = || cluster.database.tries_before("publish job types", "check in");
    wait_until("it checks in again", LONG, || tries().is_some());
    assert_eq!(tries(), Some(1));
    cluster.database.refuse(None);
    let job = job("j", "late");
    node.schedule_job(job.clone(), now("t", &job)).unwrap();
    wait_until("it has run", LONG, || node.health().counters.succeeded == 1);
    assert!(node.shutdown_and_wait().is_clean());
}

/// The store does not answer the node that takes back its rows, for as long as somebody holds the
/// lock. The shutdown waited for six times the longest wait for a lock, beyond its deadline.
#[test]
fn a_shutdown_waits_for_no_answer_beyond_its_deadline() {
    let cluster = Cluster::new();
    let node = cluster.node_with("n1", "threadPool.threadCount = 1\ncarnelian.shutdown.deadline = 1s").build().unwrap();
    node.start().unwrap();
    let (comes, go) = cluster.database.hold_answer_of("leave the cluster");
    let (ended, ends) = bounded(1);
    let other = node.clone();
    let ending = std::thread::spawn(move || ended.send(other.shutdown_and_wait()).unwrap());
    comes.recv_timeout(LONG).unwrap();
    let report = ends.recv_timeout(LONG);
    go.send(()).unwrap();
    ending.join().unwrap();
    let error = report.expect("it ends within its deadline").leave_error;
    assert_eq!(error.as_deref(), Some("the database did not answer in time"));
    assert!(node.instances().unwrap().is_empty(), "its rows are taken back all the same");
}

/// Several threads of a job wait. A single one of them heard that the job was to stop.
#[test]
fn all_threads_of_a_job_that_wait_hear_of_the_stop() {
    // Nobody wakes for a doubt about the lease, or a beat.
    let cluster = Cluster::with_checkin(HOUR, HOUR);
    let (waiting, heard) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, count_heard) = (Arc::clone(&waiting), Arc::clone(&heard));
    let wait = move |ctx: &mut JobContext| {
        let ctx = &*ctx;
        std::thread::scope(|threads| {
            for _ in 0..8 {
                threads.spawn(|| {
                    count.fetch_add(1, Ordering::SeqCst);
                    assert!(!ctx.wait(HOUR));
                    count_heard.fetch_add(1, Ordering::SeqCst);
                });
            }
        });
        ctx.check()
    };
    let properties = "threadPool.threadCount = 1\ncarnelian.scheduler.heartbeatInterval = 1h";
    let node = cluster.node_with("n1", properties).job_fn("wait", wait).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "wait");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    wait_until("all wait", LONG, || waiting.load(Ordering::SeqCst) == 8);
    assert_eq!(node.interrupt(detail.key()), 1);
    wait_until("all have heard", LONG, || heard.load(Ordering::SeqCst) == 8);
    wait_until("it is recorded", LONG, || node.health().counters.cancelled == 1);
    assert!(node.shutdown_and_wait().is_clean());
}

/// A job ends the scheduler, whose end waits for this job: each waited for the other until the
/// deadline.
#[test]
fn a_job_that_ends_the_scheduler_while_somebody_else_does_holds_nobody_up() {
    let cluster = Cluster::new();
    let (begun, begins) = unbounded();
    let ends = move |ctx: &mut JobContext| -> Result<(), JobError> {
        let scheduler = ctx.scheduler()?;
        begun.send(())?;
        wait_until("somebody else ends it", LONG, || scheduler.is_shut_down());
        assert!(scheduler.shutdown_now().is_clean());
        assert!(scheduler.shutdown_and_wait().is_clean());
        Ok(())
    };
    let properties = "threadPool.threadCount = 1\ncarnelian.shutdown.deadline = 5s";
    let node = cluster.node_with("n1", properties).job_fn("ends", ends).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "ends");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    begins.recv_timeout(LONG).unwrap();
    let report = node.shutdown_and_wait();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(node.health().counters.succeeded, 1);
    cluster.assert_sound();
}

/// The scheduler that is asked, once there is one.
type Asked = Arc<Mutex<Option<Arc<Scheduler>>>>;

/// Code of the application that asks the scheduler when it is dropped, and tells whether it got an
/// answer. Another thread asks, so that nobody waits for ever.
struct AsksAtItsEnd {
    scheduler: Asked,
    ask: fn(&Scheduler),
    told: Sender<bool>,
}

impl AsksAtItsEnd {
    fn new(ask: fn(&Scheduler)) -> (Self, Asked, Receiver<bool>) {
        let ((told, hears), scheduler) = (bounded(1), Asked::default());
        (Self { scheduler: Arc::clone(&scheduler), ask, told }, scheduler, hears)
    }
}

impl Drop for AsksAtItsEnd {
    fn drop(&mut self) {
        let Some(scheduler) = self.scheduler.lock().take() else { return };
        let ((asked, answered), ask) = (bounded(1), self.ask);
        std::thread::spawn(move || {
            ask(&scheduler);
            let _ = asked.send(());
        });
        let _ = self.told.send(answered.recv_timeout(Duration::from_secs(5)).is_ok());
    }
}

impl SchedulerListener for AsksAtItsEnd {
    fn name(&self) -> &str {
        "asks"
    }
}

impl Job for AsksAtItsEnd {
    fn execute(&self, _: &mut JobContext) -> Result<Outcome, JobError> {
        Ok(Outcome::Succeeded)
    }
}

/// A listener, or the code of a job, that is replaced is dropped when others can go on.
#[test]
fn code_of_the_application_is_dropped_under_no_lock() {
    let cluster = Cluster::new();
    let node = Arc::new(cluster.node("n1", 1).build().unwrap());
    let (listener, of, hears) = AsksAtItsEnd::new(|scheduler| drop(scheduler.listeners().scheduler_listener_names()));
    node.listeners().add_scheduler_listener(listener);
    *of.lock() = Some(Arc::clone(&node));
    assert!(node.listeners().remove_scheduler_listener("asks"));
    assert_eq!(hears.recv_timeout(LONG), Ok(true), "other threads tell listeners meanwhile");

    let (code, of, hears) = AsksAtItsEnd::new(|scheduler| drop(scheduler.register_job_alias("old", "asks")));
    node.register_job("asks", code).unwrap();
    *of.lock() = Some(Arc::clone(&node));
    node.register_job("asks", |_: &mut JobContext| -> Result<(), JobError> { Ok(()) }).unwrap();
    assert_eq!(hears.recv_timeout(LONG), Ok(true), "other threads look for types meanwhile");
}
