//! `JOB_DETAILS` and what hangs on a job, in memory.

use super::MemorySession;
use crate::error::Result;
use crate::job::{JobFilter, JobMarks};
use crate::key::JobKey;
use crate::store::database::JobRows;
use crate::store::row::{ContinuationRow, JobRow, JobVersionRow, OrphanRow, PolicyRow};
use std::collections::BTreeSet;

impl JobRows for MemorySession<'_> {
    fn job(&mut self, key: &JobKey) -> Result<Option<JobRow>> {
        self.reads()?;
        Ok(self.tables.jobs.get(key).cloned())
    }

    fn existing_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>> {
        self.reads()?;
        Ok(keys.iter().filter(|key| self.tables.jobs.get(*key).is_some()).cloned().collect())
    }

    fn job_policies(&mut self, keys: &[JobKey]) -> Result<Vec<PolicyRow>> {
        self.reads()?;
        let row = |job: &JobRow| PolicyRow {
            job: job.key.clone(),
            job_type: job.job_type.clone(),
            policy: job.policy.clone(),
        };
        Ok(keys.iter().filter_map(|key| self.tables.jobs.get(key)).map(row).collect())
    }

    fn marked_jobs(&mut self, filter: &JobFilter) -> Result<Vec<JobRow>> {
        let marked = |job: &JobRow| {
            let marks = job.marks.as_deref().and_then(|text| JobMarks::decode(text).ok());
            marks.is_some_and(|marks| filter.takes_marks(&marks))
        };
        Ok(self.jobs()?.into_iter().filter(marked).collect())
    }

    fn insert_jobs(&mut self, jobs: &[JobRow]) -> Result<()> {
        self.changes()?;
        for job in jobs {
            if self.tables.jobs.get(&job.key).is_some() {
                return Err(self.duplicate("job", &job.key));
            }
            self.tables.jobs.put(job.key.clone(), job.clone());
        }
        Ok(())
    }

    fn update_job(&mut self, job: &JobRow) -> Result<()> {
        self.changes()?;
        self.tables.jobs.change(&job.key, |row| *row = job.clone());
        Ok(())
    }

    fn write_job_data(&mut self, data: &[(JobKey, Vec<u8>)]) -> Result<()> {
        self.changes()?;
        for (key, data) in data {
            self.tables.jobs.change(key, |row| row.data = Some(data.clone()));
        }
        Ok(())
    }

    fn delete_jobs(&mut self, keys: &[JobKey]) -> Result<usize> {
        self.changes()?;
        Ok(keys.iter().filter(|key| self.remove_job(key)).count())
    }

    fn delete_idle_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>> {
        self.changes()?;
        let tables = &self.tables;
        let idle = |key: &&JobKey| {
            tables.jobs.get(*key).is_some_and(|job| !job.durable)
                && !tables.triggers.index().has_job(key)
                && !tables.fired.index().has_job(key)
        };
        let idle: BTreeSet<JobKey> = keys.iter().filter(idle).cloned().collect();
        for key in &idle {
            self.remove_job(key);
        }
        Ok(idle.into_iter().collect())
    }

    fn jobs(&mut self) -> Result<Vec<JobRow>> {
        self.reads()?;
        let mut jobs: Vec<JobRow> = self.tables.jobs.values().cloned().collect();
        jobs.sort_by(|a, b| (a.key.group(), a.key.name()).cmp(&(b.key.group(), b.key.name())));
        Ok(jobs)
    }
}

impl MemorySession<'_> {
    pub(super) fn remove_job(&mut self, key: &JobKey) -> bool {
        self.tables.delete_rows(|row: &ContinuationRow| row.parent == *key || row.child == *key);
        self.tables.remove_row::<JobVersionRow>(key);
        self.tables.remove_row::<OrphanRow>(key);
        self.tables.jobs.remove(key).is_some()
    }
}
