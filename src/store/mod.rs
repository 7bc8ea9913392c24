//! `JobStore`: jobs, triggers and fires of one scheduler, and the stories of what becomes of them.

mod advance;
mod calendars;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod callers;
mod catalogue;
mod convert;
mod database;
#[cfg(any(test, feature = "test-util"))]
pub mod faults;
mod firing;
mod history;
mod job_types;
mod known_types;
mod locks;
mod memory;
pub(crate) mod meters;
mod monitor;
mod node_view;
mod open;
mod outages;
mod pause_state;
mod placement;
pub mod row;
mod schedule_row;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod sql;
mod strategies;
mod transaction;
mod upkeep;

pub use crate::rules::begun::BeginMark;
pub use crate::rules::declared::WhyLeft;
#[cfg(feature = "job-files")]
pub use catalogue::Imported;
pub use catalogue::{
    Backfill, Backfilled, BackfilledFire, Catalogue, DefinitionReport, MAX_CHILDREN, MAX_PASSED_BYTES,
    OrphanedDefinitions, Renamed, Request, Taken, TriggerSummary,
};

pub use database::{
    ChangeRows, ClusterRows, Database, ExecutionRows, Fences, FiredRows, HistoryRows, JobRows, Lock, LostCommits,
    NotificationListener, Owner, PlacementRows, Rows, Session, StatementCounts, TableRows, TriggerRows, TxMode,
};
pub use firing::FailedFire;
pub use firing::{
    AcquireRequest, Acquisition, Completion, CompletionInstruction, CompletionOutcome, CompletionReport, Doubt, Ending,
    FireBundle, MAX_CHECKPOINT_BYTES, Prefetch, Recovering, Rerun, RerunOrder, RerunReason, Reservation, SkipReason,
    SkippedFires, Unfired,
};
pub use history::{History, HistoryPruning, HistoryQuery, HistorySummary, PruningPlan, RunRecord};
pub use job_types::{JobTypes, Migrated, Orphan, Orphans, Upgrade};
pub use known_types::JobTypeInfo;
pub use locks::Locks;
pub use memory::MemoryDatabase;
pub use monitor::ClusterLoad;
pub use node_view::NodeView;
pub use open::open;
pub use outages::Outages;
pub use placement::{BlacklistEntry, MayRun, UnplaceableJob};
pub use row::{Outage, RecoveryModeRow};
pub(crate) use upkeep::is_order_of_pause;
pub use upkeep::{
    AuditPass, Checkin, CleanUpPass, DeadFire, DeadFireDecision, DeadFireHandler, FireHeartbeat, FiredTrigger,
    Heartbeat, HeartbeatPass, Heartbeats, InstanceStatus, LateInOrder, Membership, MisfirePass, Recovered,
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
pub use crate::rules::new_trigger::ALL_GROUPS_PAUSED;
pub use crate::rules::placement::{NodeIdentity, Refusal};
pub use crate::rules::run_times::SummaryRow;

use crate::clock::Clock;
use crate::rules::failover::millis;
use crate::settings::{PollingStrategy, Settings};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

/// The store of one scheduler, on any [`Database`].
///
/// Every method is one transaction unless it says otherwise: it happens whole or not at all.
/// Transient failures of the database are retried within a bound; what is left is returned.
#[derive(Clone)]
pub struct JobStore {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    settings: Arc<Settings>,
    decoded_calendars: Arc<calendars::DecodedCalendars>,
    dead_fires: Option<Arc<dyn DeadFireHandler>>,
    meters: Arc<meters::StoreMeters>,
    /// The queue of threads that store triggers at the same time.
    group_commit: Arc<catalogue::GroupCommit>,
    /// The number of times that the way to the database was lost.
    losses: Arc<AtomicU64>,
    view: NodeView,
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
            meters: Arc::default(),
            group_commit: Arc::default(),
            losses: Arc::default(),
            view: NodeView::default(),
        }
    }

    /// Gives the store as the node of this view uses it, which counts for itself.
    pub(crate) fn seen_by(self, view: NodeView) -> Self {
        Self { view, meters: Arc::default(), group_commit: Arc::default(), ..self }
    }

    /// The knowledge of the node that uses this store.
    pub(crate) fn view(&self) -> &NodeView {
        &self.view
    }

    /// The settings that the store was made with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// A node of Quartz was a member of the cluster at the last check-in: one with a row in
    /// `SCHEDULER_STATE` and none in our side table. Always false in a store that no node checks in
    /// with.
    pub fn is_beside_quartz(&self) -> bool {
        self.view.is_beside_quartz()
    }

    /// The way in which due triggers are taken at present: what the settings say, or
    /// [`PollingStrategy::Lock`] beside a node of Quartz and on a database without `SKIP LOCKED`.
    ///
    /// # Errors
    /// The error of the database when it is asked, once, what it can do.
    pub fn polling_strategy(&self) -> crate::Result<PollingStrategy> {
        let wanted = self.settings.job_store.polling_strategy;
        if wanted == PollingStrategy::Lock || self.is_beside_quartz() || !self.database.claims_rows()? {
            return Ok(PollingStrategy::Lock);
        }
        Ok(wanted)
    }

    /// The tolerance of the failure rule; a take-over delay leaves slow zombies more time to notice.
    fn tolerance(&self) -> Duration {
        self.settings.job_store.checkin_misfire_threshold + self.settings.cluster.takeover_delay
    }

    /// Triggers due before this time are late.
    fn misfired_before(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(millis(self.settings.job_store.misfire_threshold))
    }

    /// The counts of its transactions.
    pub(crate) fn meters(&self) -> &meters::StoreMeters {
        &self.meters
    }

    /// The database below.
    pub fn database(&self) -> &dyn Database {
        &*self.database
    }
}
