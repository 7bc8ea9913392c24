//! The kit of the fault tests: a clock that is set by hand, four databases, nodes, and small
//! builders.
#![allow(dead_code, reason = "no test file uses all of it")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use carnelian::clock::Clock;
use carnelian::clock::{Signal, Woken};
use carnelian::node::NodeReport;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use carnelian::settings::ClockSource;
use carnelian::settings::Settings;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use carnelian::store::SqlDatabase;
use carnelian::store::faults::FaultPlan;
use carnelian::store::row::{FiredRow, FiredState, Snapshot, TriggerRow};
use carnelian::store::{
    AcquireRequest, Acquisition, Checkin, Completion, CompletionInstruction, CompletionOutcome, CompletionReport,
    Database, FireBundle, JobStore, Lock, Membership, MemoryDatabase, Owner, Reservation, Session, TxMode, violations,
};
use carnelian::{JobDetail, JobDetailBuilder, JobKey, Schedule, SimpleSchedule};
use carnelian::{Result, Trigger, TriggerBuilder, TriggerKey};
use chrono::{DateTime, Utc};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// 2026-03-01T12:00:00Z, where every test begins.
pub const START: i64 = 1_772_366_400_000;
pub const SECOND: i64 = 1000;
pub const MINUTE: i64 = 60 * SECOND;
/// The check-in interval and the tolerance: the longest silence that is forgiven.
pub const WINDOW: i64 = 22_500;

/// A wall clock and a monotonic clock that move only when a test moves them.
#[derive(Debug)]
pub struct TestClock {
    wall_ms: AtomicI64,
    ticks_ms: AtomicU64,
}

impl Default for TestClock {
    fn default() -> Self {
        Self { wall_ms: AtomicI64::new(START), ticks_ms: AtomicU64::new(1_000_000) }
    }
}

impl TestClock {
    /// Sets both clocks to where every test begins.
    fn reset(&self) {
        let Self { wall_ms, ticks_ms } = Self::default();
        self.wall_ms.store(wall_ms.into_inner(), Ordering::SeqCst);
        self.ticks_ms.store(ticks_ms.into_inner(), Ordering::SeqCst);
    }

    /// Moves both clocks on.
    pub fn advance(&self, ms: i64) {
        self.wall_ms.fetch_add(ms, Ordering::SeqCst);
        self.ticks_ms.fetch_add(u64::try_from(ms).expect("time goes on"), Ordering::SeqCst);
    }

    /// Sets the wall clock only, as an administrator might.
    pub fn set_wall(&self, ms: i64) {
        self.wall_ms.store(ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn wall_time(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.wall_ms.load(Ordering::SeqCst)).expect("a date")
    }

    fn ticks(&self) -> Duration {
        Duration::from_millis(self.ticks_ms.load(Ordering::SeqCst))
    }

    /// The store waits only before it tries again; that need not take long, and takes none of the
    /// test's time.
    fn wait(&self, _: &Signal, _: Option<Duration>) -> Woken {
        #[expect(clippy::disallowed_methods, reason = "a clock may wait")]
        std::thread::sleep(Duration::from_millis(1));
        Woken::TimedOut
    }
}

/// A database in which faults can be planned.
pub trait TestDatabase: Database {
    fn faults(&self) -> &FaultPlan;
}

impl TestDatabase for MemoryDatabase {
    fn faults(&self) -> &FaultPlan {
        self.faults()
    }
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
impl TestDatabase for SqlDatabase {
    fn faults(&self) -> &FaultPlan {
        self.faults()
    }
}

/// The databases the store is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Server {
    Memory,
    #[cfg(feature = "sqlite")]
    Sqlite,
    #[cfg(feature = "postgres")]
    Postgres,
    #[cfg(feature = "mysql")]
    Mysql,
}

/// A place for any number of schedulers.
pub struct Place {
    server: Server,
    directory: Option<tempfile::TempDir>,
    idle: Mutex<Vec<Idle>>,
}

/// A database whose cluster has gone. The next cluster takes it: a new one would connect, and
/// prepare each statement, anew.
struct Idle {
    name: String,
    clock: Arc<TestClock>,
    database: Arc<dyn TestDatabase>,
}

impl Idle {
    /// Nothing is left of the cluster that has gone.
    fn empty(self) -> Self {
        self.clock.reset();
        self.database.faults().cancel();
        self.database.forget_scheduler().expect("the rows are deleted");
        self.database.migrate().expect("the rows of a new scheduler are made");
        self
    }
}

impl Place {
    pub fn new(server: Server) -> Self {
        #[cfg(feature = "sqlite")]
        if server == Server::Sqlite {
            let directory = Some(tempfile::tempdir().expect("a temporary directory"));
            return Self { server, directory, idle: Mutex::default() };
        }
        Self { server, directory: None, idle: Mutex::default() }
    }

