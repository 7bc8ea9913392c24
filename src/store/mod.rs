//! `JobStore`: jobs, triggers and fires of one scheduler, and the stories of what becomes of them.

mod action_log;
mod actor;
mod advance;
mod backlog;
mod calendars;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod callers;
mod catalogue;
mod convert;
mod database;
mod decoded_calendars;
mod diagnosis;
#[cfg(any(test, feature = "test-util"))]
pub mod faults;
mod firing;
mod handles;
mod history;
mod job_store;
mod job_types;
mod known_types;
mod locks;
mod memory;
pub(crate) mod meters;
mod node_view;
mod open;
mod outages;
mod pause_state;
mod placed;
mod placement;
pub mod row;
mod schedule_row;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod sql;
mod stop_orders;
mod strategies;
mod traces;
mod transaction;
mod upkeep;

pub use crate::rules::begun::BeginMark;
pub use crate::rules::declared::WhyLeft;
#[cfg(feature = "job-files")]
pub use catalogue::Imported;
pub use catalogue::{
    Backfill, Backfilled, BackfilledFire, DefinitionReport, FireQuery, MAX_CHILDREN, MAX_PASSED_BYTES,
    OrphanedDefinitions, Renamed, Request, Taken,
};

pub use database::{
    ClusterRows, Database, ExecutionRows, Fences, FiredRows, HistoryRows, JobRows, ListingRows, Lock, LostCommits,
    MissingPart, NotificationSource, Owner, PlacementRows, PollRows, Rows, Session, SnapshotRows, StatementCounts,
    TableRows, TriggerRows, TxMode,
};
pub use diagnosis::{CheckBounds, CheckReport, Explanation, Finding, Repair, SubmittedWork, TriggerCheck};
pub use firing::FailedFire;
pub use firing::{
    AcquireRequest, Acquisition, Completion, CompletionInstruction, CompletionOutcome, CompletionReport, Doubt, Ending,
    FireBundle, MAX_CHECKPOINT_BYTES, PrefetchRequest, Recovering, Rerun, RerunOrder, RerunReason, Reservation,
    SkipReason, SkippedFires, Unfired,
};
pub use handles::{Catalogue, ClusterPlacement, Diagnosis, Firing, History, JobTypes, Locks, Outages, Upkeep};
pub use history::{ActionQuery, HistoryPruning, HistorySummary, PruningPlan, RunRecord};
pub use job_store::JobStore;
pub use job_types::{DeletedJobs, Migrated, Orphan, OrphanQuery, Orphans, Upgrade};
pub use known_types::JobTypeInfo;
#[cfg(any(test, feature = "test-util"))]
pub use memory::MemoryBackup;
pub use memory::MemoryDatabase;
pub use node_view::NodeView;
pub use open::open;
pub use placement::{BlacklistEntry, MayRun, UnplaceableJob};
pub use row::{HistoryQuery, Outage, RecoveryModeRow, TriggerSummary};
pub(crate) use stop_orders::is_order_of_pause;
pub use upkeep::{
    AuditPass, Checkin, CleanUpPass, ClusterLoad, DeadFire, DeadFireDecision, DeadFireHandler, FireHeartbeat,
    FiredTrigger, Heartbeat, HeartbeatPass, Heartbeats, InstanceStatus, LateInOrder, Membership, MisfirePass,
    Recovered,
};
pub(crate) use upkeep::{CleanUpWork, ClusterNow};

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub use callers::{CallersConnection, Join};
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub use open::open_with_pool;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub use sql::{Backend, CallersPool, SqlDatabase};
#[cfg(all(any(feature = "sqlite", feature = "postgres", feature = "mysql"), any(test, feature = "test-util")))]
pub use sql::{Explained, Plans};

pub use crate::job::CapturedLine;
pub use crate::rules::invariants::{Violation, violations};
pub use crate::rules::new_trigger::ALL_GROUPS_PAUSED;
pub use crate::rules::placement::{NodeIdentity, Refusal};
pub use crate::rules::run_times::SummaryRow;
pub use crate::span::{ago, span};
