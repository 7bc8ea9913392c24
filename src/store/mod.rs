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
    BegunRows, ChangeRows, ClusterRows, ContinuationRows, Database, ExecutionRows, Fences, FiredRows, HistoryRows,
    HistoryUpkeepRows, JobRows, Lock, LockRows, LostCommits, MonitorRows, NotificationListener, OrphanRows, Owner,
    PlacementRows, PlainRows, RecoveryRows, Rows, Session, StatementCounts, TableRows, TriggerRows, TxMode,
};
pub use definitions::{
    BACKFILL_GROUP, Backfill, Backfilled, BackfilledFire, DefinitionReport, Imported, OrphanedDefinitions, Request,
    Taken, TriggerSummary,
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
pub use sql::{Backend, CallersPool, SqlDatabase, SqlOptions};
#[cfg(all(any(feature = "sqlite", feature = "postgres", feature = "mysql"), any(test, feature = "test-util")))]
pub use sql::{Explained, Plans, TableRead};

pub use crate::job::CapturedLine;
pub use crate::rules::invariants::{Violation, violations};
pub use crate::rules::placement::{NodeIdentity, Refusal};
pub use crate::rules::run_times::SummaryRow;

use crate::clock::Clock;
use crate::settings::{HistoryRecord, PollingStrategy};
use crate::trigger::TriggerOrder;
use chrono_tz::Tz;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The marker in `PAUSED_TRIGGER_GRPS` that pauses every group, also those to come.
pub const ALL_GROUPS_PAUSED: &str = "_$_ALL_GROUPS_PAUSED_$_";

/// What a store needs to know beside its database.
#[derive(Clone, Debug)]
pub struct StoreSettings {
    /// `scheduler.instanceName`: the cluster's name, `SCHED_NAME` in every row.
    pub scheduler_name: String,
    /// `jobStore.misfireThreshold`: how late a trigger may be before its misfire instruction applies. Default 60 s.
    pub misfire_threshold: Duration,
    /// `jobStore.maxMisfiresToHandleAtATime`. Default 20.
    pub max_misfires_at_a_time: usize,
    /// `jobStore.useProperties`: job data as text instead of as a Java object. Default false.
    pub use_properties: bool,
    /// `carnelian.scheduler.timeZone`: the zone of triggers and calendars that have none of their own. Default UTC.
    pub default_zone: Tz,
    /// `jobStore.clusterCheckinInterval`. Default 15 s.
    pub checkin_interval: Duration,
    /// `jobStore.clusterCheckinMisfireThreshold`: the tolerance of the failure rule. Default 7.5 s.
    pub checkin_tolerance: Duration,
    /// `carnelian.cluster.ownTypesBesideQuartz`: whether job types that no Java class can have may be stored while a node
    /// of Quartz is a member of the cluster. Default false.
    pub own_types_beside_quartz: bool,
    /// `carnelian.jobStore.triggerOrder`: which of the due triggers is acquired first. Default: the earliest.
    pub trigger_order: TriggerOrder,
    /// `carnelian.jobStore.pollingStrategy`: how due triggers are taken beside other nodes. Default: under the lock.
    pub polling_strategy: PollingStrategy,
    /// `carnelian.cluster.takeoverDelay`: how long after a conviction its work is left alone. Default 0.
    pub takeover_delay: Duration,
    /// `carnelian.history.record`: which fires are written into the history. Default all.
    pub history_record: HistoryRecord,
    /// `carnelian.history.retention`: how long they are kept. Default 7 days.
    pub history_retention: Duration,
    /// `carnelian.history.maxRows`: how many are kept at most. Default 100000.
    pub history_max_rows: u32,
    /// `carnelian.history.maxRowsPerJob`: how many are kept of a job at most; 0 for as many as there are. Default 0.
    pub history_max_rows_per_job: u32,
    /// `carnelian.history.misfires`: whether misfires are written into the history. Default true.
    pub history_misfires: bool,
    /// `carnelian.recovery.threshold`: from how many overdue triggers on the recovery mode begins by itself at the end of a
    /// total outage; 0 for never. Default 1000.
    pub recovery_threshold: u32,
    /// `carnelian.recovery.batch`: how many late triggers are handled in one transaction while it lasts, if
    /// [`max_misfires_at_a_time`](Self::max_misfires_at_a_time) is not more. Default 100.
    pub recovery_batch: u32,
    /// `carnelian.recovery.maxTakeovers`: how often dead work is taken over before it is parked,
    /// where its job does not say; 0 for as often as it dies. Default 10.
    pub max_takeovers: u32,
}

impl Default for StoreSettings {
    fn default() -> Self {
        Self {
            scheduler_name: "QuartzScheduler".to_owned(),
            misfire_threshold: Duration::from_secs(60),
            max_misfires_at_a_time: 20,
            use_properties: false,
            default_zone: Tz::UTC,
            checkin_interval: Duration::from_secs(15),
            checkin_tolerance: Duration::from_millis(7500),
            own_types_beside_quartz: false,
            trigger_order: TriggerOrder::default(),
            polling_strategy: PollingStrategy::default(),
            takeover_delay: Duration::ZERO,
            history_record: HistoryRecord::All,
            history_retention: Duration::from_secs(7 * 24 * 3600),
            history_max_rows: 100_000,
            history_max_rows_per_job: 0,
            history_misfires: true,
            recovery_threshold: 1_000,
            recovery_batch: 100,
            max_takeovers: 10,
        }
    }
}

/// The store of one scheduler, on any [`Database`].
///
/// Every method is one transaction unless it says otherwise: it happens whole or not at all. Transient failures of the
/// database are retried within a bound; what is left is returned.
#[derive(Clone)]
pub struct JobStore {
    database: Arc<dyn Database>,
    clock: Arc<dyn Clock>,
    settings: Arc<StoreSettings>,
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
    pub fn new(database: Arc<dyn Database>, clock: Arc<dyn Clock>, settings: StoreSettings) -> Self {
        Self {
            database,
            clock,
            settings: Arc::new(settings),
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

    /// Its settings.
    pub fn settings(&self) -> &StoreSettings {
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
        let wanted = self.settings.polling_strategy;
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
