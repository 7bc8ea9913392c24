//! `MemoryDatabase`: the rows of a scheduler in this process, for tests and for work that need not survive it.

mod ahead;
mod calendars;
mod changes;
mod continuations;
mod defined;
mod definitions;
mod executions;
mod fires;
mod history;
mod indexes;
mod jobs;
mod journal;
mod locks;
mod monitor;
mod nodes;
mod outages;
mod parts;
mod placement;
mod recoveries;
mod types;
mod work;

use super::database::{Database, Lock, Session, StatementCounts, TxMode};
use super::row::{
    AheadFire, BeatRow, BlacklistKind, BlacklistRow, CalendarRow, CancelRow, CheckpointRow, ContinuationRow,
    DefinitionRow, FiredRow, HistoryRow, InstanceRow, JobRow, JobTypeRow, JobVersionRow, LimitRow, LockRow, LogRow,
    NodeRow, Notification, OrphanRow, Outage, Parked, RecoveryModeRow, RecoveryRow, RequestRow, Snapshot, TriggerRow,
};
use crate::clock::Clock;
use crate::error::{DatabaseError, Error, FailureClass, Result};
use crate::key::{JobKey, TriggerKey};
use indexes::{FiredIndex, RecoveryIndex, TriggerIndex};
use journal::{Journaled, Unordered};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Quartz's `RAMJobStore`: maps behind one lock. Several stores over one `MemoryDatabase` are a cluster.
///
/// It obeys the same rules as a database: one transaction at a time, all or nothing, guarded writes. It is lost with
/// the process.
pub struct MemoryDatabase {
    clock: Arc<dyn Clock>,
    tables: Mutex<Tables>,
    statements: AtomicU64,
    commits: AtomicU64,
    fences: super::Fences,
    #[cfg(any(test, feature = "test-util"))]
    faults: super::faults::FaultPlan,
}

#[derive(Default)]
struct Tables {
    jobs: Journaled<JobKey, JobRow>,
    triggers: Unordered<TriggerKey, TriggerRow, TriggerIndex>,
    fired: Unordered<String, FiredRow, FiredIndex>,
    recoveries: Journaled<String, RecoveryRow, RecoveryIndex>,
    parked: Journaled<TriggerKey, Parked>,
    instances: Journaled<String, InstanceRow>,
    nodes: Journaled<String, NodeRow>,
    processes: Journaled<String, (String, String)>,
    paused_groups: Journaled<String, ()>,
    calendars: Journaled<String, CalendarRow>,
    checkpoints: Journaled<String, CheckpointRow>,
    requests: Journaled<String, (RequestRow, i64)>,
    history: Unordered<String, HistoryRow>,
    history_log: Unordered<String, LogRow>,
    beats: Journaled<String, BeatRow>,
    cancels: Journaled<String, CancelRow>,
    continuations: Journaled<(JobKey, JobKey), ContinuationRow>,
    job_types: Journaled<String, Vec<JobTypeRow>>,
    job_versions: Journaled<JobKey, JobVersionRow>,
    orphans: Journaled<JobKey, OrphanRow>,
    locks: Journaled<String, LockRow>,
    outages: Journaled<i64, Outage>,
    recovery_mode: Journaled<(), RecoveryModeRow>,
    changes: Journaled<(), (i64, i64)>,
    blacklist: Journaled<(String, BlacklistKind), BlacklistRow>,
    limits: Journaled<String, LimitRow>,
    defined: Journaled<JobKey, DefinitionRow>,
    ahead: Journaled<(String, i64), (String, Vec<AheadFire>)>,
    begun: Journaled<String, ahead::Begun>,
    commits: Journaled<String, i64>,
    fence: Journaled<(), i64>,
}

impl Tables {
    fn commit(&mut self) {
        self.jobs.commit();
        self.triggers.commit();
        self.fired.commit();
        self.recoveries.commit();
        self.parked.commit();
        self.instances.commit();
        self.nodes.commit();
        self.processes.commit();
        self.paused_groups.commit();
        self.calendars.commit();
        self.checkpoints.commit();
        self.requests.commit();
        self.history.commit();
        self.history_log.commit();
        self.beats.commit();
        self.cancels.commit();
        self.continuations.commit();
        self.job_types.commit();
        self.job_versions.commit();
        self.orphans.commit();
        self.locks.commit();
        self.outages.commit();
        self.recovery_mode.commit();
        self.changes.commit();
        self.blacklist.commit();
        self.limits.commit();
        self.defined.commit();
        self.ahead.commit();
        self.begun.commit();
        self.commits.commit();
        self.fence.commit();
    }

