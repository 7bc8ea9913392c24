//! What is stored by people: jobs and triggers, their pauses, and looking at them.

mod at_once;
mod backfill;
mod calendars;
mod foreign;
mod form;
#[cfg(feature = "job-files")]
mod import;
mod in_code;
mod listing;
mod pausing;
mod requests;
mod scheduling;
mod standing;
mod survey;
mod together;

pub use backfill::{BACKFILL_GROUP, Backfill, Backfilled, BackfilledFire};
#[cfg(feature = "job-files")]
pub use import::Imported;
pub use in_code::{DefinitionReport, OrphanedDefinitions};
pub use requests::{Request, Taken};
pub(in crate::store) use together::Together;

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
