//! `CN_CONTINUATIONS`: which jobs follow the runs of others.

use super::executing::job_executes_alone;
use super::job_keys;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{ContinuationRow, JobRow};
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use diesel::sql_types::{BigInt, Binary, Nullable, Text};

by_place! {
    pub(super) struct Row {
        parent_name: String as Text,
        parent_group: String as Text,
        parent_type: String as Text,
        child_name: String as Text,
        child_group: String as Text,
        child_hash: String as Text,
        on_outcome: String as Text,
        since_fence: i64 as BigInt,
        link_data: Option<Vec<u8>> as Nullable<Binary>,
        executing: i64 as BigInt,
    }
}

impl From<Row> for ContinuationRow {
    fn from(row: Row) -> Self {
        ContinuationRow {
            parent: JobKey::new(row.parent_group, row.parent_name),
            parent_type: row.parent_type,
            child: JobKey::new(row.child_group, row.child_name),
            child_hash: row.child_hash,
            on: row.on_outcome,
            since_fence: row.since_fence,
            data: row.link_data,
            child_is_blocked: row.executing > 0,
        }
    }
}

const PARENT: [&str; 2] = ["parent_name", "parent_group"];
const CHILD: [&str; 2] = ["child_name", "child_group"];

/// The number of continuations whose parent is the job of trigger `t`, by the primary key.
/// Continuations of a job that had the key before are found out when they are looked at.
pub(super) const FOLLOWED: &str = "(SELECT COUNT(*) FROM {p}CN_CONTINUATIONS l WHERE l.sched_name = t.sched_name \
     AND l.parent_name = t.job_name AND l.parent_group = t.job_group) AS followers";

/// The number of continuations of a job, as parent and as child.
pub(super) const CONTINUATIONS: &str = "(SELECT COUNT(*) FROM {p}CN_CONTINUATIONS l \
     WHERE l.sched_name = {p}JOB_DETAILS.sched_name AND l.parent_name = {p}JOB_DETAILS.job_name \
     AND l.parent_group = {p}JOB_DETAILS.job_group) + (SELECT COUNT(*) FROM {p}CN_CONTINUATIONS l \
     WHERE l.sched_name = {p}JOB_DETAILS.sched_name AND l.child_name = {p}JOB_DETAILS.job_name \
     AND l.child_group = {p}JOB_DETAILS.job_group)";

impl SqlSession<'_, '_> {
    /// Continuations of jobs that are there, up to the condition.
    pub(super) fn continuations_where(&self) -> String {
        format!(
            "SELECT l.parent_name AS parent_name, l.parent_group AS parent_group, l.parent_type AS parent_type, \
             l.child_name AS child_name, l.child_group AS child_group, l.child_hash AS child_hash, \
             l.on_outcome AS on_outcome, l.since_fence AS since_fence, l.data AS link_data, \
             {} AS executing \
             FROM {{p}}CN_CONTINUATIONS l \
             JOIN {{p}}JOB_DETAILS j ON j.sched_name = l.sched_name AND j.job_name = l.parent_name \
             AND j.job_group = l.parent_group AND j.job_class_name = l.parent_type \
             JOIN {{p}}JOB_DETAILS k ON k.sched_name = l.sched_name AND k.job_name = l.child_name \
             AND k.job_group = l.child_group WHERE l.sched_name = ?",
            job_executes_alone(self.backend(), "k")
        )
    }

    /// Deletes the continuations that these jobs are parents or children of.
    pub(super) fn delete_continuations_of(&mut self, jobs: &[JobKey]) -> Result<()> {
        self.delete_rows("CN_CONTINUATIONS", &PARENT, &job_keys(jobs), "")?;
        self.delete_rows("CN_CONTINUATIONS", &CHILD, &job_keys(jobs), "").map(drop)
    }

    /// A job that is about to be replaced by this one keeps its children; what a job before it had
    /// is void.
    pub(super) fn keep_continuations(&mut self, job: &JobRow) -> Result<()> {
        let void = "DELETE FROM {p}CN_CONTINUATIONS WHERE sched_name = ? AND parent_name = ? AND parent_group = ? \
             AND NOT EXISTS (SELECT 1 FROM {p}JOB_DETAILS j WHERE j.sched_name = {p}CN_CONTINUATIONS.sched_name \
             AND j.job_name = {p}CN_CONTINUATIONS.parent_name AND j.job_group = {p}CN_CONTINUATIONS.parent_group \
             AND j.job_class_name = {p}CN_CONTINUATIONS.parent_type)";
        self.execute(void, &[self.name(), job.key.name().into(), job.key.group().into()])?;
        let text = "UPDATE {p}CN_CONTINUATIONS SET parent_type = ? WHERE sched_name = ? AND parent_name = ? \
             AND parent_group = ?";
        let values = [(&*job.job_type).into(), self.name(), job.key.name().into(), job.key.group().into()];
        self.execute(text, &values).map(drop)
    }
}
