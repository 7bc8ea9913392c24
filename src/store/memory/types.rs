//! Job types, versions of jobs and orphans in maps.

use super::MemorySession;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::OrphanRows;
use crate::store::row::{JobRow, JobVersionRow, Table, TypeVersions, UnknownJobRow};
use std::collections::BTreeSet;

impl MemorySession<'_> {
    fn version_row(&self, job: &JobKey) -> Option<JobVersionRow> {
        // Nearly always there is none: no key is made for each trigger that waits.
        self.tables.has_rows(JobVersionRow::DEF).then(|| self.tables.row_of(job)).flatten()
    }

    fn version_of(&self, job: &JobKey) -> i64 {
        self.version_row(job).map_or(1, |row| row.version)
    }

    /// Whether the data of a job are of a version that is read by who reads these.
    pub(super) fn is_read_by(&self, job: &JobKey, versions: &TypeVersions) -> bool {
        self.version_row(job).is_none_or(|row| row.version <= versions.get(&row.job_type).copied().unwrap_or(1))
    }

    fn is_known(&self, job: &JobRow, known: &TypeVersions) -> bool {
        known.get(&job.job_type).is_some_and(|latest| self.version_of(&job.key) <= *latest)
    }
}

impl OrphanRows for MemorySession<'_> {
    fn unknown_jobs(&mut self, known: &TypeVersions, limit: usize) -> Result<Vec<UnknownJobRow>> {
        self.reads()?;
        let mut jobs: Vec<&JobRow> = self.tables.jobs.values().filter(|job| !self.is_known(job, known)).collect();
        jobs.sort_by(|a, b| (a.key.group(), a.key.name()).cmp(&(b.key.group(), b.key.name())));
        let row = |job: &JobRow| {
            let triggers: Vec<_> = self.of_job(&job.key).collect();
            UnknownJobRow {
                job: job.key.clone(),
                job_type: job.job_type.clone(),
                version: self.version_of(&job.key),
                triggers: i64::try_from(triggers.len()).unwrap_or(i64::MAX),
                next_ms: triggers.iter().filter_map(|t| t.next_ms).min(),
            }
        };
        Ok(jobs.into_iter().take(limit).map(row).collect())
    }

    fn unknown_due_jobs(&mut self, known: &TypeVersions, before_ms: i64, limit: usize) -> Result<Vec<JobKey>> {
        self.reads()?;
        let due = self.tables.triggers.index().waiting(before_ms, i64::MIN);
        let jobs = due.filter_map(|t| self.tables.jobs.get(&t.job)).filter(|job| !self.is_known(job, known));
        let keys: BTreeSet<JobKey> = jobs.map(|job| job.key.clone()).collect();
        Ok(keys.into_iter().take(limit).collect())
    }
}
