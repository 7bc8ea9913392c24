//! Nodes as they show themselves, their activities, and how they stop, with real schedulers on all
//! four stores.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support::{self, wait_until};
use carnelian::clock::{Clock, ManualClock, SystemClock};
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::listener::SchedulerListener;
use carnelian::machine::{Machine, MachineReading};
use carnelian::monitoring::{Alarm, AlarmKind, ServiceHealth, ServiceState, StopStep};
use carnelian::node::{NodeActivity, NodeRole};
use carnelian::settings::Settings;
use carnelian::store::faults::{Fault, FaultPlan};
use carnelian::store::row::{Departure, FiredState};
use carnelian::store::{Database, JobStore, Lock, Membership, MemoryDatabase, SqlDatabase, TxMode, violations};
use carnelian::{
    JobContext, JobDetail, JobKey, JobPolicy, Scheduler, SchedulerBuilder, StuckAction, Trigger, TriggerKey,
    TriggerState,
};
use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use parking_lot::Mutex;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

const HOUR: Duration = Duration::from_secs(3600);

/// Shorter than the wait after a failure.
const SHORT: Duration = Duration::from_millis(20);

/// Long enough for what takes half a second.
const SOON: Duration = Duration::from_secs(20);

/// A machine that is half busy, a fifth of it with this process, from each reading to the next.
#[derive(Debug, Default)]
struct Lab(AtomicU64);

impl Machine for Lab {
    fn read(&self) -> MachineReading {
        let reading = self.0.fetch_add(1, Ordering::SeqCst);
        MachineReading {
            cores: Some(64),
            host_busy_ticks: Some(reading * 500),
            host_all_ticks: Some(reading * 1000),
            process_ticks: Some(reading * 200),
            memory_total: Some(1 << 30),
            memory_available: Some(1 << 29),
            process_memory: Some(1 << 20),
            memory_limit: Some(1 << 28),
            threads: Some(9),
        }
    }
    fn host(&self) -> Option<String> {
        Some("lab".to_owned())
    }
    fn address(&self) -> Option<IpAddr> {
        "192.0.2.7".parse().ok()
    }
}

/// A scheduler name on a store.
struct Cluster {
    name: String,
    /// None for memory.
    url: Option<String>,
    memory: Arc<MemoryDatabase>,
    clock: Arc<dyn Clock>,
    _folder: Option<tempfile::TempDir>,
}

impl Cluster {
    fn new(url: Option<String>, folder: Option<tempfile::TempDir>) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let memory = Arc::new(MemoryDatabase::new(Arc::clone(&clock)));
        Self { name: support::fresh_name("nodes"), url, memory, clock, _folder: folder }
    }

    fn settings(&self, name: &str, more: &str) -> Settings {
        let store = match &self.url {
            Some(url) => format!(
                "jobStore.class = JobStoreTX\njobStore.isClustered = true\njobStore.dataSource = db\ndataSource.db.URL = {url}\n"
            ),
            None => String::new(),
        };
        let text = format!(
            "scheduler.instanceName = {}\nscheduler.instanceId = {name}\nthreadPool.threadCount = 2\n\
             jobStore.clusterCheckinInterval = 200\n\
             jobStore.clusterCheckinMisfireThreshold = 20000\ncarnelian.scheduler.pollInterval = 50ms\n\
             carnelian.scheduler.heartbeatInterval = 200ms\njobStore.misfireThreshold = 1000\n\
             carnelian.history.maxRows = 1\ncarnelian.history.cleanUpInterval = 100ms\n{store}{more}\n",
            self.name
        );
        Settings::from_text("test", &text, |_| None).unwrap()
    }

    fn node(&self, name: &str, more: &str, build: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder) -> Scheduler {
        let settings = self.settings(name, more);
        let builder = Scheduler::builder().machine(Arc::new(Lab::default())).clock(Arc::clone(&self.clock));
        let builder = match self.url {
            Some(_) => builder.settings(settings),
            None => {
                let memory = Arc::clone(&self.memory) as Arc<dyn Database>;
                builder.store(JobStore::new(memory, Arc::clone(&self.clock), settings))
            }
        };
        let scheduler = build(builder).build().unwrap();
        scheduler.migrate().unwrap();
        scheduler
    }

    /// A node with the database whose faults can be planned for it alone. Of its services only the
    /// check-in comes again within an hour, unless something wakes another.
    fn node_with_faults(
        &self,
        name: &str,
        clock: &Arc<dyn Clock>,
        build: impl FnOnce(SchedulerBuilder) -> SchedulerBuilder,
    ) -> (Scheduler, Arc<dyn Faulty>) {
        let mut settings = self.settings(name, "");
        settings.scheduler.poll_interval = Some(HOUR);
        settings.executions.heartbeat_interval = HOUR;
        settings.history.clean_up_interval = HOUR;
        let database = match &self.url {
            Some(_) => Arc::new(SqlDatabase::open(&settings, Arc::clone(clock)).unwrap()) as Arc<dyn Faulty>,
            None => Arc::new(self.memory.beside()) as Arc<dyn Faulty>,
        };
        let store = JobStore::new(Arc::clone(&database) as Arc<dyn Database>, Arc::clone(clock), settings);
        let builder = Scheduler::builder().machine(Arc::new(Lab::default())).clock(Arc::clone(clock)).store(store);
        let scheduler = build(builder).build().unwrap();
        scheduler.migrate().unwrap();
        (scheduler, database)
    }
}

