//! `MemoryDatabase`: the rows of a scheduler in this process, for tests and for work that need not
//! survive it.

mod declared;
mod declared_tables;
mod executions;
mod fires;
#[cfg(any(test, feature = "test-util"))]
mod held_rows;
mod history;
mod indexes;
mod instances;
mod jobs;
mod journal;
mod listing;
mod placement;
mod polls;
#[cfg(any(test, feature = "test-util"))]
mod rehearsal;
mod tables;
mod triggers;

use super::database::{Database, Lock, Session, SnapshotRows, StatementCounts, TxMode};
use super::row::{FiredRow, LAST_COUNT, Notification, PausedGroupRow, Snapshot, SnapshotPlace, TriggerSelection};
use crate::clock::Clock;
use crate::error::{DatabaseError, Error, FailureClass, Result};
use crate::key::TriggerKey;
use parking_lot::Mutex;
#[cfg(any(test, feature = "test-util"))]
pub use rehearsal::MemoryBackup;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tables::Tables;

/// Quartz's `RAMJobStore`: maps behind one lock. Several stores over one `MemoryDatabase` are a
/// cluster.
///
/// The maps obey the same rules as a database: one transaction at a time, all or nothing, guarded
/// writes. The rows are lost with the process.
pub struct MemoryDatabase {
    clock: Arc<dyn Clock>,
    tables: Arc<Mutex<Tables>>,
    statements: AtomicU64,
    commits: AtomicU64,
    fences: super::Fences,
    #[cfg(any(test, feature = "test-util"))]
    faults: super::faults::FaultPlan,
    #[cfg(any(test, feature = "test-util"))]
    held: Arc<held_rows::HeldRows>,
}

impl MemoryDatabase {
    /// An empty database whose time is that of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self::over(clock, Arc::new(Mutex::new(Tables::migrated())))
    }

    fn over(clock: Arc<dyn Clock>, tables: Arc<Mutex<Tables>>) -> Self {
        Self {
            clock,
            tables,
            statements: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            fences: super::Fences::default(),
            #[cfg(any(test, feature = "test-util"))]
            faults: super::faults::FaultPlan::default(),
            #[cfg(any(test, feature = "test-util"))]
            held: Arc::default(),
        }
    }

    /// The faults that tests plan for this database.
    #[cfg(any(test, feature = "test-util"))]
    pub fn faults(&self) -> &super::faults::FaultPlan {
        &self.faults
    }
}

impl Database for MemoryDatabase {
    fn transact(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<()>,
    ) -> Result<()> {
        let mut tables = self.tables.lock();
        // A transaction that panicked has left its changes behind.
        tables.roll_back();
        let held = mode.lock();
        let notified = Vec::new();
        let mut session = MemorySession { database: self, tables: &mut tables, purpose, now_ms: None, held, notified };
        let worked = work(&mut session);
        if let Err(error) = worked {
            tables.roll_back();
            return Err(error);
        }
        #[cfg(any(test, feature = "test-util"))]
        if mode.may_write() {
            let drawn = tables.last_fence();
            let mut finish = |apply: bool| {
                if apply {
                    tables.commit()
                } else {
                    tables.roll_back()
                }
                Ok(())
            };
            if let Some(told) = self.faults.at_commit(purpose, &mut finish) {
                if told.is_ok() {
                    self.fences.note(drawn);
                }
                return told;
            }
        }
        tables.commit();
        self.fences.note(tables.last_fence());
        if mode.may_write() {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn migrate(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn outlives_process(&self) -> bool {
        false
    }

    fn fences(&self) -> Option<&super::Fences> {
        Some(&self.fences)
    }

    fn check_schema(&self) -> Result<()> {
        Ok(())
    }

    fn forget_scheduler(&self) -> Result<()> {
        *self.tables.lock() = Tables::migrated();
        self.fences.forget();
        Ok(())
    }

    fn counts(&self) -> StatementCounts {
        StatementCounts {
            statements: self.statements.load(Ordering::Relaxed),
            commits: self.commits.load(Ordering::Relaxed),
        }
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }
}

/// One transaction on the maps.
struct MemorySession<'a> {
    database: &'a MemoryDatabase,
    tables: &'a mut Tables,
    purpose: &'static str,
    now_ms: Option<i64>,
    held: Option<Lock>,
    notified: Vec<Notification>,
}

impl MemorySession<'_> {
    /// Counts a statement, which may be planned to fail.
    fn reads(&mut self) -> Result<()> {
        self.database.statements.fetch_add(1, Ordering::Relaxed);
        #[cfg(any(test, feature = "test-util"))]
        self.database.faults.before_statement(self.purpose)?;
        Ok(())
    }

    /// Counts a statement that changes triggers, jobs or fires: law 1, under `TRIGGER_ACCESS` only.
    fn changes(&mut self) -> Result<()> {
        debug_assert_eq!(self.held, Some(Lock::TriggerAccess), "{}: a change outside TRIGGER_ACCESS", self.purpose);
        self.reads()
    }

    fn duplicate(&self, what: &str, key: impl std::fmt::Display) -> Error {
        self.failure(format!("{what} `{key}` exists already"), FailureClass::UniqueViolation)
    }

    fn failure(&self, message: String, class: FailureClass) -> Error {
        DatabaseError { operation: self.purpose.to_owned(), message, class }.into()
    }
}

impl Session for MemorySession<'_> {
    fn now_ms(&mut self) -> Result<i64> {
        let clock = &self.database.clock;
        Ok(*self.now_ms.get_or_insert_with(|| clock.wall_time().timestamp_millis()))
    }

    fn lock(&mut self, lock: Lock) -> Result<()> {
        debug_assert!(self.held < Some(lock), "{}: {lock:?} after {:?}", self.purpose, self.held);
        self.held = Some(lock);
        self.reads()
    }

    fn notify(&mut self, what: Notification) -> Result<()> {
        if self.notified.contains(&what) {
            return Ok(());
        }
        self.notified.push(what);
        self.reads()?;
        let (changes, cancels) = self.tables.changes.get(&()).copied().unwrap_or_default();
        let next = |count: i64| if count >= LAST_COUNT { 1 } else { count + 1 };
        let counters = match what {
            Notification::Change => (next(changes), cancels),
            Notification::Cancel => (changes, next(cancels)),
        };
        self.tables.changes.put((), counters);
        Ok(())
    }
}

impl SnapshotRows for MemorySession<'_> {
    fn snapshot_page(&mut self, _: &mut SnapshotPlace, snapshot: &mut Snapshot) -> Result<bool> {
        self.reads()?;
        let mut fired: Vec<FiredRow> = self.tables.fired.values().cloned().collect();
        fired.sort_by(|a, b| a.fire_id.cmp(&b.fire_id));
        *snapshot = Snapshot {
            jobs: self.tables.jobs.values().cloned().collect(),
            triggers: self.read_rows(TriggerSelection::All).into_iter().map(|row| self.read(row)).collect(),
            fired,
            instances: self.tables.instances.values().cloned().collect(),
            paused_groups: self.tables.rows().map(|row: PausedGroupRow| row.group).collect(),
            calendars: self.tables.rows().collect(),
            recoveries: self.tables.rows().collect(),
            locks: vec!["STATE_ACCESS".to_owned(), "TRIGGER_ACCESS".to_owned()],
            unreadable: Vec::new(),
            stray_schedules: Vec::new(),
        };
        Ok(false)
    }

    fn delete_stray_schedules(&mut self) -> Result<Vec<TriggerKey>> {
        Ok(Vec::new()) // a trigger and its kind are one row here
    }
}
