//! `FiredRows`: what a store needs of `FIRED_TRIGGERS` and of the fences; and who owns fires.

use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{EndRow, FiredRow, FiredSelection, ReservationSelection};
use crate::trigger::TriggerState;
use std::collections::BTreeMap;

/// Triggers that end with a fire, by their states.
pub type EndingTriggers = BTreeMap<TriggerState, Vec<EndingTrigger>>;

/// A trigger that ends with a fire.
#[derive(Clone, Debug)]
pub struct EndingTrigger {
    /// The key.
    pub key: TriggerKey,
    /// The time of the fire.
    pub scheduled_ms: i64,
    /// True if the row of its kind is in `SIMPLE_TRIGGERS`.
    pub is_simple: bool,
}

/// Rows of `FIRED_TRIGGERS` and of our side table of fences.
pub trait FiredRows {
    /// Fired rows, in the order that the selection names.
    fn fired(&mut self, which: FiredSelection<'_>) -> Result<Vec<FiredRow>>;
    /// Writes new fired rows, and deletes the triggers that end with them, each in the state and
    /// with the time in which it was just read: as [`TriggerRows`](super::TriggerRows) deletes
    /// triggers of a state. Returns how many triggers there were; if some are missing, rows beside
    /// them may be deleted, and the transaction is to be rolled back.
    fn insert_fired(&mut self, rows: Vec<FiredRow>, ending: &EndingTriggers) -> Result<usize>;
    /// Turns acquired rows into executing ones under their new ids, `(old id, new row)`; returns
    /// how many were there.
    fn begin_executing(&mut self, rows: &[(String, FiredRow)]) -> Result<usize>;
    /// Deletes fired rows, and writes into the history what became of those that were there and are
    /// among `ends`, which are in the order of `ids`. Returns the ids of those that were there.
    fn delete_fired(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>>;
    /// Deletes reservations, which their nodes will find gone; returns how many there were.
    fn delete_reserved(&mut self, which: ReservationSelection<'_>) -> Result<usize>;
    /// The jobs of these that are stored and of which a fire is executing, each with whether one
    /// of its fires lets no other run beside it.
    fn executing_jobs(&mut self, jobs: &[JobKey]) -> Result<Vec<(JobKey, bool)>>;
    /// Draws `count` fences, each larger than any before, and returns the first; none if `owner` is
    /// given and is not registered under this incarnation. With a count of 0 only that is asked,
    /// and the answer is the last that was drawn.
    ///
    /// None is smaller than one that this process knows of ([`Fences`](super::Fences)): what a
    /// database has lost is not drawn a second time.
    fn draw_fences(&mut self, owner: Option<&Owner>, count: usize) -> Result<Option<i64>>;
}

/// The node that writes, and the incarnation under which the node registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The instance's name.
    pub instance: String,
    /// Drawn at random at each registration, never from a clock.
    pub incarnation: String,
}
