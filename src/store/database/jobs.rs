//! `JobRows`: jobs, what hangs on them, and the jobs that nobody can run.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{ContinuationRow, ContinuationSelection, JobRow, JobSelection, TypeVersions, UnknownJobRow};

/// Rows of `JOB_DETAILS` and of our side table of continuations.
pub trait JobRows {
    /// Jobs, in the order that the selection names.
    fn jobs(&mut self, which: JobSelection<'_>) -> Result<Vec<JobRow>>;
    /// The keys of these that jobs have.
    fn existing_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>>;
    /// Stores new jobs.
    fn insert_jobs(&mut self, jobs: &[JobRow]) -> Result<()>;
    /// Replaces a job.
    fn update_job(&mut self, job: &JobRow) -> Result<()>;
    /// Writes the data of jobs.
    fn write_job_data(&mut self, data: &[(JobKey, Vec<u8>)]) -> Result<()>;
    /// Deletes jobs; returns how many there were.
    fn delete_jobs(&mut self, keys: &[JobKey]) -> Result<usize>;
    /// Deletes those of these jobs that are not durable, have no trigger and no fired row; returns
    /// them. What side tables have for a job goes with it, here as with [`JobRows::delete_jobs`].
    fn delete_idle_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>>;

    /// At most `limit` jobs that are of none of these types, or have data of a later version, in
    /// order of their keys.
    fn unknown_jobs(&mut self, known: &TypeVersions, limit: usize) -> Result<Vec<UnknownJobRow>>;
    /// At most `limit` of the same that have a waiting trigger due up to `before_ms`: reads the due
    /// triggers only.
    fn unknown_due_jobs(&mut self, known: &TypeVersions, before_ms: i64, limit: usize) -> Result<Vec<JobKey>>;

    /// Continuations of jobs that are there, in no order.
    fn continuations(&mut self, which: ContinuationSelection<'_>) -> Result<Vec<ContinuationRow>>;
}
