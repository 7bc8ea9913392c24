//! `JOB_DETAILS` and what hangs on a job, in memory.

use super::MemorySession;
use crate::error::Result;
use crate::job::{JobFilter, JobMarks};
use crate::key::JobKey;
use crate::store::database::JobRows;
use crate::store::row::{
    ContinuationRow, ContinuationSelection, JobRow, JobSelection, JobVersionRow, LastRunRow, OrphanRow, Table,
    TriggerRow, TypeVersions, UnknownJobRow,
};
use crate::trigger::TriggerState;
use std::collections::BTreeSet;

impl JobRows for MemorySession<'_> {
    fn jobs(&mut self, which: JobSelection<'_>) -> Result<Vec<JobRow>> {
        self.reads()?;
        let all = || self.tables.jobs.values();
        let mut jobs: Vec<&JobRow> = match which {
            JobSelection::All => all().collect(),
            JobSelection::Key(key) => self.tables.jobs.get(key).into_iter().collect(),
            JobSelection::Keys(keys) | JobSelection::Whole(keys) => {
                keys.iter().filter_map(|key| self.tables.jobs.get(key)).collect()
            }
            JobSelection::Marked(filter) => all().filter(|job| is_marked(job, filter)).collect(),
            JobSelection::WithPolicyWord(word) => {
                all().filter(|job| job.policy.as_ref().is_some_and(|text| text.contains(word))).collect()
            }
        };
        jobs.sort_by(|a, b| (a.key.group(), a.key.name()).cmp(&(b.key.group(), b.key.name())));
        Ok(jobs.into_iter().cloned().collect())
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
                && !tables.triggers.index.has_job(key)
                && !tables.fired.index.has_job(key)
        };
        let idle: BTreeSet<JobKey> = keys.iter().filter(idle).cloned().collect();
        for key in &idle {
            self.remove_job(key);
        }
        Ok(idle.into_iter().collect())
    }

    fn unknown_jobs(
        &mut self,
        known: &TypeVersions,
        due_by_ms: Option<i64>,
        behind: Option<&JobKey>,
        limit: usize,
    ) -> Result<Vec<UnknownJobRow>> {
        self.reads()?;
        let is_behind =
            |job: &&JobRow| behind.is_none_or(|key| (job.key.group(), job.key.name()) > (key.group(), key.name()));
        let jobs = self.tables.jobs.values().filter(is_behind);
        let mut jobs: Vec<&JobRow> = jobs.filter(|job| !self.is_known(job, known)).collect();
        jobs.sort_by(|a, b| (a.key.group(), a.key.name()).cmp(&(b.key.group(), b.key.name())));
        let is_due = |t: &&TriggerRow| {
            due_by_ms
                .is_none_or(|by_ms| t.state == TriggerState::Waiting.name() && t.next_ms.is_some_and(|ms| ms <= by_ms))
        };
        let row = |job: &JobRow| {
            let triggers: Vec<_> = self.of_job(&job.key).filter(is_due).collect();
            UnknownJobRow {
                job: job.key.clone(),
                job_type: job.job_type.to_string(),
                version: self.version_of(&job.key),
                triggers: i64::try_from(triggers.len()).unwrap_or(i64::MAX),
                next_ms: triggers.iter().filter_map(|t| t.next_ms).min(),
            }
        };
        let rows = jobs.into_iter().map(row).filter(|row| due_by_ms.is_none() || row.triggers > 0);
        Ok(rows.take(limit).collect())
    }

    fn continuations(&mut self, which: ContinuationSelection<'_>) -> Result<Vec<ContinuationRow>> {
        self.reads()?;
        let takes = |row: &ContinuationRow| match which {
            ContinuationSelection::All => true,
            ContinuationSelection::ChildrenOf(parents) => parents.contains(&row.parent),
            ContinuationSelection::ParentsOf(children) => children.contains(&row.child),
        };
        let filled = |row: ContinuationRow| ContinuationRow {
            child_is_blocked: self.tables.fired.index.is_executing_alone(&row.child),
            ..row
        };
        Ok(self.tables.rows().filter(takes).map(filled).collect())
    }
}

pub(super) fn is_marked(job: &JobRow, filter: &JobFilter) -> bool {
    let marks = job.marks.as_deref().and_then(|text| JobMarks::decode(text).ok());
    marks.is_some_and(|marks| filter.takes_marks(&marks))
}

impl MemorySession<'_> {
    pub(super) fn remove_job(&mut self, key: &JobKey) -> bool {
        self.tables.delete_rows(|row: &ContinuationRow| row.parent == *key || row.child == *key);
        self.tables.remove_row::<JobVersionRow>(key);
        self.tables.remove_row::<OrphanRow>(key);
        if self.tables.has_rows(LastRunRow::DEF) {
            self.tables.delete_rows(|row: &LastRunRow| row.job == *key);
        }
        self.tables.jobs.remove(key).is_some()
    }

    fn version_row(&self, job: &JobKey) -> Option<JobVersionRow> {
        // Nearly always there is none: no key is made for each trigger that waits.
        self.tables.has_rows(JobVersionRow::DEF).then(|| self.tables.row_of(job)).flatten()
    }

    fn version_of(&self, job: &JobKey) -> i64 {
        self.version_row(job).map_or(1, |row| row.version)
    }

    /// Tells whether the data of a job are of a version that is read by who reads these.
    pub(super) fn is_read_by(&self, job: &JobKey, versions: &TypeVersions) -> bool {
        self.version_row(job).is_none_or(|row| row.version <= versions.get(&row.job_type).copied().unwrap_or(1))
    }

    fn is_known(&self, job: &JobRow, known: &TypeVersions) -> bool {
        known.get(&*job.job_type).is_some_and(|latest| self.version_of(&job.key) <= *latest)
    }
}
