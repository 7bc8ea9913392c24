//! A cluster in one process: several schedulers on one memory database that can fail.

use crate::support::wait_until;
use carnelian::clock::{Clock, SystemClock};
use carnelian::settings::Settings;
use carnelian::store::{
    Begin, Database, JobStore, Lock, MemoryDatabase, Session, StatementCounts, StoreSettings, violations,
};
use carnelian::{
    DatabaseError, FailureClass, JobDetail, JobKey, Result, Scheduler, SchedulerBuilder, Trigger, TriggerKey,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Longer than anything here takes.
pub const LONG: Duration = Duration::from_secs(30);

/// A database that can be switched off, for everything or for one purpose, and can lose the answer of one commit and
/// then be off.
pub struct Switch {
    inner: MemoryDatabase,
    off: AtomicBool,
    refused: parking_lot::Mutex<Option<&'static str>>,
    lose_next: parking_lot::Mutex<Option<&'static str>>,
}

impl Switch {
    pub fn turn(&self, on: bool) {
        self.off.store(!on, Ordering::SeqCst);
    }

    /// Transactions of this purpose fail until another is named.
    pub fn refuse(&self, purpose: Option<&'static str>) {
        *self.refused.lock() = purpose;
    }

    /// The next transaction of this purpose that commits is not answered, and the database is off afterwards.
    pub fn lose_answer_of(&self, purpose: &'static str) {
        *self.lose_next.lock() = Some(purpose);
    }

    pub fn is_off(&self) -> bool {
        self.off.load(Ordering::SeqCst)
    }
}

fn failure(operation: &str, class: FailureClass) -> carnelian::Error {
    DatabaseError { operation: operation.to_owned(), message: "switched off".to_owned(), class }.into()
}

impl Database for Switch {
    fn transact(
        &self,
        purpose: &'static str,
        begin: Begin,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        if self.is_off() || *self.refused.lock() == Some(purpose) {
            return Err(failure(purpose, FailureClass::Unavailable));
        }
        let before = self.inner.counts().statements;
        self.inner.transact(purpose, begin, work)?;
        let mut lose_next = self.lose_next.lock();
        // A pass that found nothing is not worth losing.
        if *lose_next == Some(purpose) && self.inner.counts().statements - before > 3 {
            *lose_next = None;
            self.turn(false);
            return Err(failure(purpose, FailureClass::CommitUnknown));
        }
        Ok(())
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

    fn counts(&self) -> StatementCounts {
        self.inner.counts()
    }

    fn describe(&self) -> String {
        "memory with a switch".to_owned()
    }
}

pub struct Cluster {
    pub clock: Arc<dyn Clock>,
    pub database: Arc<Switch>,
    pub checkin_interval: Duration,
    pub tolerance: Duration,
}

impl Cluster {
    pub fn new() -> Self {
        Self::with_checkin(Duration::from_secs(15), Duration::from_millis(7500))
    }

    pub fn with_checkin(checkin_interval: Duration, tolerance: Duration) -> Self {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock::default());
        let inner = MemoryDatabase::new(Arc::clone(&clock));
        let database = Arc::new(Switch {
            inner,
            off: AtomicBool::new(false),
            refused: parking_lot::Mutex::default(),
            lose_next: parking_lot::Mutex::default(),
        });
        Self { clock, database, checkin_interval, tolerance }
    }

    pub fn store(&self) -> JobStore {
        let settings = StoreSettings {
            scheduler_name: "test".to_owned(),
            checkin_interval: self.checkin_interval,
            checkin_tolerance: self.tolerance,
            ..StoreSettings::default()
        };
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

    /// What a peer does with a node that it takes for dead, without recovering anything.
    pub fn convict(&self, instance: &str) {
        self.transact(&mut |session| {
            let ids: Vec<String> =
                session.fired_of_instance(instance)?.into_iter().map(|fired| fired.fire_id).collect();
            session.delete_fired(&ids)?;
            assert!(session.delete_instance(instance, None)?);
            Ok(())
        });
    }

    fn transact(&self, work: &mut dyn FnMut(&mut dyn Session) -> Result<()>) {
        let both = &mut |session: &mut dyn Session| {
            session.lock(Lock::TriggerAccess)?;
            work(session)
        };
        self.database.inner.transact("test", Begin::Locking(Lock::StateAccess), both).expect("a transaction");
    }

    #[track_caller]
    pub fn assert_sound(&self) {
        let found = violations(&self.store().snapshot().expect("a snapshot"));
        assert!(found.is_empty(), "{found:?}");
    }

    /// Waits until no fire is reserved or running.
    #[track_caller]
    pub fn await_quiet(&self) {
        let store = self.store();
        wait_until("no fire is left", LONG, || store.fired_triggers().is_ok_and(|fires| fires.is_empty()));
    }
}

pub fn job(name: &str, job_type: &str) -> JobDetail {
    JobDetail::builder(JobKey::new("g", name), job_type).build().expect("a good job")
}

/// Fires once, now.
pub fn now(name: &str, job: &JobDetail) -> Trigger {
    Trigger::builder(TriggerKey::new("g", name), job.key().clone()).build().expect("a good trigger")
}
