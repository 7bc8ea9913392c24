//! `FiredRows`: what a store needs of `FIRED_TRIGGERS`, of the fences and of the recoveries.

use super::Owner;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::*;

/// Rows of `FIRED_TRIGGERS` and of our side table of recoveries.
pub trait FiredRows {
    /// Writes new fired rows.
    fn insert_fired(&mut self, rows: Vec<FiredRow>) -> Result<()>;
    /// Turns acquired rows into executing ones under their new ids, `(old id, new row)`; returns
    /// how many were there.
    fn begin_executing(&mut self, rows: &[(String, FiredRow)]) -> Result<usize>;
    /// Deletes fired rows; returns the ids of those that were there.
    fn delete_fired(&mut self, ids: &[String]) -> Result<Vec<String>>;
    /// Deletes the acquired fired rows that nodes of ours have of these triggers: they will find
    /// them gone. Those of nodes of Quartz stay: such a node never looks for its row, and deletes
    /// it itself.
    fn delete_reservations(&mut self, triggers: &[TriggerKey]) -> Result<usize>;
    /// The triggers of these that have an acquired fired row of a node of Quartz.
    fn foreign_reservations(&mut self, triggers: &[TriggerKey]) -> Result<Vec<TriggerKey>>;
    /// The acquired fired rows that nodes of ours, other than `instance`, have for a time before
    /// `before_ms`: at most `limit`, earliest first.
    fn overdue_reservations(&mut self, instance: &str, before_ms: i64, limit: usize) -> Result<Vec<FiredRow>>;
    /// The state of a fired row, if it is there; nobody can delete it before the transaction ends.
    fn hold_fired(&mut self, id: &str) -> Result<Option<FiredState>>;
    /// The ids of these that are there, each with its state.
    fn existing_fired(&mut self, ids: &[String]) -> Result<Vec<(String, FiredState)>>;
    /// The fired rows of these ids that are there.
    fn fired_rows(&mut self, ids: &[String]) -> Result<Vec<FiredRow>>;
    /// Every fired row.
    fn all_fired(&mut self) -> Result<Vec<FiredRow>>;
    /// The fired rows of an instance.
    fn fired_of_instance(&mut self, instance: &str) -> Result<Vec<FiredRow>>;
    /// The executing fires of these triggers, each for this job only.
    fn executing_of_triggers(&mut self, triggers: &[(TriggerKey, JobKey)]) -> Result<Vec<FiredRow>>;
    /// The executing fires of a job.
    fn executing_of_job(&mut self, job: &JobKey) -> Result<Vec<FiredRow>>;
    /// The triggers that have an acquired fired row.
    fn reserved_triggers(&mut self) -> Result<Vec<TriggerKey>>;
    /// The jobs of these that are stored and of which a fire is executing, each with whether one
    /// of its fires lets no other run beside it.
    fn executing_jobs(&mut self, jobs: &[JobKey]) -> Result<Vec<(JobKey, bool)>>;
    /// Tells whether a fire of a stored job is executing.
    fn job_is_executing(&mut self, job: &JobKey) -> Result<bool> {
        Ok(!self.executing_jobs(std::slice::from_ref(job))?.is_empty())
    }
    /// The names of instances that have fired rows.
    fn instances_with_fires(&mut self) -> Result<Vec<String>>;
    /// Draws `count` fences, each larger than any before, and returns the first; none if `owner` is
    /// given and is not registered under this incarnation. With a count of 0 only that is asked,
    /// and the answer is the last that was drawn.
    ///
    /// None is smaller than one that this process knows of ([`Fences`](super::Fences)): what a
    /// database has lost is not drawn a second time.
    fn draw_fences(&mut self, owner: Option<&Owner>, count: usize) -> Result<Option<i64>>;
    /// Sets the last fence to this one, if it is smaller.
    fn raise_fence(&mut self, to: i64) -> Result<()>;
    /// The fires of these that have a recovery trigger already.
    fn recovered_origins(&mut self, fire_ids: &[String]) -> Result<Vec<String>>;
    /// The fires of these that are the first of work that is to be done again, or is being done
    /// again.
    fn roots_underway(&mut self, fire_ids: &[String]) -> Result<Vec<String>>;
    /// The recovery rows of these triggers.
    fn recoveries(&mut self, triggers: &[TriggerKey]) -> Result<Vec<RecoveryRow>>;
    /// Deletes the recovery rows of these triggers.
    fn delete_recoveries(&mut self, triggers: &[TriggerKey]) -> Result<()>;
    /// Writes recovery rows.
    fn insert_recoveries(&mut self, rows: &[RecoveryRow]) -> Result<()>;
}