/// A database whose faults can be planned.
trait Faulty: Database {
    fn plan(&self) -> &FaultPlan;
}

impl Faulty for MemoryDatabase {
    fn plan(&self) -> &FaultPlan {
        self.faults()
    }
}

impl Faulty for SqlDatabase {
    fn plan(&self) -> &FaultPlan {
        self.faults()
    }
}

/// Tells the story on every store, and checks the invariants after it.
fn everywhere(story: fn(&Cluster)) {
    let folder = tempfile::tempdir().unwrap();
    let sqlite = format!("sqlite:{}", folder.path().join("jobs.db").display());
    for cluster in [
        Cluster::new(None, None),
        Cluster::new(Some(sqlite), Some(folder)),
        Cluster::new(Some(support::postgres_url()), None),
        Cluster::new(Some(support::mysql_url()), None),
    ] {
        println!("on {}", cluster.url.as_deref().and_then(|url| url.split(':').next()).unwrap_or("memory"));
        story(&cluster);
        let judge = cluster.node("judge", "", |builder| builder);
        assert_eq!(violations(&judge.store().upkeep().snapshot().unwrap()), []);
        judge.store().database().forget_scheduler().unwrap();
    }
}

/// Stores a job that fires after a while.
fn schedule(scheduler: &Scheduler, name: &str, job_type: &str, after: Duration) {
    let job = JobDetail::builder(JobKey::named(name), job_type).build().unwrap();
    let at = chrono::DateTime::from_timestamp_millis(scheduler.store().now_ms().unwrap()).unwrap() + after;
    let trigger = Trigger::builder(TriggerKey::named(name), job.key().clone()).start_at(at).build().unwrap();
    scheduler.schedule_job(job, trigger).unwrap();
}

/// A job that says that it has begun and waits until it is let go.
fn gated() -> (impl Fn(&mut JobContext) -> Result<(), carnelian::JobError> + Send + Sync, Receiver<()>, Sender<()>) {
    let (begun, begins) = unbounded();
    let (go, gate) = bounded::<()>(1);
    let job = move |_: &mut JobContext| {
        begun.send(())?;
        Ok(gate.recv()?)
    };
    (job, begins, go)
}

