//! Deletion of all jobs of a type.

use super::JobTypes;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::Session;
use crate::store::row::{JobQuery, TriggerSelection};
use std::collections::BTreeSet;

/// The result of a deletion of jobs by their type, or of its dry run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeletedJobs {
    /// The jobs that are deleted, in order of group and name.
    pub deleted: Vec<JobKey>,
    /// Jobs that are running, and were left as they are: delete again when they have ended.
    pub running: Vec<JobKey>,
    /// The number of triggers that went with the jobs.
    pub triggers: usize,
}

impl JobTypes<'_> {
    /// Deletes all jobs of a type with their triggers, but for those that run; all in one
    /// transaction. With `dry_run` nothing is deleted, and the answer is what it would be.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn delete_jobs_of_type(&self, job_type: &str, dry_run: bool) -> Result<DeletedJobs> {
        if dry_run {
            return self.store.read("look at jobs to be deleted", |s| of_type(s, job_type));
        }
        self.store.write("delete jobs of a type", |s| {
            let found = of_type(s, job_type)?;
            self.store.catalogue().delete_jobs_in(s, &found.deleted)?;
            Ok(found)
        })
    }
}

fn of_type(s: &mut dyn Session, job_type: &str) -> Result<DeletedJobs> {
    let rows = s.job_page(&JobQuery::new().job_type(job_type), None)?;
    let keys: Vec<JobKey> = rows.into_iter().map(|row| row.key).collect();
    let executing: BTreeSet<JobKey> = s.executing_jobs(&keys)?.into_iter().map(|(job, _)| job).collect();
    let (running, deleted): (Vec<JobKey>, Vec<JobKey>) = keys.into_iter().partition(|key| executing.contains(key));
    let triggers = s.trigger_keys(TriggerSelection::OfJobs(&deleted))?.len();
    Ok(DeletedJobs { deleted, running, triggers })
}
