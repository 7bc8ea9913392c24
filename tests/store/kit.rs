//! The kit of the store's tests: a clock that stands still, a cluster, its nodes, short ways to
//! make jobs and triggers.

use carnelian::clock::Clock;
use carnelian::clock::{Signal, Woken};
use carnelian::settings::{PollingStrategy, Settings};
use carnelian::store::row::{FiredState, Snapshot};
use carnelian::store::{
    AcquireRequest, Acquisition, Checkin, Completion, CompletionInstruction, CompletionOutcome, Database, FireBundle,
    JobStore, Lock, Membership, Owner, Recovered, Reservation, Session, StatementCounts, TxMode, violations,
};
use carnelian::{JobDetail, JobDetailBuilder, JobKey, Result, SimpleSchedule, Trigger, TriggerBuilder, TriggerKey};
use chrono::{DateTime, Utc};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

/// The time at which each test begins: 2027-01-15T08:00:00Z.
pub const NOW: i64 = 1_800_000_000_000;
pub const SECOND: i64 = 1_000;
pub const MINUTE: i64 = 60 * SECOND;
/// The time for which a node may be silent: interval and tolerance.
pub const WINDOW: i64 = 22_500;

/// Stands still until it is moved. Nobody waits on it: a wait ends at once.
#[derive(Debug)]
pub struct TestClock {
    wall: AtomicI64,
    ticks: AtomicI64,
    /// True if a wait moves the clock to the wait's end.
    pub moves: AtomicBool,
}

impl TestClock {
    fn new() -> Self {
        Self { wall: AtomicI64::new(NOW), ticks: AtomicI64::new(0), moves: AtomicBool::new(false) }
    }

    fn reset(&self) {
        self.wall.store(NOW, Ordering::SeqCst);
        self.ticks.store(0, Ordering::SeqCst);
        self.moves.store(false, Ordering::SeqCst);
    }

    pub fn advance(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
        self.ticks.fetch_add(ms, Ordering::SeqCst);
    }

    /// Sets the wall clock alone, as an administrator would.
    pub fn jump(&self, ms: i64) {
        self.wall.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn wall_time(&self) -> DateTime<Utc> {
        DateTime::from_timestamp_millis(self.wall.load(Ordering::SeqCst)).expect("a date")
    }

    fn ticks(&self) -> Duration {
        Duration::from_millis(self.ticks.load(Ordering::SeqCst).unsigned_abs())
    }

    fn wait(&self, _: &Signal, until: Option<Duration>) -> Woken {
        if self.moves.load(Ordering::SeqCst) {
            let left = until.map_or(Duration::ZERO, |until| until.saturating_sub(self.ticks()));
            self.advance(i64::try_from(left.as_millis()).unwrap());
            return Woken::TimedOut;
        }
        #[expect(clippy::disallowed_methods, reason = "another thread of the test may hold the database")]
        std::thread::sleep(Duration::from_millis(1));
        Woken::TimedOut
    }
}

/// A database whose faults can be planned.
pub trait TestDatabase: Database {
    #[cfg(feature = "test-util")]
    fn plan(&self) -> &carnelian::store::faults::FaultPlan;
}

macro_rules! test_database {
    ($database:ty) => {
        impl TestDatabase for $database {
            #[cfg(feature = "test-util")]
            fn plan(&self) -> &carnelian::store::faults::FaultPlan {
                self.faults()
            }
        }
    };
}
test_database!(carnelian::store::MemoryDatabase);
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
test_database!(carnelian::store::SqlDatabase);

/// A database and what must live as long as it.
#[derive(Clone)]
pub struct Opened {
    pub database: Arc<dyn TestDatabase>,
    /// The strategy by which nodes take due triggers.
    pub strategy: PollingStrategy,
    #[expect(dead_code, reason = "deleted when it goes")]
    pub folder: Option<Arc<tempfile::TempDir>>,
}

pub type Open = fn(&str, Arc<dyn Clock>) -> Opened;

/// Databases whose clusters have gone, for tests of many clusters: a new one would connect, and
/// prepare each statement, anew.
static IDLE: parking_lot::Mutex<Vec<Idle>> = parking_lot::Mutex::new(Vec::new());

struct Idle {
    open: Open,
    scheduler: String,
    clock: Arc<TestClock>,
    opened: Opened,
}

impl Idle {
    fn new(open: Open) -> Self {
        let (scheduler, clock) = (crate::support::fresh_name("store"), Arc::new(TestClock::new()));
        let opened = open(&scheduler, Arc::clone(&clock) as _);
        Self { open, scheduler, clock, opened }
    }