/// LT-30…37, QZ-49, DS-05, DS-71, DS-119: what a node says of itself is seen by others, follows
/// what it does, and goes when it leaves (LT-73, LT-88).
#[test]
fn nodes_show_themselves_to_each_other() {
    everywhere(|cluster| {
        let (job, begins, go) = gated();
        let about = "carnelian.node.labels = zone=eu, gpu=yes\ncarnelian.node.displayName = Billing A\n\
                     carnelian.application.version = 3.1.4";
        let a = cluster.node("a", about, |b| b.job_fn("gated", job));
        let b = cluster.node("b", "carnelian.scheduler.nodeName = rack8", |b| b);
        a.start().unwrap();
        b.start().unwrap();
        let seen = |name: &str| b.instance(name).unwrap().unwrap();
        let first = seen("a").node.expect("it is there with the registration");
        assert_eq!((first.info.node_name.as_str(), first.info.display_name.as_str()), ("192.0.2.7_lab", "Billing A"));
        assert_eq!((first.info.host.as_deref(), first.info.ip.as_deref()), (Some("lab"), Some("192.0.2.7")));
        assert_eq!(first.info.labels.to_string(), "gpu=yes, zone=eu");
        assert_eq!(first.info.application, cluster.name);
        assert_eq!(first.info.application_version.as_deref(), Some("3.1.4"));
        assert_eq!(first.info.library_version, env!("CARGO_PKG_VERSION"));
        assert_eq!((first.info.pid, first.info.role), (std::process::id(), NodeRole::Worker));
        assert_eq!(seen("b").node.unwrap().info.node_name, "rack8");
        assert_eq!(b.instances().unwrap().len(), 2);

        schedule(&a, "j", "gated", Duration::ZERO);
        begins.recv_timeout(LONG).unwrap();
        // A check-in may come between the fire and the worker that takes it.
        wait_until("the run is seen", LONG, || {
            seen("a").node.is_some_and(|row| (row.info.running, row.info.free_workers) == (1, 1))
        });
        let row = seen("a").node.unwrap();
        assert_eq!((row.info.pool_size, row.info.busy_workers()), (2, 1));
        assert_eq!((row.info.activity, seen("a").running), (NodeActivity::Firing, 1));
        let load = row.info.load;
        assert_eq!((load.cores, load.threads), (Some(64), Some(9)));
        assert_eq!((load.host_cpu_permille, load.process_cpu_permille), (Some(500), Some(200)));
        assert_eq!((load.memory_total, load.memory_used), (Some(1 << 30), Some(1 << 29)));
        assert_eq!((load.process_memory, load.memory_limit), (Some(1 << 20), Some(1 << 28)));
        assert!(row.last_seen() >= first.last_seen() && row.start_time() == first.start_time());
        assert!(row.last_seen() <= seen("a").last_checkin, "it came with a check-in");

        a.standby();
        wait_until("it stands by", LONG, || {
            seen("a").node.is_some_and(|row| row.info.activity == NodeActivity::Standby)
        });
        go.send(()).unwrap();
        assert!(a.shutdown_and_wait().is_clean());
        assert_eq!(b.instance("a").unwrap(), None);
        assert!(b.shutdown_and_wait().is_clean());
    });
}

/// The role: an observer checks in and runs nothing, also where only one node fires.
#[test]
fn an_observer_runs_nothing() {
    everywhere(|cluster| {
        let (ran, runs) = unbounded();
        let note = |who: &'static str| {
            let ran = ran.clone();
            move |_: &mut JobContext| Ok::<_, carnelian::JobError>(ran.send(who)?)
        };
        let mode = "carnelian.cluster.mode = active-passive";
        let observer = format!("{mode}\ncarnelian.scheduler.role = observer");
        let observer = cluster.node("a", &observer, |b| b.job_fn("note", note("observer")));
        let worker = cluster.node("b", mode, |b| b.job_fn("note", note("worker")));
        observer.start().unwrap();
        schedule(&observer, "j", "note", Duration::ZERO);
        let looks = || observer.health().services.iter().find(|s| s.name == "cluster").unwrap().runs;
        wait_until("it has checked in for some time", LONG, || looks() > 4);
        assert!(!observer.health().is_firing);
        worker.start().unwrap();
        assert_eq!(runs.recv_timeout(LONG).unwrap(), "worker");
        wait_until("it says so", LONG, || {
            let row = worker.instance("a").unwrap().unwrap().node.unwrap();
            (row.info.role, row.info.activity) == (NodeRole::Observer, NodeActivity::Observing)
        });
        assert!(worker.shutdown_and_wait().is_clean() && observer.shutdown_and_wait().is_clean());
        assert!(runs.is_empty());
    });
}

/// A listener that passes on every call.
struct Recorder<T>(Sender<T>);

impl SchedulerListener for Recorder<Alarm> {
    fn name(&self) -> &str {
        "alarms"
    }
    fn alarm(&self, alarm: &Alarm) {
        let _ = self.0.send(alarm.clone());
    }
}

