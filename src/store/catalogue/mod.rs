//! What is stored by people: jobs and triggers, their pauses, and looking at them.

mod backfill;
mod calendars;
mod declared;
mod fast_path;
mod foreign;
mod group_commit;
mod import;
mod listing;
mod pause_state;
mod pausing;
mod requests;
mod scheduling;

pub use backfill::{BACKFILL_GROUP, Backfill, Backfilled, BackfilledFire};
pub use declared::{DefinitionReport, OrphanedDefinitions};
pub(in crate::store) use group_commit::GroupCommit;
pub use import::Imported;
pub use requests::{Request, Taken};

use crate::key::{JobKey, TriggerKey};

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
