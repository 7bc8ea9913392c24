//! `FiredRows`: what a store needs of `FIRED_TRIGGERS` and of the fences.

use super::owner::Owner;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{FiredRow, FiredSelection, ReservationSelection};

/// Rows of `FIRED_TRIGGERS` and of our side table of fences.
pub trait FiredRows {
    /// Fired rows, in the order that the selection names.
    fn fired(&mut self, which: FiredSelection<'_>) -> Result<Vec<FiredRow>>;
    /// Writes new fired rows.
    fn insert_fired(&mut self, rows: Vec<FiredRow>) -> Result<()>;
    /// Turns acquired rows into executing ones under their new ids, `(old id, new row)`; returns
    /// how many were there.
    fn begin_executing(&mut self, rows: &[(String, FiredRow)]) -> Result<usize>;
    /// Deletes fired rows; returns the ids of those that were there.
    fn delete_fired(&mut self, ids: &[String]) -> Result<Vec<String>>;
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
