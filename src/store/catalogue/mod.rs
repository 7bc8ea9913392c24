//! `Catalogue`: the stored jobs, triggers, calendars and pauses of a scheduler.

mod backfill;
mod calendars;
mod continuations;
mod declared;
mod fast_path;
mod foreign;
mod group_commit;
#[cfg(feature = "job-files")]
mod import;
mod listing;
mod pausing;
mod rename;
mod requests;
mod scheduling;

pub use backfill::{Backfill, Backfilled, BackfilledFire};
pub use continuations::{MAX_CHILDREN, MAX_PASSED_BYTES};
pub use declared::{DefinitionReport, OrphanedDefinitions};
pub(in crate::store) use group_commit::GroupCommit;
#[cfg(feature = "job-files")]
pub use import::Imported;
pub use rename::Renamed;
pub(in crate::store) use rename::take_back_reservations;
pub use requests::{Request, Taken};

use crate::key::{JobKey, TriggerKey};
use crate::store::JobStore;

/// The operations on stored jobs, triggers, calendars and pauses; see [`JobStore::catalogue`].
#[derive(Clone, Copy)]
pub struct Catalogue<'a> {
    store: &'a JobStore,
}

impl JobStore {
    /// The stored jobs, triggers, calendars and pauses.
    pub fn catalogue(&self) -> Catalogue<'_> {
        Catalogue { store: self }
    }
}

/// A trigger as a list shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TriggerSummary {
    /// Its key.
    pub key: TriggerKey,
    /// Its job.
    pub job: JobKey,
    /// `TRIGGER_TYPE`.
    pub kind: String,
    /// `TRIGGER_STATE`.
    pub state: String,
    /// When it fires next, epoch milliseconds.
    pub next_fire_ms: Option<i64>,
    /// When it fired last, epoch milliseconds.
    pub previous_fire_ms: Option<i64>,
    /// Higher fires first.
    pub priority: i32,
    /// The number of its misfire instruction.
    pub misfire: i32,
}
