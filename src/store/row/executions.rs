//! The rows of running fires: heartbeats and orders to stop.

use super::table::{Cell, Column, Kind, ToCells, table};
use std::vec::IntoIter;

table! {
    /// A row of `CN_BEATS`: the last sign of life of a running fire.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct HeartbeatRow in "CN_BEATS" by [fire_id] {
        /// The fire.
        pub fire_id: String = [entry_id],
        /// The instance it runs on.
        pub instance: String = [instance_name],
        /// The time at which the fire was last known to be alive, epoch milliseconds by the store's
        /// clock.
        pub beat_ms: i64,
        /// The longest time that the fire may be silent, in milliseconds.
        pub limit_ms: i64,
        /// The progress of the job.
        pub progress: Option<Progress> = [done, total, note],
        /// The time at which the job last made progress, epoch milliseconds by the store's clock.
        pub progress_ms: Option<i64>,
        /// The longest time that the job may go without progress, in milliseconds; none if that
        /// does not matter.
        pub progress_limit_ms: Option<i64>,
    }
}

/// The progress of a run, in whatever its job counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// The amount that is done.
    pub done: i64,
    /// The whole amount, if that is known.
    pub total: Option<i64>,
    /// A word on the progress, at most 250 characters.
    pub note: Option<String>,
}

impl ToCells for Option<Progress> {
    fn write(&self, row: &mut Vec<Cell>) {
        self.as_ref().map(|progress| progress.done).write(row);
        self.as_ref().and_then(|progress| progress.total).write(row);
        self.as_ref().and_then(|progress| progress.note.clone()).write(row);
    }
}

impl Column for Option<Progress> {
    const KINDS: &'static [Kind] = &[Kind::Int, Kind::Int, Kind::Text];
    fn read(row: &mut IntoIter<Cell>) -> Option<Self> {
        let (done, total, note) = (Column::read(row)?, Column::read(row)?, Column::read(row)?);
        let done: Option<i64> = done;
        Some(done.map(|done| Progress { done, total, note }))
    }
}

table! {
    /// A row of `CN_CANCELS`: somebody wants a run to stop.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct CancelRow in "CN_CANCELS" by [fire_id] stamped made_ms {
        /// The fire.
        pub fire_id: String = [entry_id],
        /// The one that wants the run to stop: a person, a program, or the next fire of the
        /// trigger.
        pub who: String,
    }
}
