//! `CN_JOB_MARKS` and `CN_TAGS`: what people and other systems know a job by.

use super::{JOB_KEY, job_keys};
use crate::error::Result;
use crate::job::{JobFilter, JobMarks};
use crate::key::JobKey;
use crate::store::row::JobRow;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

/// The marks of the job `j`. As a policy they are bound to it by its type.
pub(super) const MARKS: &str = " LEFT JOIN {p}CN_JOB_MARKS m ON m.sched_name = j.sched_name \
     AND m.job_name = j.job_name AND m.job_group = j.job_group AND m.job_type = j.job_class_name";

impl SqlSession<'_, '_> {
    /// The condition that a job `j` with marks `m` is asked for, with its values. Each part is a
    /// look-up in an index of the side tables.
    pub(super) fn marked(&self, filter: &JobFilter) -> (String, Vec<Value>) {
        let (mut text, mut values) = (" AND m.sched_name IS NOT NULL".to_owned(), Vec::new());
        let columns = [("BIZ_KEY", &filter.biz_key), ("OWNER", &filter.owner)];
        let marks = columns.into_iter().filter_map(|(column, value)| Some(("CN_JOB_MARKS", column, value.as_ref()?)));
        for (table, column, value) in marks.chain(filter.tags.iter().map(|tag| ("CN_TAGS", "TAG", tag))) {
            text.push_str(&format!(
                " AND (j.job_name, j.job_group) IN (SELECT g.job_name, g.job_group FROM {{p}}{table} g \
                 WHERE g.sched_name = ? AND g.{column} = ?)"
            ));
            values.extend([self.name(), value.into()]);
        }
        (text, values)
    }

    /// Writes the marks of jobs that have some.
    pub(super) fn insert_marks(&mut self, jobs: &[JobRow]) -> Result<()> {
        let with: Vec<&JobRow> = jobs.iter().filter(|job| job.marks.is_some()).collect();
        if with.is_empty() {
            return Ok(());
        }
        // Some may be left of a job that a program deleted which knows nothing of them.
        let keys: Vec<JobKey> = with.iter().map(|job| job.key.clone()).collect();
        self.delete_marks(&keys)?;
        let (mut rows, mut tags) = (Vec::new(), Vec::new());
        for job in with {
            let Some(text) = &job.marks else { continue };
            // Marks that cannot be read here, of a later version perhaps, are kept, and not found.
            let marks = JobMarks::decode(text).unwrap_or_default();
            let (name, group) = (job.key.name(), job.key.group());
            rows.push(vec![
                name.into(),
                group.into(),
                (&job.job_type).into(),
                marks.get_biz_key().into(),
                marks.get_owner().into(),
                text.into(),
            ]);
            tags.extend(marks.tags().map(|tag| vec![tag.into(), name.into(), group.into()]));
        }
        let columns = ["job_name", "job_group", "job_type", "biz_key", "owner", "marks"];
        self.insert_rows("CN_JOB_MARKS", &columns, rows)?;
        self.insert_rows("CN_TAGS", &["tag", "job_name", "job_group"], tags)
    }

    pub(super) fn delete_marks(&mut self, keys: &[JobKey]) -> Result<()> {
        let keys = job_keys(keys);
        self.delete_rows("CN_TAGS", &JOB_KEY, &keys, "")?;
        self.delete_rows("CN_JOB_MARKS", &JOB_KEY, &keys, "").map(drop)
    }
}