/// DS-74, DS-82, DS-86, what an admin node is for: the workers die, an observer raises the alarms,
/// and when a worker returns to the backlog the outage is on record and the recovery mode is on.
#[test]
fn an_observer_raises_alarms_and_workers_return_in_recovery_mode() {
    everywhere(|cluster| {
        let fast = "jobStore.clusterCheckinMisfireThreshold = 800\ncarnelian.monitor.interval = 100ms\n\
            carnelian.monitor.overdueAfter = 0\ncarnelian.recovery.threshold = 3\njobStore.misfireThreshold = 3600000";
        let watching = format!(
            "{fast}\ncarnelian.scheduler.role = observer\ncarnelian.alarm.minNodes = 1\ncarnelian.alarm.clearAfter = 0\n\
             carnelian.alarm.overdueTriggers = 3\ncarnelian.alarm.overdueFor = 0"
        );
        let (heard, alarms) = unbounded();
        let observer = cluster.node("admin", &watching, |b| b.scheduler_listener(Recorder::<Alarm>(heard)));
        let mut dead = Membership::new("dead");
        cluster.node("dead", fast, |b| b).store().upkeep().check_in(&mut dead).unwrap();
        let last_checkin = observer.store().upkeep().instance("dead").unwrap().unwrap().last_checkin;
        observer.start().unwrap();
        (0..6).for_each(|n| schedule(&observer, &format!("j{n}"), "gated", Duration::ZERO));
        let await_alarms = |is_raised: bool| {
            let mut left = vec![AlarmKind::OverdueTriggers, AlarmKind::TooFewNodes];
            while !left.is_empty() {
                let alarm = alarms.recv_timeout(SOON).unwrap_or_else(|_| panic!("{left:?} {is_raised}"));
                left.retain(|kind| (*kind, is_raised) != (alarm.kind, alarm.is_raised));
            }
        };
        await_alarms(true);

        let (job, begins, go) = gated();
        let worker = cluster.node("w", fast, |b| b.job_fn("gated", job));
        worker.start().unwrap();
        let outages = worker.outages().unwrap();
        assert_eq!(outages.len(), 1, "{outages:?}");
        assert_eq!((outages[0].start_time(), outages[0].overdue, outages[0].instance.as_str()), (last_checkin, 6, "w"));
        assert_eq!(worker.recovery_mode().unwrap().map(|mode| mode.begun_by), Some("w".to_owned()));
        assert!(worker.store().is_in_recovery_mode());
        wait_until("the observer knows", LONG, || observer.store().is_in_recovery_mode());
        for _ in 0..6 {
            begins.recv_timeout(LONG).unwrap();
            go.send(()).unwrap();
        }
        await_alarms(false);
        wait_until("the mode is left", LONG, || worker.recovery_mode().unwrap().is_none());
        assert!(worker.shutdown_and_wait().is_clean() && observer.shutdown_and_wait().is_clean());
    });
}