    pub fn server(&self) -> Server {
        self.server
    }

    /// An empty scheduler of this name, its tables made.
    pub fn database(&self, name: &str, clock: &Arc<TestClock>) -> Arc<dyn TestDatabase> {
        let clock: Arc<dyn Clock> = Arc::<TestClock>::clone(clock);
        let database: Arc<dyn TestDatabase> = match self.server {
            Server::Memory => {
                let _ = name; // each memory is a scheduler of its own
                Arc::new(MemoryDatabase::new(clock))
            }
            #[cfg(feature = "sqlite")]
            Server::Sqlite => {
                let directory = self.directory.as_ref().expect("the directory of the file");
                sql(&format!("sqlite:{}", directory.path().join("store.db").display()), name, clock)
            }
            #[cfg(feature = "postgres")]
            Server::Postgres => sql(&server_url("CARNELIAN_TEST_POSTGRES"), name, clock),
            #[cfg(feature = "mysql")]
            Server::Mysql => sql(&server_url("CARNELIAN_TEST_MYSQL"), name, clock),
        };
        // Safe to repeat and to race: every test and every process does it.
        database.migrate().expect("the tables are made");
        // A database asks its server once: later clusters on it would send a statement less.
        database.claims_rows().expect("the server says what it can do");
        database
    }

    /// An empty scheduler with a name of its own.
    fn fresh(&self) -> Idle {
        let (name, clock) = (fresh_name(), Arc::new(TestClock::default()));
        let database = self.database(&name, &clock);
        Idle { name, clock, database }
    }

    /// An empty scheduler.
    pub fn cluster(&self) -> Cluster<'_> {
        let idle = self.idle.lock().expect("no test has failed").pop();
        let Idle { name, clock, database } = idle.map_or_else(|| self.fresh(), Idle::empty);
        let has_lost_commits = Cell::new(false);
        let mut cluster = Cluster { place: self, store: None, name, clock, database, has_lost_commits };
        cluster.store = Some(cluster.store_with(|_| {}));
        cluster
    }
}

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
fn sql(url: &str, name: &str, clock: Arc<dyn Clock>) -> Arc<dyn TestDatabase> {
    let mut settings = Settings::in_database(name, url.parse().expect("a URL of a database"));
    settings.job_store.clock = ClockSource::Node;
    Arc::new(SqlDatabase::open(&settings, clock).expect("the database opens"))
}

fn server_url(variable: &str) -> String {
    match std::env::var(variable) {
        Ok(url) if !url.is_empty() => url,
        _ => panic!("{variable} names no server: run the tests by ./tests/run, which starts one"),
    }
}

/// A name that no other test has, in this run or another on the same server.
fn fresh_name() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let random = getrandom::u32().expect("the system has random numbers");
    format!("store_{:x}_{random:08x}_{:x}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Runs one test on one database; what it leaves behind must not violate anything.
pub fn run(server: Server, story: impl Fn(&Cluster<'_>)) {
    let place = Place::new(server);
    let cluster = place.cluster();
    story(&cluster);
    cluster.check();
}

/// One scheduler with its clock, and a store by which a test looks at the scheduler and changes it
/// from outside.
pub struct Cluster<'a> {
    pub place: &'a Place,
    store: Option<JobStore>,
    pub name: String,
    pub clock: Arc<TestClock>,
    pub database: Arc<dyn TestDatabase>,
    /// True if the database may have found out that it has lost commits, which it tells later.
    has_lost_commits: Cell<bool>,
}

impl std::ops::Deref for Cluster<'_> {
    type Target = JobStore;

    fn deref(&self) -> &JobStore {
        self.store.as_ref().expect("set when it was made")
    }
}

