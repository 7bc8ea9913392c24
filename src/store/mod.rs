//! `JobStore`: jobs, triggers and fires of one scheduler, and the stories of what becomes of them.

mod calendars;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod callers;
mod continuations;
mod convert;
mod database;
mod definitions;
#[cfg(any(test, feature = "test-util"))]
pub mod faults;
mod firing;
mod history;
mod job_types;
mod locks;
mod memory;
pub(crate) mod meters;
mod monitor;
mod open;
mod outages;
mod placement;
pub mod row;
mod schedule_row;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod sql;
mod strategies;
mod transaction;
mod upkeep;

pub use crate::rules::begun::BeginMark;
pub use crate::rules::definitions::WhyLeft;
pub use continuations::{MAX_CHILDREN, MAX_PASSED_BYTES};
pub use database::{
    Begin, CalendarRows, ChangeRows, ClusterRows, ContinuationRows, Database, DefinitionRows, Ear, ExecutionRows,
    Fences, FiredRows, HistoryLogRows, HistoryRows, HistoryUpkeepRows, JobRows, Lock, LockRows, LostCommits,
    MonitorRows, NodeRows, OrphanRows, OutageRows, Owner, PlacementRows, PlainRows, RecoveryRows, Session,
    StatementCounts, TriggerRows, TypeRows, VersionRows, WorkRows,
};
#[cfg(feature = "job-files")]
pub use definitions::Imported;
pub use definitions::{
    BACKFILL_GROUP, Backfill, Backfilled, BackfilledFire, DefinitionReport, OrphanedDefinitions, Request, Taken,
    TriggerSummary,
};
pub use firing::FailedFire;
pub use firing::{
    AcquireRequest, Acquisition, Completion, CompletionInstruction, CompletionOutcome, Doubt, Ending, FireBundle,
    MAX_CHECKPOINT_BYTES, Recorded, Recovering, Rerun, RerunOrder, RerunReason, Reservation, SkipReason, SkippedFires,
    TakeAhead, Unfired,
};
pub use history::{HistoryPruning, HistoryQuery, HistorySummary, PruningPlan, RunRecord};
pub use job_types::{JobTypeInfo, Migrated, Orphan, Orphans, Renamed, Upgrade};
pub use memory::MemoryDatabase;
pub use monitor::ClusterLoad;
pub use open::open;
pub use placement::{BlacklistEntry, Homeless, MayRun};
pub use row::{Outage, RecoveryModeRow};
pub(crate) use upkeep::is_order_of_pause;
pub use upkeep::{
    AuditPass, Beat, BeatPass, Checkin, CleanUpPass, DeadFire, DeadFireDecision, DeadFireHandler, FiredTrigger,
    Heartbeat, Heartbeats, InstanceStatus, LateInOrder, Membership, MisfirePass, Recovered,
};

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub use callers::{CallersConnection, Join};
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub use open::open_with_pool;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub use sql::{Backend, CallersPool, SqlDatabase};
#[cfg(all(any(feature = "sqlite", feature = "postgres", feature = "mysql"), any(test, feature = "test-util")))]
pub use sql::{Explained, Plans, TableRead};

pub use crate::job::CapturedLine;
pub use crate::rules::invariants::{Violation, violations};
pub use crate::rules::placement::{NodeIdentity, Refusal};
pub use crate::rules::run_times::SummaryRow;

use crate::clock::Clock;
use crate::settings::{PollingStrategy, Settings};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// The marker in `PAUSED_TRIGGER_GRPS` that pauses every group, also those to come.
pub const ALL_GROUPS_PAUSED: &str = "_$_ALL_GROUPS_PAUSED_$_";

/// The store of one scheduler, on any [`Database`].
///
/// Every method is one transaction unless it says otherwise: it happens whole or not at all. Transient failures of the
/// database are retried within a bound; what is left is returned.
#[derive(Clone)]
pub struct JobStore {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    settings: Arc<Settings>,
    decoded_calendars: Arc<calendars::DecodedCalendars>,
    dead_fires: Option<Arc<dyn DeadFireHandler>>,
    /// Whether a node of Quartz was registered at the last look.
    beside_quartz: Arc<AtomicBool>,
    /// Whether a node has checked in with this store: only then is the above known.
    knows_members: Arc<AtomicBool>,
    /// Since when the recovery mode is on, as far as it was seen; 0 if it is not.
    recovering: Arc<AtomicI64>,
    /// How many claims of due triggers there have been.
    claims: Arc<AtomicU32>,
    /// What is known of job types, by the node that this is the store of.
    known: Arc<parking_lot::RwLock<job_types::Known>>,
    meters: Arc<meters::StoreMeters>,
    /// What is known of where work may run, by the node that this is the store of.
    placed: Arc<parking_lot::RwLock<placement::Placed>>,
    /// Where threads meet that schedule at the same time.
    together: Arc<definitions::Together>,
    strategies: Arc<strategies::Strategies>,
    /// How often the way to the database was lost.
    losses: Arc<AtomicU64>,
}

impl JobStore {
    /// The store of the scheduler that `settings` names.
    pub fn new(database: Arc<dyn Database>, clock: Arc<dyn Clock>, settings: impl Into<Arc<Settings>>) -> Self {
        Self {
            database,
            clock,
            settings: settings.into(),
            decoded_calendars: Arc::default(),
            dead_fires: None,
            beside_quartz: Arc::default(),
            knows_members: Arc::default(),
            recovering: Arc::default(),
            claims: Arc::default(),
            known: Arc::default(),
            meters: Arc::default(),
            placed: Arc::default(),
            together: Arc::default(),
            strategies: Arc::default(),
            losses: Arc::default(),
        }
    }

    /// The settings that the store was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether a node of Quartz was a member of the cluster at the last check-in: one with a row in `SCHEDULER_STATE`
    /// and none in our side table. Always false in a store that no node checks in with.
    pub fn is_beside_quartz(&self) -> bool {
        self.beside_quartz.load(Ordering::Relaxed)
    }

    /// How due triggers are taken at present: what the settings say, or [`PollingStrategy::Lock`] beside a node of Quartz and
    /// on a database without `SKIP LOCKED`.
    ///
    /// # Errors
    /// What the database reports when it is asked, once, what it can do.
    pub fn polling_strategy(&self) -> crate::Result<PollingStrategy> {
        let wanted = self.settings.job_store.polling_strategy;
        if wanted == PollingStrategy::Lock || self.is_beside_quartz() || !self.database.claims_rows()? {
            return Ok(PollingStrategy::Lock);
        }
        Ok(wanted)
    }

    fn note_members(&self, members: &[row::InstanceRow]) {
        self.knows_members.store(true, Ordering::Relaxed);
        self.beside_quartz.store(members.iter().any(|member| member.incarnation.is_none()), Ordering::Relaxed);
    }

    /// What it has counted of its transactions.
    pub(crate) fn meters(&self) -> &meters::StoreMeters {
        &self.meters
    }

    /// The database below.
    pub fn database(&self) -> &dyn Database {
        &*self.database
    }
}