/// Tells that it has heard something, and does not come back until it is let go.
struct Blocked(Sender<&'static str>, Receiver<()>);

impl SchedulerListener for Blocked {
    fn name(&self) -> &str {
        "blocked"
    }
    fn fire_stuck(&self, _: &carnelian::listener::FireEvent<'_>, _: Duration) {
        let _ = self.0.send("stuck");
        let _ = self.1.recv();
    }
    fn instance_recovered(&self, _: &carnelian::store::Recovered) {
        let _ = self.0.send("recovered");
        let _ = self.1.recv();
    }
    fn trigger_finalized(&self, key: &TriggerKey) {
        if key.name() == "last" {
            let _ = self.0.send("finalized");
        }
    }
}

/// DS-16: a listener that blocks for long ends no heartbeat, no check-in and no recovery, and holds
/// up no fire; what it had not heard it hears afterwards, in order.
#[test]
fn a_listener_that_blocks_holds_up_nothing_but_listeners() {
    everywhere(|cluster| {
        let ((told, heard), (let_go, gate)) = (unbounded(), unbounded());
        let (job, begins, go) = gated();
        let fast = "jobStore.clusterCheckinMisfireThreshold = 800";
        let a = cluster.node("a", fast, |b| {
            let b = b.job_fn("gated", job).job_fn("none", |_: &mut JobContext| Ok(()));
            b.scheduler_listener(Blocked(told, gate))
        });
        a.start().unwrap();
        let policy = JobPolicy::new().stuck_after(Duration::from_millis(50), StuckAction::Tell);
        let held = JobDetail::builder(JobKey::named("held"), "gated").policy(policy).build().unwrap();
        let trigger = Trigger::builder(TriggerKey::named("held"), held.key().clone()).build().unwrap();
        a.schedule_job(held, trigger).unwrap();
        begins.recv_timeout(LONG).unwrap();
        assert_eq!(heard.recv_timeout(LONG).unwrap(), "stuck");

        let beat = || a.store().upkeep().fired_triggers().unwrap()[0].heartbeat.as_ref().map(|beat| beat.time);
        let checkin = || a.store().upkeep().instance("a").unwrap().unwrap().last_checkin;
        let goes_on = |what: &str| {
            let pause = Duration::from_millis(400);
            let (beaten, checked_in) = (beat().map(|time| time + pause), checkin() + pause);
            wait_until(what, SOON, || beat() > beaten && checkin() > checked_in);
        };
        goes_on("it beats and checks in");
        cluster.node("dead", fast, |b| b).store().upkeep().check_in(&mut Membership::new("dead")).unwrap();
        wait_until("a dead node is found", SOON, || a.health().counters.convictions == 1);
        schedule(&a, "last", "none", Duration::ZERO);
        wait_until("another fire has run", SOON, || a.health().completed == 1);
        goes_on("it beats and checks in as before");
        assert!(heard.is_empty() && a.health().counters.failed_out == 0);

        let_go.send(()).unwrap();
        assert_eq!(heard.recv_timeout(LONG).unwrap(), "recovered");
        let_go.send(()).unwrap();
        assert_eq!(heard.recv_timeout(LONG).unwrap(), "finalized");
        go.send(()).unwrap();
        assert!(a.shutdown_and_wait().is_clean());
    });
}

/// Findings from before the end are told at the end. A listener that does not come back does not
/// hold up the end for ever.
#[test]
fn a_shutdown_tells_what_is_left_and_waits_for_no_listener_for_ever() {
    let cluster = Cluster::new(None, None);
    let ((told, heard), (let_go, gate)) = (unbounded(), unbounded());
    let fast = "jobStore.clusterCheckinMisfireThreshold = 400";
    let a = cluster
        .node("a", fast, |b| b.job_fn("none", |_: &mut JobContext| Ok(())).scheduler_listener(Blocked(told, gate)));
    a.start().unwrap();
    cluster.node("dead", fast, |b| b).store().upkeep().check_in(&mut Membership::new("dead")).unwrap();
    assert_eq!(heard.recv_timeout(LONG).unwrap(), "recovered");
    schedule(&a, "last", "none", Duration::ZERO);
    wait_until("it has run", LONG, || a.health().completed == 1);
    let report = a.shutdown_and_wait();
    assert_eq!(
        (report.overran.as_slice(), report.leave_error),
        (["listeners"].as_slice(), None),
        "it has left the cluster"
    );
    assert_eq!((a.health().untold_events, a.instance("a").unwrap()), (1, None));
    drop(let_go);

    let ((told, heard), (_, gate)) = (unbounded(), bounded(1));
    let b = cluster
        .node("b", fast, |b| b.job_fn("none", |_: &mut JobContext| Ok(())).scheduler_listener(Blocked(told, gate)));
    b.start().unwrap();
    schedule(&b, "last", "none", Duration::ZERO);
    wait_until("it has run", LONG, || b.health().completed == 1);
    assert!(b.shutdown_and_wait().is_clean());
    assert_eq!(heard.try_recv(), Ok("finalized"));
}

/// LT-70…86: the activities with their names, when they ran, how long they took, what went wrong.
#[test]
fn the_activities_show_when_they_ran_and_how_long() {
    everywhere(|cluster| {
        let often = "carnelian.monitor.interval = 200ms";
        let node = cluster.node("a", often, |b| b.job_fn("none", |_: &mut JobContext| Ok(())));
        assert!(node.health().services.iter().all(|s| s.state == ServiceState::NotStarted && s.last_pass.is_none()));
        node.start().unwrap();
        let names = [
            "acquirer",
            "dispatcher",
            "misfire",
            "cluster",
            "completer",
            "heartbeat",
            "run-watch",
            "monitor",
            "clean-up",
            "audit",
            "listeners",
        ];
        // On PostgreSQL there is one more, which hears of news.
        let services = node.health().services;
        assert_eq!(
            services.iter().map(|s| s.name).filter(|name| *name != "notification-listener").collect::<Vec<_>>(),
            names
        );
        schedule(&node, "j", "none", Duration::ZERO);
        wait_until("all have run, and one not for the first time", LONG, || {
            node.health().services.iter().all(|s| {
                s.last_duration.is_some() && (s.runs > 1 || ["misfire", "dispatcher", "listeners"].contains(&s.name))
            })
        });
        for service in node.health().services {
            assert!(service.longest_duration >= service.last_duration, "{service:?}");
            assert!(service.longest_duration.is_some_and(|longest| longest < LONG), "{service:?}");
            assert!(service.since_last_pass.is_some_and(|since| since < LONG), "{service:?}");
            assert_eq!((service.errors, service.panics), (0, 0), "{service:?}");
        }
        assert!(node.shutdown_and_wait().is_clean());
    });
}

/// LT-86: one node forgets the history for all, and says how much; when it has gone the next one
/// does.
#[test]
fn one_node_cleans_up_for_all() {
    everywhere(|cluster| {
        let build = |b: SchedulerBuilder| b.job_fn("none", |_: &mut JobContext| Ok(()));
        let (a, b) = (cluster.node("a", "", build), cluster.node("b", "", build));
        a.start().unwrap();
        b.start().unwrap();
        let rows = |node: &Scheduler| node.health().services.iter().find(|s| s.name == "clean-up").unwrap().last_rows;
        let forgotten = |node: &Scheduler| node.health().counters.forgotten_history;
        wait_until("it has looked", LONG, || rows(&a).is_some());
        for n in 0..5 {
            schedule(&a, &format!("j{n}"), "none", Duration::ZERO);
        }
        let left = || b.history(&HistoryQuery::new()).unwrap().len();
        let ended = || a.health().counters.succeeded + b.health().counters.succeeded;
        // Rows that ended in the same millisecond as the first surplus row go with it.
        wait_until("the history is short", LONG, || ended() == 5 && left() <= 1 && forgotten(&a) >= 4);
        assert_eq!((forgotten(&b), rows(&b)), (0, None), "it leaves that to the other");
        assert!(a.shutdown_and_wait().is_clean());
        wait_until("the other does it", LONG, || rows(&b).is_some());
        assert!(b.shutdown_and_wait().is_clean());
    });
}

/// Every line that is logged in this process.
static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Log;

impl log::Log for Log {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }
    fn log(&self, record: &log::Record<'_>) {
        if record.target().starts_with("carnelian") {
            LINES.lock().push(record.args().to_string());
        }
    }
    fn flush(&self) {}
}

