//! `CN_JOB_POLICIES`: what is done about runs of a job.

use super::job_keys;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::JobRow;
use crate::store::sql::session::SqlSession;

const KEY: [&str; 2] = ["job_name", "job_group"];

/// The policy of the job `j`. A policy that was given to a job of another type is none of this
/// job's: a program that knows nothing of policies has put this job in that one's place.
pub(super) const POLICY: &str = " LEFT JOIN {p}CN_JOB_POLICIES y ON y.sched_name = j.sched_name \
     AND y.job_name = j.job_name AND y.job_group = j.job_group AND y.job_type = j.job_class_name";

impl SqlSession<'_, '_> {
    /// Writes the policies of jobs that have one.
    pub(super) fn insert_policies(&mut self, jobs: &[JobRow]) -> Result<()> {
        let with: Vec<&JobRow> = jobs.iter().filter(|job| job.policy.is_some()).collect();
        // One may be left of a job that a program deleted which knows nothing of it.
        let keys: Vec<JobKey> = with.iter().map(|job| job.key.clone()).collect();
        self.delete_policies(&keys)?;
        let row = |job: &&JobRow| {
            vec![job.key.name().into(), job.key.group().into(), (&job.job_type).into(), job.policy.as_deref().into()]
        };
        let columns = ["job_name", "job_group", "job_type", "policy"];
        self.insert_rows("CN_JOB_POLICIES", &columns, with.iter().map(row).collect())
    }

    pub(super) fn delete_policies(&mut self, keys: &[JobKey]) -> Result<()> {
        self.delete_rows("CN_JOB_POLICIES", &KEY, &job_keys(keys), "").map(drop)
    }
}