impl Cluster<'_> {
    /// A store of this scheduler with other settings.
    pub fn store_with(&self, change: impl FnOnce(&mut Settings)) -> JobStore {
        let mut settings = Settings::named(&self.name);
        change(&mut settings);
        let database: Arc<dyn Database> = Arc::clone(&self.database) as Arc<dyn Database>;
        JobStore::new(database, Arc::<TestClock>::clone(&self.clock), settings)
    }

    /// A node that has not checked in yet.
    pub fn stranger(&self, name: &str) -> Node {
        let mut me = Membership::new(name);
        // A node says of itself what it is, as the nodes of an engine do.
        me.node = Some(NodeReport::default());
        Node { store: self.store_with(|_| {}), me }
    }

    /// A node that is registered.
    pub fn node(&self, name: &str) -> Node {
        let mut node = self.stranger(name);
        assert!(node.check_in().registered, "{name} registers");
        node
    }

    /// Stores a job with its triggers.
    pub fn put(&self, job: &JobDetail, triggers: Vec<Trigger>) -> Vec<Trigger> {
        self.catalogue().schedule(vec![(job.clone(), triggers)], false).expect("the job is stored")
    }

    /// The next transaction of this purpose is answered, and not kept.
    pub fn lose_commit_of(&self, purpose: &'static str) {
        self.has_lost_commits.set(true);
        self.database.faults().forget(purpose);
    }

    /// The time, counted from [`START`].
    pub fn clock_ms(&self) -> i64 {
        self.clock.wall_time().timestamp_millis() - START
    }

    /// The whole of what is stored.
    pub fn look(&self) -> Snapshot {
        self.upkeep().snapshot().expect("everything can be read")
    }

    /// The stored rows as text, to compare.
    pub fn picture(&self) -> String {
        picture(&self.look())
    }

    /// The state of a trigger in the group `DEFAULT`, `-` if there is none.
    pub fn state(&self, trigger: &str) -> String {
        self.state_of(&TriggerKey::named(trigger))
    }

    pub fn state_of(&self, key: &TriggerKey) -> String {
        self.catalogue()
            .trigger_state(key)
            .expect("its state can be read")
            .map_or("-".to_owned(), |state| state.to_string())
    }

    /// The row of a trigger.
    pub fn row(&self, trigger: &str) -> TriggerRow {
        let key = TriggerKey::named(trigger);
        self.look().triggers.into_iter().find(|t| t.key == key).unwrap_or_else(|| panic!("trigger {trigger} is there"))
    }

    /// The next time of a trigger, counted from [`START`].
    pub fn next(&self, trigger: &str) -> Option<i64> {
        self.row(trigger).next_ms.map(|ms| ms - START)
    }

    pub fn has_job(&self, name: &str) -> bool {
        self.catalogue().job(&JobKey::named(name)).expect("it can be read").is_some()
    }

    /// Fired rows in a state.
    pub fn fires(&self, state: FiredState) -> Vec<FiredRow> {
        self.look().fired.into_iter().filter(|f| f.state == state).collect()
    }

    /// Changes rows as somebody might by hand, past every story.
    pub fn by_hand(&self, mut work: impl FnMut(&mut dyn Session) -> Result<()>) {
        self.database
            .transact("edit by hand", TxMode::Exclusive(Lock::TriggerAccess), &mut |s| work(s))
            .expect("the edit is written");
    }

    /// Fails unless every invariant holds.
    #[track_caller]
    pub fn check(&self) {
        let found: Vec<String> = violations(&self.look()).iter().map(ToString::to_string).collect();
        assert!(found.is_empty(), "violations on {}:\n{}", self.database.describe(), found.join("\n"));
    }
}

