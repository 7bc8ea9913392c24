//! What a session reads and writes of job types, versions of data and orphans.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::*;

/// Rows of our side table of job types.
pub trait TypeRows {
    /// What the instances can run, in order of their names and then as they gave it.
    fn job_types(&mut self) -> Result<Vec<JobTypeRow>>;
    /// Notes what an instance can run in the place of what was noted before; these rows are all its own.
    fn put_job_types(&mut self, instance: &str, types: &[JobTypeRow]) -> Result<()>;
}

/// Rows of our side table of versions.
pub trait VersionRows {
    /// Those of these jobs whose data are of a later version than the first.
    fn job_versions(&mut self, jobs: &[JobKey]) -> Result<Vec<JobVersionRow>>;
    /// Notes versions in the place of those noted before; the first version is not noted.
    fn put_job_versions(&mut self, rows: &[JobVersionRow]) -> Result<()>;
}

/// Rows of our side table of orphans, and the search for such jobs.
pub trait OrphanRows {
    /// At most `limit` jobs that are of none of these types, or have data of a later version, in order of their keys.
    fn unknown_jobs(&mut self, known: &TypeVersions, limit: usize) -> Result<Vec<UnknownJobRow>>;
    /// At most `limit` of the same that have a waiting trigger due up to `before_ms`: reads the due triggers only.
    fn unknown_due_jobs(&mut self, known: &TypeVersions, before_ms: i64, limit: usize) -> Result<Vec<JobKey>>;
    /// Every orphan that was noted.
    fn orphans(&mut self) -> Result<Vec<OrphanRow>>;
    /// Notes new orphans.
    fn insert_orphans(&mut self, rows: &[OrphanRow]) -> Result<()>;
    /// Forgets that jobs were orphans.
    fn delete_orphans(&mut self, jobs: &[JobKey]) -> Result<()>;
}
