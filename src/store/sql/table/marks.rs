//! `CN_JOB_MARKS` and `CN_TAGS`: what people and other systems know a job by.

use super::row_beside::{OF_JOB, left_join};
use crate::error::Result;
use crate::job::{JobFilter, JobMarks};
use crate::store::database::Session;
use crate::store::row::{JobMarksRow, JobRow, Table, TagRow};
use crate::store::sql::backend::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

/// The marks of the job `j`. As a policy they are bound to it by its type.
pub(super) fn marks(backend: Backend) -> String {
    left_join(backend, "CN_JOB_MARKS", "m", "j", OF_JOB) + " AND m.job_type = j.job_class_name"
}

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

    /// Writes the marks of jobs that have some. Some may be left of a job that a program deleted
    /// which knows nothing of them.
    pub(super) fn put_marks(&mut self, jobs: &[JobRow]) -> Result<()> {
        let (mut keys, mut rows, mut tags) = (Vec::new(), Vec::new(), Vec::new());
        for JobRow { key, job_type, marks, .. } in jobs {
            let Some(text) = marks else { continue };
            // Marks that cannot be read here, of a later version perhaps, are kept, and not found.
            let marks = JobMarks::decode(text).unwrap_or_default();
            keys.push(key.clone());
            rows.push(JobMarksRow {
                job: key.clone(),
                job_type: job_type.to_string(),
                biz_key: marks.get_biz_key().map(str::to_owned),
                owner: marks.get_owner().map(str::to_owned),
                marks: text.clone(),
            });
            tags.extend(marks.tags().map(|tag| TagRow { tag: tag.to_owned(), job: key.clone() }));
        }
        if keys.is_empty() {
            return Ok(());
        }
        self.delete_of_jobs(&[TagRow::DEF, JobMarksRow::DEF], &keys)?;
        let session: &mut dyn Session = self;
        session.insert_all(&rows)?;
        session.insert_all(&tags)
    }
}
