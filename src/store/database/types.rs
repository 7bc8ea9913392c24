//! Job types, versions of data and orphans in a session.

use super::session::Session;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{JobTypeRow, JobVersionRow, OrphanRow};

impl dyn Session + '_ {
    /// The types that the instances can run, in order of the instances and of their own lists.
    pub fn job_types(&mut self) -> Result<Vec<JobTypeRow>> {
        self.rows().by(&["instance", "ordinal"]).list()
    }

    /// Notes the types that an instance can run in the place of those noted before.
    pub fn put_job_types(&mut self, instance: &str, types: &[JobTypeRow]) -> Result<()> {
        self.rows::<JobTypeRow>().with("instance", instance).delete()?;
        let row =
            |(ordinal, row): (i64, &JobTypeRow)| JobTypeRow { instance: instance.to_owned(), ordinal, ..row.clone() };
        self.insert_all(&(0..).zip(types).map(row).collect::<Vec<_>>())
    }

    /// The versions of these jobs whose data are of a later version than the first.
    pub fn job_versions(&mut self, jobs: &[JobKey]) -> Result<Vec<JobVersionRow>> {
        self.rows().any_of(&["job"], jobs).list()
    }

    /// Notes versions in the place of those noted before; the first version is not noted.
    pub fn put_job_versions(&mut self, rows: &[JobVersionRow]) -> Result<()> {
        let jobs: Vec<JobKey> = rows.iter().map(|row| row.job.clone()).collect();
        self.rows::<JobVersionRow>().any_of(&["job"], &jobs).delete()?;
        self.insert_all(&rows.iter().filter(|row| row.version > 1).cloned().collect::<Vec<_>>())
    }

    /// Forgets that jobs were orphans.
    pub fn delete_orphans(&mut self, jobs: &[JobKey]) -> Result<()> {
        self.rows::<OrphanRow>().any_of(&["job"], jobs).delete().map(drop)
    }
}
