//! `SkippedFires`: times of a trigger that passed without a fire, and why.

use crate::epoch::moment;
use crate::key::{JobKey, TriggerKey};
use crate::trigger::Trigger;
use crate::words::words;
use chrono::{DateTime, Utc};

/// Times of a trigger that passed without a fire.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFires {
    /// The trigger.
    pub trigger: TriggerKey,
    /// The job.
    pub job: JobKey,
    /// The first of the times.
    pub first_time: DateTime<Utc>,
    /// The number of times; at least so many beyond a thousand.
    pub times: u64,
    /// Why.
    pub reason: SkipReason,
}

/// Why times of a trigger passed without a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// An earlier fire was still running: its [`Overlap`](crate::Overlap).
    Overlap,
    /// The times were older than the trigger's [catch-up
    /// window](crate::TriggerBuilder::catch_up_window).
    CatchUp,
}

words! {
    /// A word for a log line.
    SkipReason { Overlap = "overlap", CatchUp = "catch-up" }
}

/// The times of a trigger from `first_ms` on that are left out.
pub(super) fn skipped(trigger: &Trigger, first_ms: i64, times: u64, reason: SkipReason) -> SkippedFires {
    let first_time = moment(first_ms);
    SkippedFires { trigger: trigger.key.clone(), job: trigger.job_key.clone(), first_time, times, reason }
}
