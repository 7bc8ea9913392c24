//! `CN_JOB_POLICIES`: what is done about runs of a job.

use super::job_keys;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{JobRow, PolicyRow};
use crate::store::sql::by_place::by_place;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use diesel::sql_types::{Nullable, Text};

by_place! {
    struct Row {
        job_name: String as Text,
        job_group: String as Text,
        job_class_name: String as Text,
        policy: Option<String> as Nullable<Text>,
    }
}

impl From<Row> for PolicyRow {
    fn from(row: Row) -> Self {
        PolicyRow { job: JobKey::new(row.job_group, row.job_name), job_type: row.job_class_name, policy: row.policy }
    }
}

const KEY: [&str; 2] = ["job_name", "job_group"];

/// The policy of the job `j`. One that was given to a job of another type is none of this one's: a
/// program that knows nothing of it has put this job in that one's place.
pub(super) const POLICY: &str = " LEFT JOIN {p}CN_JOB_POLICIES y ON y.sched_name = j.sched_name \
     AND y.job_name = j.job_name AND y.job_group = j.job_group AND y.job_type = j.job_class_name";

impl SqlSession<'_, '_> {
    /// Those of these jobs that exist, with their policies.
    pub(super) fn load_policies(&mut self, keys: &[JobKey]) -> Result<Vec<PolicyRow>> {
        let head = format!(
            "SELECT j.job_name AS job_name, j.job_group AS job_group, j.job_class_name AS job_class_name, \
             y.policy AS policy FROM {{p}}JOB_DETAILS j{POLICY} WHERE j.sched_name = ? AND"
        );
        let key = ["j.job_name", "j.job_group"];
        let rows: Vec<Row> = self.load_for_keys(&head, &[self.name()], &key, &job_keys(keys))?;
        Ok(rows.into_iter().map(PolicyRow::from).collect())
    }

    /// Those of jobs whose policies have this word in them.
    pub(super) fn load_policies_with(&mut self, word: &str) -> Result<Vec<PolicyRow>> {
        let text = format!(
            "SELECT job_name AS job_name, job_group AS job_group, job_type AS job_class_name, policy AS policy \
             FROM {{p}}CN_JOB_POLICIES WHERE sched_name = ? AND {}(policy, ?) > 0",
            dialect::place_of(self.backend())
        );
        let rows: Vec<Row> = self.load(&text, &[self.name(), word.into()])?;
        Ok(rows.into_iter().map(PolicyRow::from).collect())
    }

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