    /// A database that is there, with nothing left of the cluster that has gone.
    fn of_a_cluster_before(open: Open) -> Option<Self> {
        let mut all = IDLE.lock();
        let at = all.iter().position(|idle| std::ptr::fn_addr_eq(idle.open, open))?;
        let idle = all.swap_remove(at);
        drop(all);
        idle.clock.reset();
        #[cfg(feature = "test-util")]
        idle.opened.database.plan().cancel();
        idle.opened.database.forget_scheduler().unwrap();
        idle.opened.database.migrate().unwrap();
        Some(idle)
    }
}

/// One scheduler and its nodes. The invariants must hold when the cluster goes.
pub struct Cluster {
    pub opened: Opened,
    pub clock: Arc<TestClock>,
    pub store: JobStore,
    settings: Settings,
    damaged: AtomicBool,
    /// The way in which its database was opened, if one after it may have the database.
    passes_on: Option<Open>,
}

impl Cluster {
    pub fn new(open: Open) -> Self {
        Self::with(open, |_| {})
    }

    pub fn with(open: Open, change: impl FnOnce(&mut Settings)) -> Self {
        Self::on(Idle::new(open), change)
    }

    /// A cluster of many in a test, which have one database, one after the other. The nodes of a
    /// cluster go before the cluster does.
    pub fn one_of_many(open: Open) -> Self {
        let idle = Idle::of_a_cluster_before(open).unwrap_or_else(|| Idle::new(open));
        // A database asks its server once: later clusters on it would send a statement less.
        idle.opened.database.claims_rows().unwrap();
        let mut cluster = Self::on(idle, |_| {});
        cluster.passes_on = Some(open);
        cluster
    }

    fn on(idle: Idle, change: impl FnOnce(&mut Settings)) -> Self {
        let Idle { scheduler, clock, opened, .. } = idle;
        let mut settings = Settings::named(&scheduler);
        settings.scheduler.time_zone = chrono_tz::Tz::UTC; // not the zone of the machine
        settings.job_store.polling_strategy = opened.strategy;
        change(&mut settings);
        let database: Arc<dyn Database> = Arc::clone(&opened.database) as _;
        let store = JobStore::new(database, Arc::clone(&clock) as _, settings.clone());
        Self { opened, clock, store, settings, damaged: AtomicBool::new(false), passes_on: None }
    }

    /// A node that has checked in.
    pub fn node(&self, name: &str) -> Node {
        let mut node = self.stranger(name);
        assert!(node.check_in().registered, "{name}");
        node
    }

    /// A node that has not checked in yet.
    pub fn stranger(&self, name: &str) -> Node {
        let database: Arc<dyn Database> = Arc::clone(&self.opened.database) as _;
        let store = JobStore::new(database, Arc::clone(&self.clock) as _, self.settings.clone());
        Node { store, me: Membership::new(name) }
    }

    /// A node that takes due triggers in another way than the others.
    pub fn node_polling(&self, name: &str, strategy: PollingStrategy) -> Node {
        let mut node = self.stranger(name);
        let mut settings = self.settings.clone();
        settings.job_store.polling_strategy = strategy;
        let database: Arc<dyn Database> = Arc::clone(&self.opened.database) as _;
        node.store = JobStore::new(database, Arc::clone(&self.clock) as _, settings);
        assert!(node.check_in().registered, "{name}");
        node
    }

    /// The node's next transaction for `purpose` is held up until `meanwhile` has happened.
    pub fn hold_up(&self, node: &mut Node, purpose: &'static str, meanwhile: impl FnOnce() + Send + 'static) {
        let once = Mutex::new(Some(meanwhile));
        self.before_each(node, move |next| {
            let meanwhile = if next == purpose { once.lock().unwrap().take() } else { None };
            if let Some(meanwhile) = meanwhile {
                meanwhile();
            }
        });
    }

    /// Lets something happen before each of the node's transactions; it is told the transaction's
    /// purpose.
    pub fn before_each(&self, node: &mut Node, meanwhile: impl Fn(&str) + Send + Sync + 'static) {
        let inner: Arc<dyn Database> = Arc::clone(&self.opened.database) as _;
        let held_up = HeldUp { inner, meanwhile: Box::new(meanwhile) };
        node.store = JobStore::new(Arc::new(held_up), Arc::clone(&self.clock) as _, self.settings.clone());
    }

    /// Time passes.
    pub fn advance(&self, ms: i64) {
        self.clock.advance(ms);
    }

    pub fn now(&self) -> i64 {
        self.clock.wall_time().timestamp_millis()
    }

    /// Stores a job with its triggers.
    pub fn schedule<const N: usize>(&self, job: JobDetailBuilder, triggers: [TriggerBuilder; N]) -> Vec<Trigger> {
        self.try_schedule(job, triggers).unwrap()
    }