impl Drop for Cluster<'_> {
    fn drop(&mut self) {
        self.store = None;
        let is_fit = Arc::strong_count(&self.database) == 1 && !self.has_lost_commits.get();
        if is_fit && self.place.server != Server::Memory && !std::thread::panicking() {
            let (name, clock) = (self.name.clone(), Arc::clone(&self.clock));
            let idle = Idle { name, clock, database: Arc::clone(&self.database) };
            self.place.idle.lock().expect("no test has failed").push(idle);
        }
    }
}

/// A snapshot without what may differ between runs, in an order of its own.
pub fn picture(snapshot: &Snapshot) -> String {
    fn lines<T: std::fmt::Debug>(out: &mut Vec<String>, what: &str, rows: &[T]) {
        let mut rows: Vec<String> = rows.iter().map(|row| format!("{what} {row:?}")).collect();
        rows.sort();
        out.extend(rows);
    }
    let mut out = Vec::new();
    lines(&mut out, "job", &snapshot.jobs);
    lines(&mut out, "trigger", &snapshot.triggers);
    lines(&mut out, "fire", &snapshot.fired);
    lines(&mut out, "instance", &snapshot.instances);
    lines(&mut out, "paused", &snapshot.paused_groups);
    lines(&mut out, "calendar", &snapshot.calendars);
    lines(&mut out, "recovery", &snapshot.recoveries);
    lines(&mut out, "stray", &snapshot.stray_schedules);
    out.join("\n")
}

/// The job type that every node of the tests runs.
pub const TYPE: &str = "work";

/// A node: a store and a place in the cluster.
#[derive(Clone)]
pub struct Node {
    pub store: JobStore,
    pub me: Membership,
}

impl Node {
    pub fn check_in(&mut self) -> Checkin {
        self.try_check_in().expect("the check-in is written")
    }

    pub fn try_check_in(&mut self) -> Result<Checkin> {
        self.store.upkeep().check_in(&mut self.me)
    }

    pub fn owner(&self) -> Owner {
        self.me.owner().expect("the node is registered")
    }

    /// Takes up to `max` triggers that are due within 30 seconds.
    pub fn acquire(&self, max: usize) -> Acquisition {
        self.try_acquire(max).expect("triggers are acquired")
    }

    pub fn try_acquire(&self, max: usize) -> Result<Acquisition> {
        self.acquire_types(max, &[TYPE.to_owned()], &BTreeSet::new())
    }

    pub fn acquire_types(
        &self,
        max: usize,
        job_types: &[String],
        quarantined: &BTreeSet<TriggerKey>,
    ) -> Result<Acquisition> {
        let request =
            AcquireRequest { max, prefetch: None, look_ahead_ms: 30_000, fire_ahead_ms: 0, job_types, quarantined };
        self.store.firing().acquire(&self.owner(), &request)
    }

    /// Takes what is due now and reserves nothing.
    pub fn try_acquire_due(&self, max: usize) -> Result<Acquisition> {
        let (job_types, quarantined) = (&[TYPE.to_owned()][..], &BTreeSet::new());
        let request =
            AcquireRequest { max, prefetch: None, look_ahead_ms: 0, fire_ahead_ms: 0, job_types, quarantined };
        self.store.firing().acquire(&self.owner(), &request)
    }

    pub fn try_turn(&self, ended: &[Completion], max: usize) -> Result<(CompletionReport, Acquisition)> {
        let (job_types, quarantined) = (&[TYPE.to_owned()], &BTreeSet::new());
        let request = AcquireRequest {
            max,
            prefetch: None,
            look_ahead_ms: 30 * SECOND,
            fire_ahead_ms: 0,
            job_types,
            quarantined,
        };
        self.store.firing().complete_and_acquire(&self.owner(), ended, &request)
    }

    pub fn fire(&self, reservations: &[Reservation]) -> Vec<FireBundle> {
        self.try_to_fire(reservations).expect("reservations are fired")
    }

