//! The life of an execution, on every database: runs that take too long, fall silent, deadlock or
//! panic, and runs whose thread is gone. Each ends as its policy says (scenario 8 of the
//! requirements).
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

mod stopping;

use crate::support::{self, wait_until};
use carnelian::history::FireOutcome;
use carnelian::history::HistoryQuery;
use carnelian::listener::{FireEnd, FireEvent, JobListener, SchedulerListener};
use carnelian::recovery::{DeadFire, DeadFireDecision};
use carnelian::settings::Settings;
use carnelian::store::violations;
use carnelian::{
    JobContext, JobDetail, JobDetailBuilder, JobError, JobKey, JobPolicy, OnDead, Scheduler, SchedulerBuilder,
    StopReason, StuckAction, Trigger, TriggerKey,
};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TryRecvError, unbounded};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// A scheduler name on a database, and what its nodes' listeners have heard.
struct Cluster {
    url: String,
    name: String,
    recorder: Recorder,
    threads: u32,
    more: &'static str,
    _folder: Option<tempfile::TempDir>,
}

#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<Vec<(String, FireOutcome)>>>, Arc<Mutex<Vec<String>>>);

impl JobListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn job_was_executed(&self, fire: &FireEvent<'_>, end: &FireEnd) {
        self.0.lock().push((fire.job().key().name().to_owned(), end.outcome));
    }
}

impl SchedulerListener for Recorder {
    fn name(&self) -> &str {
        "recorder"
    }
    fn fire_stuck(&self, fire: &FireEvent<'_>, _: Duration) {
        self.1.lock().push(fire.job().key().name().to_owned());
    }
    fn fire_silent(&self, fire: &FireEvent<'_>, _: Duration) {
        self.1.lock().push(format!("silent {}", fire.job().key().name()));
    }
}

impl Cluster {
    fn node(&self, name: &str, more: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder) -> Scheduler {
        let text = format!(
            "scheduler.instanceName = {}\nscheduler.instanceId = {name}\nthreadPool.threadCount = {}\n\
             jobStore.class = JobStoreTX\njobStore.isClustered = true\njobStore.clusterCheckinInterval = 300\n\
             jobStore.clusterCheckinMisfireThreshold = 600\njobStore.dataSource = db\ndataSource.db.URL = {}\n\
             carnelian.scheduler.pollInterval = 50ms\ncarnelian.scheduler.heartbeatInterval = 200ms\n\
             carnelian.job.stopWait = 50ms\ncarnelian.shutdown.deadline = 10s\n{}",
            self.name, self.threads, self.url, self.more
        );
        let settings = Settings::from_text("test", &text, |_| None).unwrap();
        let builder = Scheduler::builder().settings(settings);
        let builder = builder.job_listener(self.recorder.clone()).scheduler_listener(self.recorder.clone());
        let scheduler = more(builder).build().unwrap();
        scheduler.migrate().unwrap();
        scheduler
    }

    /// A cluster with so many workers a node, and further properties.
    fn with(&self, threads: u32, more: &'static str) -> Cluster {
        Cluster {
            url: self.url.clone(),
            name: self.name.clone(),
            recorder: self.recorder.clone(),
            threads,
            more,
            _folder: None,
        }
    }

    fn outcomes(&self, job: &str) -> Vec<FireOutcome> {
        self.recorder.0.lock().iter().filter(|(name, _)| name == job).map(|(_, outcome)| *outcome).collect()
    }

    /// Asserts the outcomes of a job's fires in the history, the first fire first.
    fn assert_recorded(&self, node: &Scheduler, job: &str, expected: &[FireOutcome]) {
        let query = HistoryQuery::new().job(JobKey::named(job));
        let mut recorded = Vec::new();
        wait_until(&format!("the history says of {job} {expected:?}"), LONG, || {
            recorded = node.history(&query).unwrap().iter().rev().map(|row| row.outcome).collect();
            recorded.len() == expected.len()
        });
        assert_eq!(recorded, expected, "{job}");
    }