    pub fn try_schedule<const N: usize>(
        &self,
        job: JobDetailBuilder,
        triggers: [TriggerBuilder; N],
    ) -> Result<Vec<Trigger>> {
        let triggers = triggers.into_iter().map(|t| t.build().unwrap()).collect();
        self.store.catalogue().schedule(vec![(job.build()?, triggers)], false)
    }

    /// The state of a trigger, `-` if there is none.
    pub fn state(&self, trigger: &str) -> String {
        self.state_of(&trigger_key(trigger))
    }

    pub fn state_of(&self, key: &TriggerKey) -> String {
        self.store.catalogue().trigger_state(key).unwrap().map_or("-", |state| state.name()).to_owned()
    }

    pub fn next(&self, trigger: &str) -> Option<i64> {
        self.store.catalogue().trigger(&trigger_key(trigger)).unwrap()?.next_fire_time().map(|t| t.timestamp_millis())
    }

    pub fn has_job(&self, name: &str) -> bool {
        self.store.catalogue().job(&job_key(name)).unwrap().is_some()
    }

    /// Fired rows as `trigger/STATE@instance`, sorted.
    pub fn fires(&self) -> Vec<String> {
        let mut fires: Vec<_> = self.store.upkeep().fired_triggers().unwrap();
        fires.sort_by(|a, b| (&a.trigger, &a.fire_id).cmp(&(&b.trigger, &b.fire_id)));
        let show = |f: &carnelian::FiredTrigger| {
            let state = if f.state == FiredState::Acquired { "ACQUIRED" } else { "EXECUTING" };
            format!("{}/{state}@{}", f.trigger.name(), f.instance)
        };
        fires.iter().map(show).collect()
    }

    /// The only recovery trigger.
    pub fn recovery_trigger(&self) -> Trigger {
        let keys = self.recovery_triggers();
        assert_eq!(keys.len(), 1, "{keys:?}");
        self.store.catalogue().trigger(&keys[0]).unwrap().unwrap()
    }

    pub fn recovery_triggers(&self) -> Vec<TriggerKey> {
        let rows = self.snapshot().triggers;
        rows.into_iter().map(|t| t.key).filter(|k| k.group() == carnelian::key::RECOVERY_GROUP).collect()
    }

    pub fn snapshot(&self) -> Snapshot {
        self.store.upkeep().snapshot().unwrap()
    }

    /// Everything but the instances, to see whether anything was written.
    pub fn rows(&self) -> String {
        format!("{:#?}", Snapshot { instances: Vec::new(), ..self.snapshot() })
    }

    /// Does to the rows what none of the store's stories would do.
    pub fn tamper(&self, mut work: impl FnMut(&mut dyn Session) -> Result<()>) {
        self.opened.database.transact("tamper", TxMode::Exclusive(Lock::TriggerAccess), &mut work).unwrap();
    }

    /// As [`Cluster::tamper`]; the invariants need not hold at the end.
    pub fn damage(&self, work: impl FnMut(&mut dyn Session) -> Result<()>) {
        self.damaged.store(true, Ordering::SeqCst);
        self.tamper(work);
    }

    /// The invariants must hold.
    pub fn check(&self) {
        let broken: Vec<String> = violations(&self.snapshot()).iter().map(ToString::to_string).collect();
        assert!(broken.is_empty(), "broken invariants:\n{}", broken.join("\n"));
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if std::thread::panicking() {
            return;
        }
        if !self.damaged.load(Ordering::SeqCst) {
            self.check();
        }
        // Ours, and our store's: nobody else can write any more.
        let is_alone = Arc::strong_count(&self.opened.database) == 2;
        if let Some(open) = self.passes_on.filter(|_| is_alone) {
            let (scheduler, clock) = (self.settings.scheduler.instance_name.clone(), Arc::clone(&self.clock));
            IDLE.lock().push(Idle { open, scheduler, clock, opened: self.opened.clone() });
        }
    }
}

/// A database before whose transactions something happens.
struct HeldUp {
    inner: Arc<dyn Database>,
    meanwhile: Box<dyn Fn(&str) + Send + Sync>,
}

impl Database for HeldUp {
    fn transact(
        &self,
        purpose: &'static str,
        begin: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        (self.meanwhile)(purpose);
        self.inner.transact(purpose, begin, work)
    }

    fn migrate(&self) -> Result<Vec<String>> {
        self.inner.migrate()
    }

    fn check_schema(&self) -> Result<()> {
        self.inner.check_schema()
    }