    /// The fires; the error of the commit if its outcome is not known.
    pub fn try_to_fire(&self, reservations: &[Reservation]) -> Result<Vec<FireBundle>> {
        let acquisition = self.store.firing().fire(&self.owner(), reservations)?;
        acquisition.doubt.map_or(Ok(acquisition.fired), |doubt| Err(doubt.error))
    }

    /// Acquires what is due now; nothing may be reserved.
    pub fn run_due(&self, max: usize) -> Vec<FireBundle> {
        let acquired = self.acquire(max);
        assert_eq!(acquired.reserved, [], "nothing is reserved");
        acquired.fired
    }

    /// Acquires the one trigger that is due now.
    pub fn run_one(&self) -> FireBundle {
        let mut fired = self.run_due(1);
        fired.pop().expect("one trigger is due")
    }

    /// Reserves the one trigger that is due soon.
    pub fn reserve_one(&self) -> Reservation {
        let mut acquired = self.acquire(1);
        assert!(acquired.fired.is_empty(), "nothing is due yet");
        acquired.reserved.pop().expect("one trigger is due soon")
    }

    pub fn complete(&self, bundle: &FireBundle) -> CompletionOutcome {
        self.complete_with(bundle, CompletionInstruction::NoInstruction)
    }

    pub fn complete_with(&self, bundle: &FireBundle, instruction: CompletionInstruction) -> CompletionOutcome {
        let outcomes = self.complete_all(&[bundle.completion(instruction, None)]);
        *outcomes.first().expect("one outcome")
    }

    pub fn complete_all(&self, completions: &[Completion]) -> Vec<CompletionOutcome> {
        self.store.firing().complete(&self.owner(), completions).expect("completions are written").outcomes
    }
}

/// A moment counted from [`START`].
pub fn at(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(START + ms).expect("a moment")
}

/// Time goes by in which `observer` alone checks in, until all others are dead. The observer was
/// away itself a while ago, and the store has answered for so long since that a failure now puts
/// off no verdict once more.
pub fn falls_silent(c: &Cluster, observer: &mut Node) {
    for wait in [21 * SECOND, 3 * SECOND, 3 * SECOND] {
        c.clock.advance(wait);
        assert_eq!(observer.check_in().recovered, []);
    }
    c.clock.advance(SECOND + 501);
}

/// A job of the group `DEFAULT` that every node can run.
pub fn a_job(name: &str) -> JobDetailBuilder {
    JobDetail::builder(JobKey::named(name), TYPE)
}

/// A plain job.
pub fn job(name: &str) -> JobDetail {
    a_job(name).build().expect("a job")
}

/// A job of which at most one fire runs at a time.
pub fn lone(name: &str) -> JobDetail {
    a_job(name).disallow_concurrent_execution(true).build().expect("a job")
}

/// A job that is run again when its node dies.
pub fn precious(name: &str) -> JobDetail {
    a_job(name).requests_recovery(true).build().expect("a job")
}

/// A trigger of the group `DEFAULT` that begins `ms` after [`START`].
pub fn a_trigger(name: &str, job: &JobDetail, ms: i64) -> TriggerBuilder {
    Trigger::builder(TriggerKey::named(name), job.key().clone()).start_at(at(ms))
}

/// Fires once, `ms` after [`START`].
pub fn once(name: &str, job: &JobDetail, ms: i64) -> Trigger {
    a_trigger(name, job, ms).build().expect("a trigger")
}

/// Fires every minute for ever, first `ms` after [`START`].
pub fn minutely(name: &str, job: &JobDetail, ms: i64) -> Trigger {
    every_minute(name, job, ms).build().expect("a trigger")
}

pub fn every_minute(name: &str, job: &JobDetail, ms: i64) -> TriggerBuilder {
    a_trigger(name, job, ms).schedule(every(60))
}

pub fn every(seconds: u64) -> Schedule {
    SimpleSchedule::every(Duration::from_secs(seconds)).into()
}

/// The names of the triggers of fires, in order.
pub fn names(fired: &[FireBundle]) -> Vec<&str> {
    fired.iter().map(|f| f.trigger.key().name()).collect()
}

pub fn key(name: &str) -> TriggerKey {
    TriggerKey::named(name)
}
