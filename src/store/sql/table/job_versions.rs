//! `CN_JOB_VERSIONS`: jobs whose data are of a later version than the first.

use super::{JOB_KEY, job_keys};
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::VersionRows;
use crate::store::row::{JobVersionRow, TypeVersions};
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};
use std::fmt::Write as _;

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    job_name: String,
    #[diesel(sql_type = Text)]
    job_group: String,
    #[diesel(sql_type = Text)]
    job_type: String,
    #[diesel(sql_type = BigInt)]
    version: i64,
}

/// Versions of jobs that are gone, or were replaced by a program that knows nothing of them.
pub(super) const STRAY: &str = "{p}CN_JOB_VERSIONS WHERE sched_name = ? AND NOT EXISTS (SELECT 1 FROM {p}JOB_DETAILS j \
     WHERE j.sched_name = {p}CN_JOB_VERSIONS.sched_name AND j.job_name = {p}CN_JOB_VERSIONS.job_name \
     AND j.job_group = {p}CN_JOB_VERSIONS.job_group AND j.job_class_name = {p}CN_JOB_VERSIONS.job_type)";

/// The latest version that is read of the type in `column`, with its values.
pub(super) fn latest_of(column: &str, versions: &TypeVersions) -> (String, Vec<Value>) {
    if versions.is_empty() {
        return ("1".to_owned(), Vec::new());
    }
    let mut text = format!("CASE {column}");
    let mut values = Vec::new();
    for (job_type, version) in versions {
        // Numbers stand in the text, so that PostgreSQL knows what they are.
        let _ = write!(text, " WHEN ? THEN {version}");
        values.push(job_type.into());
    }
    text.push_str(" ELSE 1 END");
    (text, values)
}

/// That the data of the job of a trigger `t` are of a version that is read here, with its values.
///
/// Where no job has a version, that is found out once and not for each trigger. Under `NOT` no planner makes joins of the
/// subqueries, which it might begin with. And since it takes an equation for rare, it takes almost all triggers for ones
/// that are read: it does not think that it has to search long.
pub(super) fn is_read_here(name: Value, versions: &TypeVersions) -> (String, Vec<Value>) {
    let (latest, types) = latest_of("v.job_type", versions);
    let text = format!(
        "NOT (EXISTS (SELECT 1 FROM {{p}}CN_JOB_VERSIONS x WHERE x.sched_name = ?) \
         AND COALESCE((SELECT CASE WHEN v.version <= {latest} THEN 1 ELSE 0 END FROM {{p}}CN_JOB_VERSIONS v \
         WHERE v.sched_name = t.sched_name AND v.job_name = t.job_name AND v.job_group = t.job_group), 1) = 0)"
    );
    let mut values = vec![name];
    values.extend(types);
    (text, values)
}

impl VersionRows for SqlSession<'_, '_> {
    fn job_versions(&mut self, jobs: &[JobKey]) -> Result<Vec<JobVersionRow>> {
        let head = "SELECT job_name AS job_name, job_group AS job_group, job_type AS job_type, version AS version \
             FROM {p}CN_JOB_VERSIONS WHERE sched_name = ? AND";
        let rows: Vec<Row> = self.load_for_keys(head, &[self.name()], &JOB_KEY, &job_keys(jobs))?;
        let row = |row: Row| JobVersionRow {
            job: JobKey::new(row.job_group, row.job_name),
            job_type: row.job_type,
            version: row.version,
        };
        Ok(rows.into_iter().map(row).collect())
    }

    fn put_job_versions(&mut self, rows: &[JobVersionRow]) -> Result<()> {
        self.assert_trigger_access();
        let keys: Vec<JobKey> = rows.iter().map(|row| row.job.clone()).collect();
        self.delete_rows("CN_JOB_VERSIONS", &JOB_KEY, &job_keys(&keys), "")?;
        let row = |row: &JobVersionRow| {
            vec![row.job.name().into(), row.job.group().into(), (&row.job_type).into(), row.version.into()]
        };
        let later: Vec<_> = rows.iter().filter(|row| row.version > 1).map(row).collect();
        self.insert_rows("CN_JOB_VERSIONS", &["job_name", "job_group", "job_type", "version"], later)
    }
}