fn listen_to_the_log() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_boxed_logger(Box::new(Log)).expect("the only logger");
        log::set_max_level(log::LevelFilter::Info);
    });
}

/// LT-87…90: nothing new is acquired, what was reserved is given back, running jobs are waited for,
/// and only then the node goes; each step is seen in the health while it lasts, and logged once.
#[test]
fn a_stop_goes_through_its_steps() {
    if !support::is_alone(module_path!(), "a_stop_goes_through_its_steps") {
        return;
    }
    listen_to_the_log();
    everywhere(|cluster| {
        LINES.lock().clear();
        let (job, begins, go) = gated();
        let node = cluster.node("a", "carnelian.shutdown.deadline = 60s", |b| b.job_fn("gated", job));
        node.start().unwrap();
        assert_eq!(node.health().stopping, None);
        schedule(&node, "runs", "gated", Duration::ZERO);
        begins.recv_timeout(LONG).unwrap();
        // Reserved for its time, which does not come: the stop is sooner, or it has fired and is
        // waited for as well.
        let reserved = |name: &str| {
            let fires = node.store().upkeep().fired_triggers().unwrap();
            fires.iter().any(|fire| fire.trigger.name() == name && fire.state == FiredState::Acquired)
        };
        schedule(&node, "soon", "gated", Duration::from_millis(1900));
        wait_until("it is reserved", LONG, || reserved("soon") || !begins.is_empty());

        let other = node.clone();
        let ending = std::thread::spawn(move || other.shutdown_and_wait());
        wait_until("it waits for its jobs", LONG, || node.health().stopping == Some(StopStep::Jobs));
        let health = node.health();
        assert!(!health.is_firing && health.reserved == 0 && health.running >= 1, "{health:?}");
        assert_eq!(health.services[0].state, ServiceState::Stopped, "nothing is acquired any more");
        assert!(!reserved("soon"), "it was given back");
        if begins.is_empty() {
            let state = node.store().catalogue().trigger_state(&TriggerKey::named("soon")).unwrap();
            assert_eq!(state, Some(TriggerState::Waiting));
        }
        // The node is a member as long as its jobs run, and says that it stops.
        wait_until("others see it stop", LONG, || {
            let row = node.store().upkeep().instance("a").unwrap().unwrap().node.unwrap();
            row.info.activity == NodeActivity::Stopping
        });
        go.send(()).unwrap();
        drop(go);
        let report = ending.join().unwrap();
        assert!(report.is_clean(), "{report:?}");
        assert_eq!((node.health().stopping, node.store().upkeep().instance("a").unwrap()), (None, None));
        let lines = LINES.lock().clone();
        let steps: Vec<&str> = lines.iter().filter_map(|l| l.strip_prefix("stopping instance=a step=")).collect();
        assert_eq!(steps, ["acquisition", "release", "jobs", "records", "services", "deregistration"]);
    });
}

