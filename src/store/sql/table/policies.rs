//! `CN_JOB_POLICIES`: what is done about runs of a job.

use super::row_beside::{OF_JOB, left_join};
use crate::error::Result;
use crate::store::database::Session;
use crate::store::row::{JobPolicyRow, JobRow};
use crate::store::sql::backend::Backend;
use crate::store::sql::session::SqlSession;

/// The policy of the job `j`. A policy that was given to a job of another type is none of this
/// job's: a program that knows nothing of policies has put this job in that one's place.
pub(super) fn policy(backend: Backend) -> String {
    left_join(backend, "CN_JOB_POLICIES", "y", "j", OF_JOB) + " AND y.job_type = j.job_class_name"
}

impl SqlSession<'_, '_> {
    /// Writes the policies of jobs that have one. One may be left of a job that a program deleted
    /// which knows nothing of it.
    pub(super) fn put_policies(&mut self, jobs: &[JobRow]) -> Result<()> {
        let row = |JobRow { key, job_type, policy, .. }: &JobRow| {
            Some(JobPolicyRow { job: key.clone(), job_type: job_type.to_string(), policy: policy.clone()? })
        };
        let session: &mut dyn Session = self;
        session.put_all(&jobs.iter().filter_map(row).collect::<Vec<_>>())
    }
}