    fn await_outcome(&self, job: &str, outcome: FireOutcome) {
        wait_until(&format!("{job} ends as {outcome}"), LONG, || self.outcomes(job) == [outcome]);
    }
}

fn clusters() -> [Cluster; 3] {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = format!("sqlite:{}", folder.path().join("jobs.db").display());
    let cluster = |url: String, folder| Cluster {
        url,
        name: support::fresh_name("exec"),
        recorder: Recorder::default(),
        threads: 2,
        more: "",
        _folder: folder,
    };
    [cluster(sqlite, Some(folder)), cluster(support::postgres_url(), None), cluster(support::mysql_url(), None)]
}

/// Runs the story on every database, and checks the invariants after it.
fn everywhere(story: fn(&Cluster)) {
    for cluster in clusters() {
        println!("on {}", cluster.url.split(':').next().unwrap_or_default());
        story(&cluster);
        let judge = cluster.node("judge", |builder| builder);
        assert_eq!(violations(&judge.store().upkeep().snapshot().unwrap()), []);
        judge.store().database().forget_scheduler().unwrap();
    }
}

fn job(name: &str, policy: JobPolicy) -> JobDetailBuilder {
    JobDetail::builder(JobKey::named(name), name).requests_recovery(true).policy(policy)
}

fn run(scheduler: &Scheduler, job: JobDetailBuilder) {
    let job = job.build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named(job.key().name()), job.key().clone()).build().unwrap();
    scheduler.schedule_job(job, trigger).unwrap();
}

/// A job that says its fire id and whether it is a recovery, and then does `what`; only the first
/// time if `once`.
fn says(
    told: &Sender<(String, bool)>,
    what: impl Fn(&mut JobContext) -> Result<(), JobError> + Send + Sync + 'static,
) -> impl Fn(&mut JobContext) -> Result<(), JobError> + Send + Sync + 'static {
    let told = told.clone();
    move |ctx| {
        let is_recovery = ctx.recovering().is_some();
        told.send((ctx.fire_id().to_owned(), is_recovery)).unwrap();
        if is_recovery { Ok(()) } else { what(ctx) }
    }
}

fn next(told: &Receiver<(String, bool)>) -> (String, bool) {
    told.recv_timeout(LONG).expect("a run")
}