    fn forget_scheduler(&self) -> Result<()> {
        self.inner.forget_scheduler()
    }

    fn begins_apart(&self) -> bool {
        self.inner.begins_apart()
    }

    fn claims_rows(&self) -> Result<bool> {
        self.inner.claims_rows()
    }

    fn counts(&self) -> StatementCounts {
        self.inner.counts()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

/// A node as its threads see it.
pub struct Node {
    pub store: JobStore,
    pub me: Membership,
}

impl Node {
    pub fn check_in(&mut self) -> Checkin {
        self.store.upkeep().check_in(&mut self.me).unwrap()
    }

    /// Checks in, says whom it recovered.
    pub fn recovers(&mut self) -> Vec<Recovered> {
        self.check_in().recovered
    }

    pub fn owner(&self) -> Owner {
        self.me.owner().expect("registered")
    }

    pub fn try_acquire(&self, max: usize) -> Result<Acquisition> {
        self.acquire_with(max, |_| {})
    }

    pub fn acquire_with<'a>(&self, max: usize, change: impl FnOnce(&mut AcquireRequest<'a>)) -> Result<Acquisition> {
        static TYPES: LazyLock<Vec<String>> = LazyLock::new(|| vec!["work".to_owned()]);
        static NONE: BTreeSet<TriggerKey> = BTreeSet::new();
        let mut request = AcquireRequest {
            max,
            prefetch: None,
            look_ahead_ms: 30 * SECOND,
            fire_ahead_ms: 0,
            job_types: &TYPES,
            quarantined: &NONE,
        };
        change(&mut request);
        self.store.firing().acquire(&self.owner(), &request)
    }

    /// Takes up to 100 triggers.
    pub fn acquire(&self) -> Acquisition {
        self.try_acquire(100).unwrap()
    }

    /// Fires what is due now and must be one trigger.
    pub fn fire_one(&self) -> FireBundle {
        let mut fired = self.acquire().fired;
        assert_eq!(fired.len(), 1, "{fired:#?}");
        fired.pop().unwrap()
    }

    /// Reserves what is due soon and must be one trigger.
    pub fn reserve_one(&self) -> Reservation {
        let acquisition = self.acquire();
        assert_eq!((acquisition.fired.len(), acquisition.reserved.len()), (0, 1), "{acquisition:#?}");
        acquisition.reserved.into_iter().next().unwrap()
    }

    pub fn fire(&self, reservations: &[Reservation]) -> Vec<FireBundle> {
        self.try_to_fire(reservations).unwrap()
    }

    /// The fires; the error of the commit if its outcome is not known.
    pub fn try_to_fire(&self, reservations: &[Reservation]) -> Result<Vec<FireBundle>> {
        let acquisition = self.store.firing().fire(&self.owner(), reservations)?;
        acquisition.doubt.map_or(Ok(acquisition.fired), |doubt| Err(doubt.error))
    }

    /// The job has ended as jobs do.
    pub fn complete(&self, bundle: &FireBundle) -> CompletionOutcome {
        self.complete_with(bundle, CompletionInstruction::NoInstruction)
    }

    pub fn complete_with(&self, bundle: &FireBundle, instruction: CompletionInstruction) -> CompletionOutcome {
        self.complete_all(&[bundle.completion(instruction, None)])[0]
    }

    pub fn complete_all(&self, completions: &[Completion]) -> Vec<CompletionOutcome> {
        self.store.firing().complete(&self.owner(), completions).unwrap().outcomes
    }
}

pub fn job_key(name: &str) -> JobKey {
    JobKey::new("jobs", name)
}

pub fn trigger_key(name: &str) -> TriggerKey {
    TriggerKey::new("triggers", name)
}

/// A job of the type that every node here can run.
pub fn job(name: &str) -> JobDetailBuilder {
    JobDetail::builder(job_key(name), "work")
}

/// A job of which one fire may run at a time.
pub fn lone_job(name: &str) -> JobDetailBuilder {
    job(name).disallow_concurrent_execution(true)
}

/// Fires once.
pub fn once(name: &str, job: &str, at_ms: i64) -> TriggerBuilder {
    Trigger::builder(trigger_key(name), job_key(job)).start_at(at(at_ms))
}

/// Fires every minute, for ever.
pub fn minutely(name: &str, job: &str, from_ms: i64) -> TriggerBuilder {
    once(name, job, from_ms).schedule(SimpleSchedule::every(Duration::from_secs(60)))
}

pub fn at(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap()
}

/// Names of the triggers of bundles, in their order.
pub fn names(bundles: &[FireBundle]) -> Vec<&str> {
    bundles.iter().map(|b| b.trigger.key().name()).collect()
}
