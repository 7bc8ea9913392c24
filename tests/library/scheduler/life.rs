//! The life of a node: start, standby, shutdown.

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::listener::{FireEvent, SchedulerListener};
use carnelian::{
    Error, GroupMatcher, IfExists, JobContext, JobDetail, JobKey, KeyMatcher, Scheduler, Trigger, TriggerKey,
    TriggerState,
};
use crossbeam_channel::{bounded, unbounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Others would take its row for a member that takes work, until its window is over.
#[test]
fn a_start_that_fails_after_it_has_registered_leaves_no_row() {
    let cluster = Cluster::new();
    let node = cluster.node("n1", 1).job_fn("none", |_: &mut JobContext| Ok(())).build().unwrap();
    cluster.database.refuse(Some("look at the cluster"));
    assert!(node.start().unwrap_err().is_transient());
    cluster.database.refuse(None);
    assert!(node.instances().unwrap().is_empty());
    node.start().unwrap();
    assert!(node.shutdown_and_wait().is_clean());
}

#[test]
fn a_start_whose_check_in_fails_says_so_and_starts_nothing() {
    let cluster = Cluster::new();
    let node = cluster.node("n1", 1).job_fn("none", |_: &mut JobContext| Ok(())).build().unwrap();
    cluster.database.turn(false);
    assert!(node.start().unwrap_err().is_transient());
    assert!(!node.is_started());
    cluster.database.turn(true);
    assert!(node.instances().unwrap().is_empty());
    node.start().unwrap();
    assert!(node.is_started() && !node.is_in_standby());
    assert_eq!(node.instances().unwrap().len(), 1);
    assert!(node.shutdown_and_wait().is_clean());
    assert!(node.instances().unwrap().is_empty());
    assert!(matches!(node.start(), Err(Error::ShutDown(_))));
    assert!(matches!(node.pause_all(), Err(Error::ShutDown(_))));
}

#[test]
fn a_shutdown_waits_for_jobs_and_can_be_repeated() {
    let cluster = Cluster::new();
    let (begun, begins) = unbounded();
    let (go, gate) = bounded::<()>(0);
    let node = cluster
        .node("n1", 2)
        .job_fn("gated", move |ctx: &mut JobContext| {
            begun.send(())?;
            gate.recv()?;
            // LT-89: it is waited for, so it is told nothing and goes on, as in Quartz.
            assert!(!ctx.should_stop() && !ctx.is_interrupted() && ctx.holds_fire());
            Ok(())
        })
        .build()
        .unwrap();
    node.start().unwrap();
    let detail = job("j", "gated");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    begins.recv_timeout(LONG).unwrap();
    let other = node.clone();
    let ending = std::thread::spawn(move || other.shutdown_and_wait());
    wait_until("the shutdown has begun", LONG, || {
        node.is_shut_down() && node.health().services[0].state == carnelian::monitoring::ServiceState::Stopped
    });
    // The job is still its own while the node waits for it.
    assert_eq!(node.running_here().len(), 1);
    go.send(()).unwrap();
    let report = ending.join().unwrap();
    assert!(report.is_clean(), "{report:?}");
    assert_eq!(node.shutdown_now(), report);
    assert_eq!(node.health().counters.succeeded, 1);
    assert!(node.running_fires().unwrap().is_empty());
    cluster.assert_sound();
}

/// H23: a shutdown of a peer waits for its scheduler thread, which waits for a free worker: a full
/// pool never stops.
#[test]
fn a_job_that_never_ends_is_left_behind_at_the_deadline_and_its_fire_to_others() {
    let cluster = Cluster::new();
    let (begun, begins) = unbounded();
    let (_go, gate) = bounded::<()>(0);
    let node = cluster
        .node_with("n1", "threadPool.threadCount = 1\ncarnelian.shutdown.deadline = 400ms")
        .job_fn("stubborn", move |_: &mut JobContext| {
            begun.send(())?;
            Ok(gate.recv()?)
        })
        .build()
        .unwrap();
    node.start().unwrap();
    let detail = job("j", "stubborn");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    begins.recv_timeout(LONG).unwrap();
    let before = cluster.clock.ticks();
    let report = node.shutdown_and_wait();
    let took = cluster.clock.ticks() - before;
    assert!(took < Duration::from_secs(5), "{took:?}");
    assert_eq!((report.abandoned_jobs.len(), report.left_executing), (1, 1), "{report:?}");
    assert!(report.overran.is_empty() && report.leave_error.is_none(), "{report:?}");
    // The row stays as long as a fire of it does, so that peers can take over.
    assert_eq!(node.instances().unwrap().len(), 1);
}

#[test]
fn a_shutdown_interrupts_jobs_if_the_settings_say_so() {
    let cluster = Cluster::new();
    let properties = "threadPool.threadCount = 1\nscheduler.interruptJobsOnShutdownWithWait = true";
    let node = cluster
        .node_with("n1", properties)
        .job_fn("sleep", |ctx: &mut JobContext| {
            let _ = ctx.wait(Duration::from_secs(3600));
            assert!(ctx.is_interrupted());
            Ok(())
        })
        .build()
        .unwrap();
    node.start().unwrap();
    let detail = job("j", "sleep");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    wait_until("it runs", LONG, || node.running_here().iter().any(|run| run.running_for.is_some()));
    assert!(node.shutdown_and_wait().is_clean());
    assert_eq!(node.health().counters.succeeded, 1);
}

/// A node with a job that recovers and runs until it is told to stop.
fn with_one_that_looks(cluster: &Cluster, properties: &str) -> Scheduler {
    let looks = |ctx: &mut JobContext| {
        while ctx.wait(Duration::from_secs(3600)) {}
        ctx.check()
    };
    let node = cluster.node_with("n1", properties).job_fn("looks", looks).build().unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(JobKey::new("g", "j"), "looks").requests_recovery(true).build().unwrap();
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    wait_until("it runs", LONG, || node.running_here().iter().any(|run| run.running_for.is_some()));
    node
}

/// Asserts that the run is recorded as interrupted, and that its work waits for another node.
fn assert_interrupted(cluster: &Cluster, node: &Scheduler) {
    assert_eq!((node.health().counters.interrupted, node.health().counters.succeeded), (1, 0));
    assert!(node.running_fires().unwrap().is_empty());
    assert_eq!(node.triggers_of_job(&JobKey::new("g", "j")).unwrap().len(), 1, "its work goes on elsewhere");
    cluster.assert_sound();
}

/// LT-89: a job that looks stops at a shutdown that does not wait for it, and its end is recorded.
#[test]
fn a_shutdown_that_does_not_wait_stops_the_jobs_that_look() {
    let cluster = Cluster::new();
    let node = with_one_that_looks(&cluster, "threadPool.threadCount = 1");
    let report = node.shutdown_now();
    assert!(report.is_clean(), "{report:?}");
    assert_interrupted(&cluster, &node);
}

/// LT-89, LT-90: with `interruptJobsOnShutdown` those that do not look are asked again and given
/// up, and their work goes on.
#[test]
fn a_shutdown_that_interrupts_gives_up_the_jobs_that_do_not_look() {
    let cluster = Cluster::new();
    let (begun, begins) = unbounded();
    let (go, gate) = bounded::<()>(0);
    let properties = "threadPool.threadCount = 1\nscheduler.interruptJobsOnShutdown = true\n\
                      carnelian.shutdown.stopAttempts = 2\ncarnelian.shutdown.stopWait = 50ms";
    let stubborn = move |_: &mut JobContext| {
        begun.send(())?;
        Ok(gate.recv()?)
    };
    let node = cluster.node_with("n1", properties).job_fn("stubborn", stubborn).build().unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(JobKey::new("g", "j"), "stubborn").requests_recovery(true).build().unwrap();
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    begins.recv_timeout(LONG).unwrap();
    let report = node.shutdown_now();
    assert_eq!((report.abandoned_jobs.len(), report.left_executing), (0, 0), "{report:?}");
    assert_interrupted(&cluster, &node);
    go.send(()).unwrap();
}

/// LT-89: who waits for a job does not wait for ever; when the time is over it is told, and may
/// still record how far it came.
#[test]
fn a_job_that_is_waited_for_is_told_when_the_time_is_over() {
    let cluster = Cluster::new();
    let node = with_one_that_looks(&cluster, "threadPool.threadCount = 1\ncarnelian.shutdown.deadline = 4s");
    let report = node.shutdown_and_wait();
    assert!(report.is_clean(), "{report:?}");
    assert_interrupted(&cluster, &node);
}

#[test]
fn standby_gives_reservations_back_and_start_resumes() {
    let cluster = Cluster::new();
    let (ran, runs) = unbounded();
    let node = cluster.node("n1", 2).job_fn("note", move |_: &mut JobContext| Ok(ran.send(())?)).build().unwrap();
    node.start().unwrap();
    let detail = job("j", "note");
    let start = cluster.clock.wall_time() + chrono::TimeDelta::milliseconds(1500);
    let key = TriggerKey::new("g", "soon");
    let soon = Trigger::builder(key.clone(), detail.key().clone()).start_at(start).build().unwrap();
    node.schedule_job(detail, soon).unwrap();
    wait_until("it is reserved", LONG, || node.trigger_state(&key).unwrap() == Some(TriggerState::Acquired));
    node.standby();
    wait_until("it is given back", LONG, || node.trigger_state(&key).unwrap() == Some(TriggerState::Waiting));
    assert!(node.is_started() && node.is_in_standby() && !node.health().is_firing);
    cluster.assert_sound();
    node.start().unwrap();
    runs.recv_timeout(LONG).unwrap();
    // Reserved triggers go back at a shutdown as well.
    let detail = job("k", "note");
    let start = cluster.clock.wall_time() + chrono::TimeDelta::milliseconds(1500);
    let later = Trigger::builder(key.clone(), detail.key().clone()).start_at(start).build().unwrap();
    wait_until("the first is recorded", LONG, || !node.trigger_exists(&key).unwrap());
    node.schedule_job(detail, later).unwrap();
    wait_until("it is reserved", LONG, || node.trigger_state(&key).unwrap() == Some(TriggerState::Acquired));
    assert!(node.shutdown_and_wait().is_clean());
    assert_eq!(node.trigger_state(&key).unwrap(), Some(TriggerState::Waiting));
    cluster.assert_sound();
}

/// With a backlog, ends of fires go along with the next acquisition. In standby there is none: they
/// waited for it for ever.
#[test]
fn what_ends_after_a_standby_in_the_middle_of_a_backlog_is_recorded() {
    let cluster = Cluster::new();
    let stop = |ctx: &mut JobContext| -> Result<(), carnelian::JobError> {
        ctx.scheduler()?.standby();
        Ok(())
    };
    let node = cluster.node("n1", 2).job_fn("stop", stop).build().unwrap();
    let detail = job("j", "stop");
    let triggers = ["a", "b", "c", "d", "e", "f"].map(|name| now(name, &detail));
    node.schedule_jobs(vec![(detail.clone(), triggers.into())], IfExists::Refuse).unwrap();
    node.start().unwrap();
    wait_until("it is in standby", LONG, || node.is_in_standby());
    wait_until("all ends are recorded", LONG, || {
        let health = node.health();
        health.unrecorded == 0
            && health.counters.succeeded > 0
            && node.store().upkeep().fired_triggers().unwrap().is_empty()
    });
    cluster.assert_sound();
    assert!(node.shutdown_and_wait().is_clean());
}

#[test]
fn a_delayed_start_happens_unless_the_scheduler_is_gone() {
    let cluster = Cluster::new();
    let node = cluster.node("n1", 1).build().unwrap();
    node.start_delayed(Duration::from_millis(20)).unwrap();
    wait_until("it has started", LONG, || node.is_started());
    let gone = cluster.node("n2", 1).build().unwrap();
    gone.start_delayed(Duration::from_secs(3600)).unwrap();
    assert!(gone.shutdown_and_wait().is_clean());
    assert!(!gone.is_started());
}

#[test]
fn dropping_the_last_handle_shuts_down() {
    let cluster = Cluster::new();
    let node = cluster.node("n1", 3).build().unwrap();
    node.start().unwrap();
    let second = node.clone();
    drop(node);
    assert!(second.is_started());
    assert_eq!(second.instances().unwrap().len(), 1);
    drop(second);
    assert!(cluster.store().upkeep().instances().unwrap().is_empty());
}

#[test]
fn a_scheduler_that_was_never_started_stores_and_shuts_down() {
    struct Curious;
    impl SchedulerListener for Curious {
        fn name(&self) -> &str {
            "curious"
        }
    }
    let cluster = Cluster::new();
    let node = cluster.node("n1", 1).scheduler_listener(Curious).build().unwrap();
    let detail = job("j", "nobody knows");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    assert_eq!(node.triggers(&GroupMatcher::Any).unwrap().len(), 1);
    assert!(node.shutdown_and_wait().is_clean());
}

#[test]
fn a_listener_may_ask_the_scheduler_about_itself() {
    #[derive(Clone, Default)]
    struct Asks(Arc<parking_lot::Mutex<Option<carnelian::Scheduler>>>, Arc<parking_lot::Mutex<Vec<bool>>>);
    impl SchedulerListener for Asks {
        fn name(&self) -> &str {
            "asks"
        }
        fn scheduler_starting(&self) {
            self.ask();
        }
        fn scheduler_started(&self) {
            self.ask();
        }
        fn scheduler_shutting_down(&self) {
            self.ask();
        }
    }
    impl Asks {
        fn ask(&self) {
            if let Some(scheduler) = &*self.0.lock() {
                let _ = scheduler.health();
                self.1.lock().push(scheduler.is_started());
            }
        }
    }
    let cluster = Cluster::new();
    let asks = Asks::default();
    let node = cluster.node("n1", 1).scheduler_listener(asks.clone()).build().unwrap();
    *asks.0.lock() = Some(node.clone());
    node.start().unwrap();
    assert!(node.shutdown_and_wait().is_clean());
    assert_eq!(*asks.1.lock(), [false, true, false]);
    asks.0.lock().take();
}

/// One function that stops everything, called for each of two events: it does not wait for itself.
#[test]
fn a_listener_that_is_told_of_the_end_may_end_the_scheduler() {
    #[derive(Clone, Default)]
    struct Ends(Arc<parking_lot::Mutex<Option<carnelian::Scheduler>>>, Arc<AtomicUsize>);
    impl SchedulerListener for Ends {
        fn name(&self) -> &str {
            "ends"
        }
        fn scheduler_shutting_down(&self) {
            self.end();
        }
        fn scheduler_shutdown(&self) {
            self.end();
        }
    }
    impl Ends {
        fn end(&self) {
            let scheduler = self.0.lock().clone().unwrap();
            assert!(scheduler.shutdown_now().is_clean());
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }
    let cluster = Cluster::new();
    let ends = Ends::default();
    let node = cluster.node("n1", 1).scheduler_listener(ends.clone()).build().unwrap();
    *ends.0.lock() = Some(node.clone());
    node.start().unwrap();
    assert!(node.shutdown_and_wait().is_clean());
    assert_eq!(ends.1.load(Ordering::SeqCst), 2);
    ends.0.lock().take();
}

/// Hears fires, and takes itself away with the first.
#[derive(Clone)]
struct Once {
    heard: crossbeam_channel::Sender<String>,
    of: Arc<std::sync::OnceLock<std::sync::Weak<Scheduler>>>,
}

impl carnelian::listener::JobListener for Once {
    fn name(&self) -> &str {
        "once"
    }

    fn job_to_be_executed(&self, fire: &FireEvent<'_>) {
        if let Some(scheduler) = self.of.get().and_then(std::sync::Weak::upgrade) {
            assert!(scheduler.listeners().remove_job_listener("once"));
        }
        let _ = self.heard.send(fire.job().key().name().to_owned());
    }
}

#[test]
fn listeners_come_and_go_while_the_scheduler_runs() {
    let cluster = Cluster::new();
    let (heard, hears) = unbounded();
    let scheduler = Arc::new(cluster.node("n1", 1).job_fn("note", |_: &mut JobContext| Ok(())).build().unwrap());
    scheduler.start().unwrap();
    let run = |name: &str| {
        let before = scheduler.health().counters.succeeded;
        let detail = job(name, "note");
        scheduler.schedule_job(detail.clone(), now(name, &detail)).unwrap();
        wait_until("it has run", LONG, || scheduler.health().counters.succeeded > before);
    };
    run("unheard");
    let listener = Once { heard, of: Arc::default() };
    let listeners = scheduler.listeners();
    listeners.add_job_listener(KeyMatcher::name(GroupMatcher::equals("other")), listener.clone());
    run("not meant");
    assert!(listeners.set_job_listener_matcher("once", JobKey::new("g", "meant")));
    assert_eq!(listeners.job_listener_matcher("once"), Some(KeyMatcher::key("g", "meant")));
    run("still not");
    run("meant");
    assert_eq!(hears.try_iter().collect::<Vec<_>>(), ["meant"]);
    // A name that is taken: the new one takes the place.
    listeners.add_job_listener(KeyMatcher::Everything, listener.clone());
    assert_eq!(listeners.job_listener_names(), ["once"]);
    listener.of.set(Arc::downgrade(&scheduler)).unwrap();
    run("last");
    run("never heard");
    assert_eq!(hears.try_iter().collect::<Vec<_>>(), ["last"]);
    assert!(listeners.job_listener_names().is_empty());
}

/// QTZ-212: Quartz told `schedulerStarted` before `schedulerStarting`.
#[test]
fn scheduler_listeners_hear_of_everything_in_its_order() {
    #[derive(Clone, Default)]
    struct Recorder(Arc<parking_lot::Mutex<Vec<String>>>);
    macro_rules! hears {
        ($($event:ident($($of:ident: $kind:ty),*) $text:expr;)*) => {
            impl SchedulerListener for Recorder {
                fn name(&self) -> &str {
                    "recorder"
                }
                $(fn $event(&self, $($of: $kind),*) {
                    self.0.lock().push(format!("{} {}", stringify!($event), $text).trim().to_owned());
                })*
            }
        };
    }
    hears! {
        job_scheduled(trigger: &Trigger) trigger.key();
        job_unscheduled(trigger: &TriggerKey) trigger;
        trigger_paused(trigger: &TriggerKey) trigger;
        triggers_paused(groups: &GroupMatcher) format!("{groups:?}");
        trigger_resumed(trigger: &TriggerKey) trigger;
        triggers_resumed(groups: &GroupMatcher) format!("{groups:?}");
        job_added(job: &carnelian::JobDetail) job.key();
        job_deleted(job: &JobKey) job;
        job_paused(job: &JobKey) job;
        jobs_paused(groups: &GroupMatcher) format!("{groups:?}");
        job_resumed(job: &JobKey) job;
        jobs_resumed(groups: &GroupMatcher) format!("{groups:?}");
        scheduler_error(message: &str) message;
        scheduler_in_standby_mode() "";
        scheduler_starting() "";
        scheduler_started() "";
        scheduler_shutting_down() "";
        scheduler_shutdown() "";
        scheduling_data_cleared() "";
    }
    let (cluster, recorder) = (Cluster::new(), Recorder::default());
    let node = cluster.node("n1", 1).scheduler_listener(recorder.clone()).build().unwrap();
    let (detail, t, u) = (job("j", "nobody knows"), TriggerKey::new("g", "t"), TriggerKey::new("g", "u"));
    let group = GroupMatcher::equals("g");
    node.start().unwrap();
    node.start().unwrap(); // it runs: nothing to tell
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    node.schedule_trigger(now("u", &detail)).unwrap();
    node.reschedule(&u, now("u", &detail)).unwrap();
    assert!(node.reschedule(&TriggerKey::new("g", "nobody"), now("u", &detail)).unwrap().is_none());
    node.unschedule(&u).unwrap();
    assert!(!node.unschedule(&u).unwrap());
    node.pause_trigger(&t).unwrap();
    node.resume_trigger(&t).unwrap();
    node.pause_triggers(&group).unwrap();
    node.resume_triggers(&group).unwrap();
    node.pause_job(detail.key()).unwrap();
    node.resume_job(detail.key()).unwrap();
    node.pause_jobs(&group).unwrap();
    node.resume_jobs(&group).unwrap();
    node.pause_all().unwrap();
    node.resume_all().unwrap();
    node.delete_job(detail.key()).unwrap();
    assert!(!node.delete_job(detail.key()).unwrap());
    node.clear().unwrap();
    node.standby();
    node.standby();
    node.start().unwrap();
    assert!(node.shutdown_and_wait().is_clean());
    let expected = "scheduler_starting, scheduler_started, job_added g.j, job_scheduled g.t, job_scheduled g.u, \
        job_unscheduled g.u, job_scheduled g.u, job_unscheduled g.u, \
        trigger_paused g.t, trigger_resumed g.t, triggers_paused Equals(\"g\"), triggers_resumed Equals(\"g\"), \
        job_paused g.j, job_resumed g.j, jobs_paused Equals(\"g\"), jobs_resumed Equals(\"g\"), \
        triggers_paused Any, triggers_resumed Any, job_deleted g.j, scheduling_data_cleared, \
        scheduler_in_standby_mode, scheduler_starting, scheduler_started, scheduler_shutting_down, scheduler_shutdown";
    assert_eq!(recorder.0.lock().join(", "), expected);
}

#[test]
fn a_scheduler_says_what_it_is_and_since_when_it_runs() {
    let cluster = Cluster::new();
    let properties = "threadPool.threadCount = 3\njobStore.isClustered = true\njobStore.dataSource = x\n\
        dataSource.x.URL = sqlite::memory:\ncontext.key.city = Bern";
    let (ran, runs) = unbounded();
    let told = move |ctx: &mut JobContext| {
        let before = ctx.running_for();
        assert!(ctx.wait(Duration::from_millis(20)));
        assert!(ctx.running_for() >= before + Duration::from_millis(20));
        ran.send(ctx.context_text("city").map(str::to_owned))?;
        if ctx.refire_count() == 0 { Err(carnelian::JobError::new("again").refire_immediately()) } else { Ok(()) }
    };
    let node = cluster.node_with("n1", properties).job_fn("told", told).build().unwrap();
    let before = node.metadata();
    assert_eq!((before.is_started, before.is_in_standby, before.running_since), (false, true, None));
    assert!(before.to_string().contains("not started"), "{before}");
    let wall_ms = cluster.clock.wall_time().timestamp_millis();
    node.start().unwrap();
    let detail = job("j", "told");
    node.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    assert_eq!(runs.recv_timeout(LONG).unwrap().as_deref(), Some("Bern"));
    assert_eq!((node.context_text("city"), node.context_text("street")), (Some("Bern"), None));
    cluster.await_quiet();
    node.standby();
    let metadata = node.metadata();
    assert_eq!((metadata.scheduler_name.as_str(), metadata.instance_id.as_str()), (cluster.name.as_str(), "n1"));
    assert_eq!((metadata.jobs_executed, metadata.thread_pool_size, metadata.is_clustered), (2, 3, true));
    assert!(metadata.is_started && metadata.is_in_standby && !metadata.is_shut_down);
    let since = metadata.running_since.unwrap();
    assert!((wall_ms..=cluster.clock.wall_time().timestamp_millis()).contains(&since.timestamp_millis()));
    assert_eq!(metadata.version, env!("CARGO_PKG_VERSION"));
    let summary = metadata.to_string();
    for part in ["in standby, since 20", "2 jobs executed, 3 workers", "clustered", "memory with a switch"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    node.start().unwrap();
    assert_eq!(node.metadata().running_since, Some(since), "the first start counts");
    assert!(node.shutdown_and_wait().is_clean());
    assert!(node.metadata().is_shut_down && !node.metadata().is_started);
}