/// DS-117: a job that looks ends as timed out, and its worker is free again.
#[test]
fn a_run_that_takes_too_long_is_asked_to_stop() {
    everywhere(|cluster| {
        let node = cluster.node("a", |b| {
            b.job_fn("slow", |ctx| {
                while ctx.wait(Duration::from_millis(20)) {}
                assert_eq!(ctx.stop_reason(), Some(StopReason::TimedOut));
                ctx.check()
            })
        });
        node.start().unwrap();
        run(&node, job("slow", JobPolicy::new().timeout(Duration::from_millis(100))));
        cluster.await_outcome("slow", FireOutcome::TimedOut);
        cluster.assert_recorded(&node, "slow", &[FireOutcome::TimedOut]);
        wait_until("the worker is free", LONG, || node.health().free_workers == 2);
        assert_eq!(node.health().stray_threads, 0);
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-111, DS-117: two that wait for each other for ever; their slots are given up and others run
/// on.
#[test]
fn deadlocked_runs_are_given_up_and_recorded_as_timed_out() {
    everywhere(|cluster| {
        let (left, right) = (Arc::new(Mutex::new(())), Arc::new(Mutex::new(())));
        let (met, gate) = (Arc::new(std::sync::Barrier::new(2)), unbounded::<()>());
        let (ours, theirs) = ((Arc::clone(&left), Arc::clone(&right)), (right, left));
        let deadlock =
            |(first, second): (Arc<Mutex<()>>, Arc<Mutex<()>>), met: Arc<std::sync::Barrier>, end: Receiver<()>| {
                move |_: &mut JobContext| {
                    let _one = first.lock();
                    met.wait();
                    // As a real one would, but for the end of the test.
                    while second.try_lock_for(Duration::from_millis(50)).is_none()
                        && end.try_recv() == Err(TryRecvError::Empty)
                    {}
                    Ok(())
                }
            };
        let (end, ended) = gate;
        let node = cluster.node("a", |b| {
            b.job_fn("left", deadlock(ours, Arc::clone(&met), ended.clone()))
                .job_fn("right", deadlock(theirs, met, ended))
                .job_fn("other", |_| Ok(()))
        });
        node.start().unwrap();
        let policy = || JobPolicy::new().timeout(Duration::from_millis(100));
        run(&node, job("left", policy()));
        run(&node, job("right", policy()));
        cluster.await_outcome("left", FireOutcome::TimedOut);
        cluster.await_outcome("right", FireOutcome::TimedOut);
        cluster.assert_recorded(&node, "left", &[FireOutcome::TimedOut]);
        cluster.assert_recorded(&node, "right", &[FireOutcome::TimedOut]);
        run(&node, job("other", JobPolicy::new()));
        cluster.await_outcome("other", FireOutcome::Succeeded);
        wait_until("nothing is stored any more", LONG, || node.store().upkeep().fired_triggers().unwrap().is_empty());
        let health = node.health();
        assert_eq!((health.stray_threads, health.workers), (2, 2));
        assert_eq!(health.counters.timed_out, 2);
        drop(end);
        wait_until("the threads end", LONG, || node.health().stray_threads == 0);
        assert_eq!(cluster.outcomes("left").len(), 1, "what it does after it was given up is nobody's business");
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-112, DS-116: a run that sleeps for ever and says nothing is taken for dead, and done again
/// elsewhere.
#[test]
fn a_stuck_run_fails_over() {
    everywhere(|cluster| {
        let (told, runs) = unbounded();
        let (end, gate) = unbounded::<()>();
        let sleeper = says(&told, move |ctx| {
            ctx.progress(1, Some(10), "begun");
            let _ = gate.recv();
            Ok(())
        });
        let node = cluster.node("a", |b| b.job_fn("sleeper", sleeper));
        node.start().unwrap();
        run(&node, job("sleeper", JobPolicy::new().stuck_after(Duration::from_millis(150), StuckAction::FailOver)));
        let (first, _) = next(&runs);
        let (second, is_recovery) = next(&runs);
        assert!(is_recovery && second != first);
        assert_eq!(cluster.recorder.1.lock().as_slice(), ["sleeper"]);
        cluster.await_outcome("sleeper", FireOutcome::Succeeded);
        cluster.assert_recorded(&node, "sleeper", &[FireOutcome::Lost, FireOutcome::Succeeded]);
        assert_eq!((node.health().counters.stuck, node.health().stray_threads), (1, 1));
        drop(end);
        wait_until("the thread ends", LONG, || node.health().stray_threads == 0);
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-112: a report of progress ends the silence; without one it is only logged, by default.
#[test]
fn a_stuck_run_may_be_told_of_and_go_on() {
    everywhere(|cluster| {
        let node = cluster.node("a", |b| {
            let recorder = cluster.recorder.clone();
            b.job_fn("hesitant", move |ctx| {
                wait_until("it is called stuck", LONG, || recorder.1.lock().len() == 1);
                ctx.progress(1, None, "");
                wait_until("it is called stuck again", LONG, || recorder.1.lock().len() == 2);
                Ok(())
            })
        });
        node.start().unwrap();
        run(&node, job("hesitant", JobPolicy::new().stuck_after(Duration::from_millis(50), StuckAction::Tell)));
        cluster.await_outcome("hesitant", FireOutcome::Succeeded);
        assert_eq!(node.health().stuck_fires, 0);
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-112: a checkpoint and a sign of life are reports of progress, after which silence counts also
/// for a job without a policy.
#[test]
fn a_run_that_reports_by_checkpoints_is_called_stuck_by_default() {
    everywhere(|cluster| {
        let cluster = &cluster.with(1, "carnelian.job.stuckAfter = 50ms\n");
        let node = cluster.node("a", |b| {
            b.job_fn("steps", move |ctx| {
                ctx.checkpoint(&1)?;
                let node = ctx.scheduler()?;
                wait_until("it is called stuck", LONG, || node.health().stuck_fires == 1);
                ctx.heartbeat()?;
                Ok(())
            })
        });
        node.start().unwrap();
        run(&node, job("steps", JobPolicy::new()));
        cluster.await_outcome("steps", FireOutcome::Succeeded);
        assert_eq!(node.health().stuck_fires, 0);
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-14, DS-113: the heartbeat is bound to what the job does: without it the fire dies by the
/// ordinary rule, after as many beats as its own policy says.
#[test]
fn a_silent_run_dies_with_its_heartbeat() {
    everywhere(|cluster| {
        let cluster = &cluster.with(2, "carnelian.scheduler.missedHeartbeatLimit = 1000000\n");
        let (told, runs) = unbounded();
        let silent = says(&told, |ctx| {
            // The thread of the run is alive, and never calls its context again.
            let (fire, store) = (ctx.fire_id().to_owned(), ctx.scheduler()?.store().clone());
            wait_until("the fire is gone", LONG, || {
                store.upkeep().fired_triggers().is_ok_and(|fires| fires.iter().all(|other| other.fire_id != fire))
            });
            assert!(!ctx.holds_fire(), "it was another's before the run could know");
            assert_eq!(ctx.stop_reason(), Some(StopReason::OwnershipLost));
            Ok(())
        });
        let node = cluster.node("a", |b| b.job_fn("silent", silent));
        node.start().unwrap();
        let policy = JobPolicy::new().heartbeat_only_within(Duration::from_millis(300)).missed_heartbeat_limit(1);
        run(&node, job("silent", policy));
        let (first, _) = next(&runs);
        let (second, is_recovery) = next(&runs);
        assert!(is_recovery && second != first);
        wait_until("both have ended", LONG, || cluster.outcomes("silent").len() == 2);
        cluster.assert_recorded(&node, "silent", &[FireOutcome::Lost, FireOutcome::Succeeded]);
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-113, DS-116: calls without progress, such as a question whether to stop, or a wait, feed no
/// such heartbeat. The log warns at half the time. The worker of the run never comes back, and is
/// abandoned like any other.
#[test]
fn a_run_that_only_waits_is_silent_and_its_worker_is_given_up() {
    everywhere(|cluster| {
        let cluster = &cluster.with(1, "carnelian.shutdown.deadline = 3s\n");
        let (told, runs) = unbounded();
        let (go, gate) = unbounded::<()>();
        let idle = says(&told, move |ctx| {
            while !ctx.should_stop() {
                ctx.wait(Duration::from_millis(20));
            }
            assert_eq!(ctx.stop_reason(), Some(StopReason::OwnershipLost));
            let _ = gate.recv(); // it never ends
            Ok(())
        });
        let node = cluster.node("a", |b| b.job_fn("idle", idle));
        node.start().unwrap();
        let policy = JobPolicy::new().heartbeat_only_within(Duration::from_secs(1)).missed_heartbeat_limit(1);
        run(&node, job("idle", policy));
        let (first, _) = next(&runs);
        wait_until("its silence is told", LONG, || cluster.recorder.1.lock().contains(&"silent idle".to_owned()));
        assert!(runs.is_empty(), "it is only warned of");
        let (second, is_recovery) = next(&runs);
        assert!(is_recovery && second != first, "the only worker runs the work again");
        wait_until("the other worker has lost its place", LONG, || {
            (node.health().stray_threads, node.health().free_workers, node.health().running) == (1, 1, 0)
        });
        assert_eq!(node.health().counters.lost, 1);
        go.send(()).unwrap();
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-18, DS-113: `heartbeat`, `checkpoint` and `progress`, each alone, keep such a run alive, and
/// are seen from elsewhere. A run beside them that makes no progress tells when they would be dead.
#[test]
fn progress_of_every_kind_keeps_a_run_alive() {
    everywhere(|cluster| {
        // A machine that is busy with something else delays check-ins and heartbeats.
        let cluster = &cluster.with(4, "jobStore.clusterCheckinMisfireThreshold = 5000\n");
        let (told, runs) = unbounded();
        let (go, gate) = unbounded::<()>();
        let busy = says(&told, move |ctx| {
            while matches!(gate.recv_timeout(Duration::from_millis(50)), Err(RecvTimeoutError::Timeout)) {
                match ctx.job().key().name() {
                    "beats" => ctx.heartbeat()?,
                    "keeps" => ctx.checkpoint(&1)?,
                    // As far as before is progress too.
                    "reports" => ctx.progress(5, None, ""),
                    // A silent run that checks ends itself, shortly before others take it for dead.
                    _ => continue,
                }
                ctx.check()?;
            }
            Ok(())
        });
        let node = cluster.node("a", |b| b.job_fn("busy", busy));
        node.start().unwrap();
        let policy = JobPolicy::new().heartbeat_only_within(Duration::from_secs(2)).missed_heartbeat_limit(1);
        let names = ["beats", "keeps", "reports"];
        names.iter().for_each(|name| run(&node, job(name, policy.clone()).job_type("busy")));
        names.iter().for_each(|_| drop(next(&runs)));
        let progress = || -> usize {
            let fires = node.store().upkeep().fired_triggers().unwrap();
            fires.iter().filter(|fire| fire.heartbeat.as_ref().is_some_and(|beat| beat.progress_time.is_some())).count()
        };
        wait_until("it is stored", LONG, || progress() == 3);
        run(&node, job("silent", policy.clone()).job_type("busy"));
        let (first, _) = next(&runs);
        let (second, is_recovery) = next(&runs);
        assert!(is_recovery && second != first, "the silent run is dead: {first} {second} {is_recovery}");
        drop(go);
        for name in names {
            cluster.await_outcome(name, FireOutcome::Succeeded);
        }
        cluster.assert_recorded(&node, "silent", &[FireOutcome::Lost, FireOutcome::Succeeded]);
        assert!(runs.is_empty(), "no other run is dead");
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-110, DS-115: the thread of a worker is gone, without a panic that anybody could catch; the
/// node beats on and does not count it among the living.
#[test]
fn a_worker_whose_thread_is_gone_is_noticed() {
    everywhere(|cluster| {
        let (told, runs) = unbounded();
        let vanishing = says(&told, |_| {
            support::end_this_thread();
            Ok(())
        });
        let node = cluster.node("a", |b| b.job_fn("vanishing", vanishing).job_fn("other", |_| Ok(())));
        node.start().unwrap();
        run(&node, job("vanishing", JobPolicy::new()));
        let (first, _) = next(&runs);
        let (second, is_recovery) = next(&runs);
        assert!(is_recovery && second != first);
        cluster.await_outcome("vanishing", FireOutcome::Succeeded);
        cluster.assert_recorded(&node, "vanishing", &[FireOutcome::Lost, FireOutcome::Succeeded]);
        wait_until("another has its place", LONG, || node.health().free_workers == 2);
        assert_eq!((node.health().workers, node.health().stray_threads), (2, 0));
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// DS-34: the user's handler is asked by the node that recovers.
#[test]
fn a_handler_decides_what_becomes_of_a_dead_fire() {
    everywhere(|cluster| {
        let (told, runs) = unbounded();
        let (asked, asks) = unbounded::<DeadFire>();
        let vanishing = says(&told, |_| {
            support::end_this_thread();
            Ok(())
        });
        let node = cluster.node("a", |b| {
            b.job_fn("vanishing", vanishing).dead_fire_handler("vanishing", move |dead: &DeadFire| {
                asked.send(dead.clone()).unwrap();
                Some(DeadFireDecision::NextFire)
            })
        });
        node.start().unwrap();
        run(&node, job("vanishing", JobPolicy::new().on_dead(OnDead::Ask)));
        let (fire, _) = next(&runs);
        assert_eq!(asks.recv_timeout(LONG).unwrap().fire_id, fire);
        wait_until("its job is gone", LONG, || {
            node.store().catalogue().job(&JobKey::named("vanishing")).unwrap().is_none()
        });
        cluster.assert_recorded(&node, "vanishing", &[FireOutcome::Lost]);
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// LT-83: an order given on one node stops the run on another.
#[test]
fn a_run_is_cancelled_from_another_node() {
    everywhere(|cluster| {
        let (told, runs) = unbounded();
        let endless = says(&told, |ctx| {
            while ctx.wait(Duration::from_millis(20)) {}
            assert_eq!(ctx.stop_reason(), Some(StopReason::Cancelled));
            ctx.check()
        });
        let a = cluster.node("a", |b| b.job_fn("endless", endless));
        let b = cluster.node("b", |b| b);
        a.start().unwrap();
        b.start().unwrap();
        run(&b, job("endless", JobPolicy::new()));
        let (fire, _) = next(&runs);
        wait_until("its progress is seen", LONG, || {
            b.store().upkeep().fired_triggers().unwrap().iter().any(|fire| fire.heartbeat.is_some())
        });
        assert!(b.cancel_fire(&fire).unwrap());
        assert!(!b.cancel_fire("no such fire").unwrap());
        cluster.await_outcome("endless", FireOutcome::Cancelled);
        cluster.assert_recorded(&b, "endless", &[FireOutcome::Cancelled]);
        assert!(a.shutdown_and_wait().is_clean() && b.shutdown_and_wait().is_clean());
    });
}

/// A run that is asked to stop on its own node has an order too: should the node die, nobody does
/// the work again.
#[test]
fn an_order_on_the_own_node_is_there_for_those_who_find_it_dead() {
    everywhere(|cluster| {
        let (told, runs) = unbounded();
        let (go, gate) = unbounded::<()>();
        let deaf = says(&told, move |ctx| {
            gate.recv().unwrap();
            ctx.check()
        });
        let a = cluster.with(2, "carnelian.job.stopWait = 60s\n").node("a", |b| b.job_fn("deaf", deaf));
        a.start().unwrap();
        for by_job in [false, true] {
            run(&a, job("deaf", JobPolicy::new()));
            let (fire, _) = next(&runs);
            match by_job {
                true => assert_eq!(a.interrupt(&JobKey::named("deaf")), 1),
                false => assert!(a.cancel_fire(&fire).unwrap()),
            }
            let orders = a.store().upkeep().cancels("a").unwrap();
            assert_eq!(orders, [(fire, a.store().actor().to_owned())]);
            go.send(()).unwrap();
            wait_until("it is over", LONG, || a.running_fires().unwrap().is_empty());
        }
        cluster.assert_recorded(&a, "deaf", &[FireOutcome::Cancelled, FireOutcome::Cancelled]);
        assert!(a.shutdown_and_wait().is_clean());
    });
}

/// A panic is a failure, and nothing else suffers (T21).
#[test]
fn a_panicking_run_has_failed() {
    everywhere(|cluster| {
        let node =
            cluster.node("a", |b| b.job_fn("panicking", |_| -> Result<(), carnelian::JobError> { panic!("ouch") }));
        node.start().unwrap();
        run(&node, job("panicking", JobPolicy::new().timeout(LONG)));
        cluster.await_outcome("panicking", FireOutcome::Failed);
        cluster.assert_recorded(&node, "panicking", &[FireOutcome::Failed]);
        wait_until("the worker is free", LONG, || node.health().free_workers == 2);
        assert!(node.shutdown_and_wait().is_clean());
    });
}
