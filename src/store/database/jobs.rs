//! `JobRows`: jobs, what hangs on them, and the jobs that nobody can run.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{ContinuationRow, ContinuationSelection, JobRow, JobSelection, TypeVersions, UnknownJobRow};

/// Rows of `JOB_DETAILS` and of our side table of continuations.
pub trait JobRows {
    /// Jobs, in the order that the selection names.
    fn jobs(&mut self, which: JobSelection<'_>) -> Result<Vec<JobRow>>;
    /// Stores new jobs.
    fn insert_jobs(&mut self, jobs: &[JobRow]) -> Result<()>;
    /// Replaces a job.
    fn update_job(&mut self, job: &JobRow) -> Result<()>;
    /// Writes the data of jobs.
    fn write_job_data(&mut self, data: &[(JobKey, Vec<u8>)]) -> Result<()>;
    /// Deletes jobs; returns how many there were.
    fn delete_jobs(&mut self, keys: &[JobKey]) -> Result<usize>;
    /// Deletes those of these jobs that are not durable, have no trigger and no fired row; returns
    /// them. A caller's transaction, which may not see a trigger that is just being stored, deletes
    /// none, unless it excludes all others.
    ///
    /// The rows of side tables for a job go with it, here as with [`JobRows::delete_jobs`].
    fn delete_idle_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>>;

    /// At most `limit` jobs that are of none of these types, or have data of a later version, with
    /// their triggers, in order of their keys, and `behind` this one. With `due_by_ms` only jobs
    /// with a waiting trigger due by this time, and only these triggers: the due triggers are read,
    /// and no others.
    fn unknown_jobs(
        &mut self,
        known: &TypeVersions,
        due_by_ms: Option<i64>,
        behind: Option<&JobKey>,
        limit: usize,
    ) -> Result<Vec<UnknownJobRow>>;
    /// Continuations of jobs that are there, in no order.
    fn continuations(&mut self, which: ContinuationSelection<'_>) -> Result<Vec<ContinuationRow>>;
}
