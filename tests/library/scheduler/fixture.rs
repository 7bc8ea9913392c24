//! A cluster in one process: several schedulers on one database that can fail.

use crate::support::wait_until;
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::Settings;
use carnelian::store::row::{Departure, FiredSelection};
use carnelian::store::{Database, JobStore, Lock, MemoryDatabase, Session, StatementCounts, TxMode, violations};
use carnelian::{
    DatabaseError, FailureClass, JobDetail, JobKey, Result, Scheduler, SchedulerBuilder, Trigger, TriggerKey,
};
use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

/// Longer than anything here takes.
pub const LONG: Duration = Duration::from_secs(30);

/// A database that can be switched off, for everything or for one purpose, can lose the answer of
/// one commit and then be off, can keep one waiting for its answer, and can fail by dice.
pub struct Switch {
    inner: Arc<dyn Database>,
    off: AtomicBool,
    refused: parking_lot::Mutex<Option<&'static str>>,
    /// The purposes of all transactions, the first one first.
    asked: parking_lot::Mutex<Vec<&'static str>>,
    lose_next: parking_lot::Mutex<Option<&'static str>>,
    hold_next: parking_lot::Mutex<Option<Hold>>,
    dice: Option<Dice>,
}

/// An answer that is kept back, the channel that tells of it, and the channel that lets it go.
type Hold = (&'static str, Sender<()>, Receiver<()>);

/// One transaction in five gets no connection, of the others one in five is not committed, and of
/// the rest one in five is, and nobody is told: what Quartz does to its own stores. The thread that
/// made it is spared, and so is the thread that leaves the cluster for it.
struct Dice {
    seed: u64,
    thrown: AtomicU64,
    spared: ThreadId,
}

impl Dice {
    fn new(seed: u64) -> Self {
        println!("the database fails by the dice of CARNELIAN_SEED={seed}");
        Self { seed, thrown: AtomicU64::new(0), spared: std::thread::current().id() }
    }

    /// The thread that leaves the cluster works for the one that ends the node.
    fn spares(&self, thread: &std::thread::Thread) -> bool {
        thread.id() == self.spared || thread.name().is_some_and(|name| name.ends_with("-leave"))
    }

    /// A number below 10 (the finisher of splitmix64, of a counter).
    fn throw(&self) -> u64 {
        let count = self.thrown.fetch_add(1, Ordering::SeqCst) + 1;
        let mut z = self.seed.wrapping_add(count.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % 10
    }
}

impl Switch {
    pub fn turn(&self, on: bool) {
        self.off.store(!on, Ordering::SeqCst);
    }

    /// Transactions of this purpose fail until another is named.
    pub fn refuse(&self, purpose: Option<&'static str>) {
        *self.refused.lock() = purpose;
    }

    /// The number of transactions of a purpose before the first of another one that came after one
    /// of them; none as long as none has come.
    pub fn tries_before(&self, purpose: &str, next: &str) -> Option<usize> {
        let asked = self.asked.lock();
        let first = asked.iter().position(|one| *one == purpose)?;
        let behind = asked.get(first..).unwrap_or_default();
        let end = behind.iter().position(|one| *one == next)?;
        Some(behind.iter().take(end).filter(|one| **one == purpose).count())
    }

    /// The next transaction of this purpose that commits is not answered, and the database is off
    /// afterwards.
    pub fn lose_answer_of(&self, purpose: &'static str) {
        *self.lose_next.lock() = Some(purpose);
    }

    pub fn is_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }

    /// The next transaction of this purpose is committed, and answered when the second channel is.
    /// The first says that it has come so far.
    pub fn hold_answer_of(&self, purpose: &'static str) -> (Receiver<()>, Sender<()>) {
        let ((come, comes), (go, goes)) = (bounded(1), bounded(1));
        *self.hold_next.lock() = Some((purpose, come, goes));
        (comes, go)
    }

    fn run(
        &self,
        purpose: &'static str,
        begin: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let Some(dice) = self.dice.as_ref().filter(|dice| !dice.spares(&std::thread::current())) else {
            return self.inner.transact(purpose, begin, work);
        };
        if dice.throw() < 2 {
            return Err(failure(purpose, FailureClass::Unavailable));
        }
        // The caller knows that nothing was committed, or not even that.
        let class = match dice.throw() {
            0 => FailureClass::ConnectionLost,
            1 => FailureClass::CommitUnknown,
            _ => {
                self.inner.transact(purpose, begin, work)?;
                let answered = dice.throw() >= 2;
                return if answered { Ok(()) } else { Err(failure(purpose, FailureClass::CommitUnknown)) };
            }
        };
        self.inner.transact(purpose, begin, &mut |session| {
            work(session)?;
            Err(failure(purpose, class))
        })
    }
}

fn failure(operation: &str, class: FailureClass) -> carnelian::Error {
    DatabaseError { operation: operation.to_owned(), message: "switched off".to_owned(), class }.into()
}

impl Database for Switch {
    fn transact(
        &self,
        purpose: &'static str,
        begin: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        self.asked.lock().push(purpose);
        if self.is_off() || *self.refused.lock() == Some(purpose) {
            return Err(failure(purpose, FailureClass::Unavailable));
        }
        let before = self.inner.counts().statements;
        self.run(purpose, begin, work)?;
        let held = self.hold_next.lock().take_if(|(held, ..)| *held == purpose);
        if let Some((_, come, goes)) = held {
            come.send(()).expect("the test waits");
            goes.recv().expect("the test lets go");
        }
        let mut lose_next = self.lose_next.lock();
        // A pass that found nothing is not worth losing.
        if *lose_next == Some(purpose) && self.inner.counts().statements - before > 3 {
            *lose_next = None;
            self.turn(false);
            return Err(failure(purpose, FailureClass::CommitUnknown));
        }
        Ok(())
    }

    fn fences(&self) -> Option<&carnelian::store::Fences> {
        self.inner.fences()
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

    fn completes_beside(&self) -> bool {
        self.inner.completes_beside()
    }

    fn has_fast_path(&self) -> bool {
        self.inner.has_fast_path()
    }

    fn counts(&self) -> StatementCounts {
        self.inner.counts()
    }

    fn describe(&self) -> String {
        format!("{} with a switch", self.inner.describe())
    }
}

/// Short, since the names of threads begin with it and systems keep fifteen letters of those.
fn fresh_name() -> String {
    format!("t{:06x}", getrandom::u32().expect("random numbers") >> 8)
}

pub struct Cluster {
    pub clock: Arc<dyn Clock>,
    pub database: Arc<Switch>,
    /// The database of the cluster, if it is in memory.
    #[cfg_attr(not(feature = "test-util"), allow(dead_code, reason = "for tests that plan faults"))]
    pub memory: Option<Arc<MemoryDatabase>>,
    pub name: String,
    pub checkin_interval: Duration,
    pub tolerance: Duration,
    pub misfire_threshold: Duration,
    #[expect(dead_code, reason = "deleted when it goes")]
    folder: Option<tempfile::TempDir>,
}

impl Cluster {
    pub fn new() -> Self {
        Self::with_checkin(Duration::from_secs(15), Duration::from_millis(7500))
    }

    pub fn with_checkin(checkin_interval: Duration, tolerance: Duration) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let inner = Arc::new(MemoryDatabase::new(Arc::clone(&clock)));
        Self {
            checkin_interval,
            tolerance,
            memory: Some(Arc::clone(&inner)),
            ..Self::on(inner, clock, fresh_name(), None)
        }
    }

    /// On memory, failing by dice: of `CARNELIAN_SEED` if it is set.
    pub fn flaky() -> Self {
        Self::new().with_dice()
    }

    /// On a file of its own.
    #[cfg(feature = "sqlite")]
    pub fn on_sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        Self::on_sql(&format!("sqlite:{}", folder.path().join("jobs.db").display()), Some(folder))
    }

    /// On its own rows in the tables of a server.
    #[cfg(any(feature = "postgres", feature = "mysql"))]
    pub fn on_server(url: &str) -> Self {
        Self::on_sql(url, None)
    }

    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    fn on_sql(url: &str, folder: Option<tempfile::TempDir>) -> Self {
        use carnelian::store::SqlDatabase;
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let name = fresh_name();
        let settings = Settings::in_database(&name, url.parse().expect("a good URL"));
        let database = SqlDatabase::open(&settings, Arc::clone(&clock)).expect("it opens");
        database.migrate().expect("the tables are made");
        Self::on(Arc::new(database), clock, name, folder)
    }

    /// A cluster on SQLite whose database fails by dice.
    #[cfg(feature = "sqlite")]
    pub fn flaky_on_sqlite() -> Self {
        Self::on_sqlite().with_dice()
    }

    fn with_dice(mut self) -> Self {
        let given = std::env::var("CARNELIAN_SEED").ok().and_then(|seed| seed.parse().ok());
        let seed = given.unwrap_or_else(|| getrandom::u64().expect("random numbers"));
        Arc::get_mut(&mut self.database).expect("nobody else has it yet").dice = Some(Dice::new(seed));
        self
    }

    fn on(inner: Arc<dyn Database>, clock: Arc<dyn Clock>, name: String, folder: Option<tempfile::TempDir>) -> Self {
        let database = Arc::new(Switch {
            inner,
            off: AtomicBool::new(false),
            refused: parking_lot::Mutex::default(),
            asked: parking_lot::Mutex::default(),
            lose_next: parking_lot::Mutex::default(),
            hold_next: parking_lot::Mutex::default(),
            dice: None,
        });
        Self {
            clock,
            database,
            memory: None,
            name,
            checkin_interval: Duration::from_secs(15),
            tolerance: Duration::from_millis(7500),
            misfire_threshold: Duration::from_secs(60),
            folder,
        }
    }

    pub fn store(&self) -> JobStore {
        let mut settings = Settings::named(&self.name);
        settings.job_store.misfire_threshold = self.misfire_threshold;
        settings.job_store.checkin_interval = self.checkin_interval;
        settings.job_store.checkin_misfire_threshold = self.tolerance;
        JobStore::new(Arc::clone(&self.database) as Arc<dyn Database>, Arc::clone(&self.clock), settings)
    }

    /// A node with this name and so many workers.
    pub fn node(&self, instance: &str, workers: usize) -> SchedulerBuilder {
        self.node_with(instance, &format!("threadPool.threadCount = {workers}"))
    }

    /// A node with these properties.
    pub fn node_with(&self, instance: &str, properties: &str) -> SchedulerBuilder {
        let settings = Settings::from_text("test", properties, |_| None).expect("good settings");
        Scheduler::builder().settings(settings).store(self.store()).clock(Arc::clone(&self.clock)).instance_id(instance)
    }

    /// Does what a peer does with a node that it takes for dead, without recovering anything. Rows
    /// that somebody holds stay.
    pub fn convict(&self, instance: &str) {
        self.transact(&mut |session| {
            let free = session.fired(FiredSelection::FreeOfInstance(instance, usize::MAX))?;
            let ids: Vec<String> = free.into_iter().map(|fired| fired.fire_id).collect();
            session.delete_fired(&ids, Vec::new())?;
            assert!(session.delete_instance(instance, Departure::Any)?);
            Ok(())
        });
    }

    fn transact(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) {
        let both = &mut |session: &mut dyn Session| {
            session.lock(Lock::TriggerAccess)?;
            work(session)
        };
        self.database.inner.transact("test", TxMode::Exclusive(Lock::StateAccess), both).expect("a transaction");
    }

    #[track_caller]
    pub fn assert_sound(&self) {
        let found = violations(&self.store().upkeep().snapshot().expect("a snapshot"));
        assert!(found.is_empty(), "{found:?}");
    }

    /// Waits until no fire is reserved or running.
    #[track_caller]
    pub fn await_quiet(&self) {
        let store = self.store();
        wait_until("no fire is left", LONG, || store.upkeep().fired_triggers().is_ok_and(|fires| fires.is_empty()));
    }
}

pub fn job(name: &str, job_type: &str) -> JobDetail {
    JobDetail::builder(JobKey::new("g", name), job_type).build().expect("a good job")
}

/// The failed passes in a row of the service of this name.
#[track_caller]
pub fn errors_in_a_row(node: &Scheduler, service: &str) -> u64 {
    let services = node.health().services;
    services.iter().find(|one| one.name == service).expect("the node has the service").errors_in_a_row
}

/// Fires once, now.
pub fn now(name: &str, job: &JobDetail) -> Trigger {
    Trigger::builder(TriggerKey::new("g", name), job.key().clone()).build().expect("a good trigger")
}