    fn roll_back(&mut self) {
        self.jobs.roll_back();
        self.triggers.roll_back();
        self.fired.roll_back();
        self.recoveries.roll_back();
        self.parked.roll_back();
        self.instances.roll_back();
        self.nodes.roll_back();
        self.processes.roll_back();
        self.paused_groups.roll_back();
        self.calendars.roll_back();
        self.checkpoints.roll_back();
        self.requests.roll_back();
        self.history.roll_back();
        self.history_log.roll_back();
        self.beats.roll_back();
        self.cancels.roll_back();
        self.continuations.roll_back();
        self.job_types.roll_back();
        self.job_versions.roll_back();
        self.orphans.roll_back();
        self.locks.roll_back();
        self.outages.roll_back();
        self.recovery_mode.roll_back();
        self.changes.roll_back();
        self.blacklist.roll_back();
        self.limits.roll_back();
        self.defined.roll_back();
        self.ahead.roll_back();
        self.begun.roll_back();
        self.commits.roll_back();
        self.fence.roll_back();
    }
}

impl MemoryDatabase {
    /// An empty database whose time is that of `clock`.
    pub fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            tables: Mutex::default(),
            statements: AtomicU64::new(0),
            commits: AtomicU64::new(0),
            fences: super::Fences::default(),
            #[cfg(any(test, feature = "test-util"))]
            faults: super::faults::FaultPlan::default(),
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
        // What a transaction that panicked has left behind.
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
            let drawn = tables.fence.get(&()).copied().unwrap_or(0);
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
        self.fences.note(tables.fence.get(&()).copied().unwrap_or(0));
        if mode.may_write() {
            self.commits.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    fn migrate(&self) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn fences(&self) -> Option<&super::Fences> {
        Some(&self.fences)
    }

    fn check_schema(&self) -> Result<()> {
        Ok(())
    }

    fn forget_scheduler(&self) -> Result<()> {
        *self.tables.lock() = Tables::default();
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
        DatabaseError {
            operation: self.purpose.to_owned(),
            message: format!("{what} `{key}` exists already"),
            class: FailureClass::UniqueViolation,
        }
        .into()
    }
}

impl Session for MemorySession<'_> {
    fn now_ms(&mut self) -> Result<i64> {
        let clock = &self.database.clock;
        Ok(*self.now_ms.get_or_insert_with(|| clock.wall_ms()))
    }

    fn lock(&mut self, lock: Lock) -> Result<()> {
        debug_assert!(self.held < Some(lock), "{}: {lock:?} after {:?}", self.purpose, self.held);
        self.held = Some(lock);
        self.reads()
    }

    fn snapshot(&mut self) -> Result<Snapshot> {
        self.reads()?;
        let mut fired: Vec<FiredRow> = self.tables.fired.values().cloned().collect();
        fired.sort_by(|a, b| a.fire_id.cmp(&b.fire_id));
        Ok(Snapshot {
            jobs: self.tables.jobs.values().cloned().collect(),
            triggers: self.select(|_| true),
            fired,
            instances: self.tables.instances.values().cloned().collect(),
            paused_groups: self.tables.paused_groups.keys().cloned().collect(),
            calendars: self.tables.calendars.values().cloned().collect(),
            recoveries: self.tables.recoveries.values().cloned().collect(),
            locks: vec!["STATE_ACCESS".to_owned(), "TRIGGER_ACCESS".to_owned()],
            unreadable: Vec::new(),
            stray_schedules: Vec::new(),
        })
    }

    fn mark_commit(&mut self, token: &str) -> Result<()> {
        self.reads()?;
        let now = self.now_ms()?;
        self.tables.commits.put(token.to_owned(), now);
        Ok(())
    }

    fn committed_ms(&mut self, token: &str) -> Result<Option<i64>> {
        self.reads()?;
        Ok(self.tables.commits.get(token).copied())
    }

    fn forget_commits(&mut self, before_ms: i64) -> Result<()> {
        self.reads()?;
        self.tables.commits.remove_if(|_, made_ms| *made_ms < before_ms);
        Ok(())
    }
}