/// The answer of the next registration through this database is lost; the receiver is told just
/// before.
fn lose_registration(database: &Arc<dyn Faulty>) -> Receiver<()> {
    let (told, tells) = unbounded();
    let plan = Arc::clone(database);
    database.plan().meanwhile("register the instance", 1, move || {
        plan.plan().plan(1, Fault::CommitLostApplied);
        told.send(()).unwrap();
    });
    tells
}

/// A node whose registration was not answered leaves by it when it is told to end before it could
/// look, so that nobody waits for its window; at its start, and when it registers anew after it was
/// declared dead (seed 951002829 of the simulator).
#[test]
fn a_node_leaves_by_a_registration_whose_answer_was_lost() {
    everywhere(|cluster| {
        let peer = cluster.node("peer", "", |b| b);
        let is_there = |name: &str| peer.instance(name).unwrap().is_some();
        let (a, database) = cluster.node_with_faults("a", &cluster.clock, |b| b);
        let lost = lose_registration(&database);
        a.start().unwrap_err();
        lost.try_recv().unwrap();
        assert!(!is_there("a"), "a start that failed has left its row");
        assert!(a.shutdown_now().is_clean());

        // No time passes in which it could look.
        let clock = Arc::new(ManualClock::at(SystemClock::default().wall_time()));
        let (b, database) = cluster.node_with_faults("b", &(Arc::clone(&clock) as Arc<dyn Clock>), |b| b);
        b.start().unwrap();
        let rests = |one: &ServiceHealth| one.state == ServiceState::Waiting;
        wait_until("its services rest", LONG, || b.health().services.iter().all(rests));
        let lost = lose_registration(&database);
        let begin = TxMode::Exclusive(Lock::StateAccess);
        peer.store()
            .database()
            .transact("a peer", begin, &mut |s| s.delete_instance("b", Departure::Any).map(drop))
            .unwrap();
        wait_until("it registers anew", LONG, || {
            lost.try_recv().is_ok() || {
                clock.advance(SHORT);
                false
            }
        });
        let is_failing = |one: &ServiceHealth| one.name == "cluster" && one.state == ServiceState::BackingOff;
        wait_until("the answer is lost", LONG, || b.health().services.iter().any(is_failing));
        assert!(is_there("b"));
        assert!(b.shutdown_now().is_clean());
        assert!(!is_there("b"), "a node that was told to end has left its row");
    });
}

/// The store cannot be reached when the last run of a node ends that was told to end: it waits
/// until the end is recorded.
#[test]
fn a_node_that_ends_waits_until_the_ends_of_its_runs_are_recorded() {
    everywhere(|cluster| {
        let peer = cluster.node("peer", "", |b| b);
        let (job, begins, go) = gated();
        let (a, database) = cluster.node_with_faults("a", &cluster.clock, |b| b.job_fn("gated", job));
        a.start().unwrap();
        schedule(&a, "j", "gated", Duration::ZERO);
        begins.recv_timeout(LONG).unwrap();
        std::thread::scope(|scope| {
            let end = scope.spawn(|| a.shutdown_and_wait());
            wait_until("it waits for its job", LONG, || a.health().stopping == Some(StopStep::Jobs));
            database.plan().lose_for_good();
            go.send(()).unwrap();
            let waits = || a.health().stopping == Some(StopStep::Records) || end.is_finished();
            wait_until("the end is to be recorded", LONG, waits);
            let has_failed = |one: &ServiceHealth| one.name == "completer" && one.errors_in_a_row > 0;
            let is_known = || a.health().services.iter().any(has_failed) || end.is_finished();
            wait_until("the store is not reached", LONG, is_known);
            database.plan().cancel();
            assert!(end.join().unwrap().is_clean());
        });
        let runs = peer.history(&HistoryQuery::new()).unwrap();
        assert_eq!(runs.iter().map(|run| run.outcome).collect::<Vec<_>>(), [FireOutcome::Succeeded]);
    });
}
