//! `JOB_DETAILS`.

use super::continuations::CONTINUATIONS;
use super::executing::job_executes;
use super::marks::MARKS;
use super::policies::POLICY;
use super::{JOB_KEY, job_keys};
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::JobRows;
use crate::store::row::{ContinuationRow, ContinuationSelection, JobRow, JobSelection, TypeVersions, UnknownJobRow};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::{Flag, FlagType, Value};
use diesel::sql_types::{BigInt, Binary, Nullable, Text};

by_place! {
    struct Row {
        job_name: String as Text,
        job_group: String as Text,
        description: Option<String> as Nullable<Text>,
        job_class_name: String as Text,
        is_durable: Flag as FlagType,
        is_nonconcurrent: Flag as FlagType,
        is_update_data: Flag as FlagType,
        requests_recovery: Flag as FlagType,
        policy: Option<String> as Nullable<Text>,
        marks: Option<String> as Nullable<Text>,
        job_data: Option<Vec<u8>> as Nullable<Binary>,
    }
}

by_place! {
    struct KeyRow {
        job_name: String as Text,
        job_group: String as Text,
    }
}

by_place! {
    /// A job that may go, and whether side tables have something for it.
    struct IdleRow {
        key: KeyRow,
        side_rows: i64 as BigInt,
    }
}

impl From<Row> for JobRow {
    fn from(row: Row) -> Self {
        JobRow {
            key: JobKey::new(row.job_group, row.job_name),
            description: row.description,
            job_type: row.job_class_name,
            durable: row.is_durable.into(),
            nonconcurrent: row.is_nonconcurrent.into(),
            update_data: row.is_update_data.into(),
            requests_recovery: row.requests_recovery.into(),
            data: row.job_data,
            policy: row.policy,
            marks: row.marks,
        }
    }
}

impl From<KeyRow> for JobKey {
    fn from(row: KeyRow) -> Self {
        JobKey::new(row.job_group, row.job_name)
    }
}

fn values(job: &JobRow) -> Vec<Value> {
    vec![
        job.description.as_deref().into(),
        (&job.job_type).into(),
        job.durable.into(),
        job.nonconcurrent.into(),
        job.update_data.into(),
        job.requests_recovery.into(),
        job.data.as_ref().into(),
    ]
}

/// All columns but the data, of the job `j` with its policy `y` and its marks `m`.
const COLUMNS: &str = "j.job_name AS job_name, j.job_group AS job_group, j.description AS description, j.job_class_name \
     AS job_class_name, j.is_durable AS is_durable, j.is_nonconcurrent AS is_nonconcurrent, j.is_update_data AS \
     is_update_data, j.requests_recovery AS requests_recovery, y.policy AS policy, m.marks AS marks";

/// The jobs of a scheduler without their data, up to further conditions.
fn without_data(backend: Backend) -> String {
    let no_data = match backend {
        // An untyped NULL is text to PostgreSQL.
        Backend::Postgres => "CAST(NULL AS bytea)",
        Backend::Mysql | Backend::Sqlite => "NULL",
    };
    format!("SELECT {COLUMNS}, {no_data} AS job_data FROM {{p}}JOB_DETAILS j{POLICY}{MARKS} WHERE j.sched_name = ?")
}

const BY_KEY: &str = " ORDER BY j.job_group, j.job_name";

/// No trigger points to the job.
const BEREFT: &str = "NOT EXISTS (SELECT 1 FROM {p}TRIGGERS t WHERE t.sched_name = {p}JOB_DETAILS.sched_name \
     AND t.job_name = {p}JOB_DETAILS.job_name AND t.job_group = {p}JOB_DETAILS.job_group)";

/// The number of rows that the side table of versions has for a job: one at most.
const VERSIONS: &str = "(SELECT COUNT(*) FROM {p}CN_JOB_VERSIONS v WHERE v.sched_name = {p}JOB_DETAILS.sched_name \
     AND v.job_name = {p}JOB_DETAILS.job_name AND v.job_group = {p}JOB_DETAILS.job_group)";

/// The number of rows that the side table of policies has for a job: one at most.
const POLICIES: &str = "(SELECT COUNT(*) FROM {p}CN_JOB_POLICIES y WHERE y.sched_name = {p}JOB_DETAILS.sched_name \
     AND y.job_name = {p}JOB_DETAILS.job_name AND y.job_group = {p}JOB_DETAILS.job_group)";

/// The number of rows that the side table of marks has for a job: one at most.
const MARKED: &str = "(SELECT COUNT(*) FROM {p}CN_JOB_MARKS m WHERE m.sched_name = {p}JOB_DETAILS.sched_name \
     AND m.job_name = {p}JOB_DETAILS.job_name AND m.job_group = {p}JOB_DETAILS.job_group)";

impl SqlSession<'_, '_> {
    /// Jobs without their data, by further conditions, and in an order; the first value is the
    /// scheduler's name.
    pub(super) fn load_jobs(&mut self, tail: &str, values: &[Value]) -> Result<Vec<JobRow>> {
        let text = format!("{}{tail}", without_data(self.backend()));
        let rows: Vec<Row> = self.load(&text, values)?;
        Ok(rows.into_iter().map(JobRow::from).collect())
    }

    /// Deletes jobs that side tables have nothing for.
    fn delete_bare_jobs(&mut self, keys: &[JobKey]) -> Result<usize> {
        self.delete_rows("JOB_DETAILS", &JOB_KEY, &job_keys(keys), "")
    }
}

impl JobRows for SqlSession<'_, '_> {
    fn jobs(&mut self, which: JobSelection<'_>) -> Result<Vec<JobRow>> {
        match which {
            JobSelection::All => self.load_jobs(BY_KEY, &[self.name()]),
            JobSelection::Key(key) => {
                let text = format!(
                    "SELECT {COLUMNS}, j.job_data AS job_data FROM {{p}}JOB_DETAILS j{POLICY}{MARKS} WHERE j.sched_name = ? AND j.job_name = ? \
                     AND j.job_group = ?"
                );
                let rows: Vec<Row> = self.load(&text, &[self.name(), key.name().into(), key.group().into()])?;
                Ok(rows.into_iter().map(JobRow::from).collect())
            }
            JobSelection::Keys(keys) => {
                let head = format!("{} AND", without_data(self.backend()));
                let key = ["j.job_name", "j.job_group"];
                let rows: Vec<Row> = self.load_for_keys(&head, &[self.name()], &key, &job_keys(keys))?;
                Ok(rows.into_iter().map(JobRow::from).collect())
            }
            JobSelection::Marked(filter) => {
                let (conditions, values) = self.marked(filter);
                self.load_jobs(&format!("{conditions}{BY_KEY}"), &[vec![self.name()], values].concat())
            }
            JobSelection::WithPolicyWord(word) => {
                let tail = format!(" AND {}(y.policy, ?) > 0{BY_KEY}", dialect::place_of(self.backend()));
                self.load_jobs(&tail, &[self.name(), word.into()])
            }
        }
    }

    fn insert_jobs(&mut self, jobs: &[JobRow]) -> Result<()> {
        self.assert_trigger_access();
        let columns = [
            "job_name",
            "job_group",
            "description",
            "job_class_name",
            "is_durable",
            "is_nonconcurrent",
            "is_update_data",
            "requests_recovery",
            "job_data",
        ];
        let row = |job: &JobRow| {
            let mut row = vec![job.key.name().into(), job.key.group().into()];
            row.extend(values(job));
            row
        };
        self.insert_rows("JOB_DETAILS", &columns, jobs.iter().map(row).collect())?;
        self.insert_marks(jobs)?;
        self.insert_policies(jobs)
    }

    fn update_job(&mut self, job: &JobRow) -> Result<()> {
        self.assert_trigger_access();
        self.keep_continuations(job)?;
        let text = "UPDATE {p}JOB_DETAILS SET description = ?, job_class_name = ?, is_durable = ?, \
             is_nonconcurrent = ?, is_update_data = ?, requests_recovery = ?, job_data = ? \
             WHERE sched_name = ? AND job_name = ? AND job_group = ?";
        let mut row = values(job);
        row.extend([self.name(), job.key.name().into(), job.key.group().into()]);
        self.execute(text, &row)?;
        self.delete_policies(std::slice::from_ref(&job.key))?;
        self.insert_policies(std::slice::from_ref(job))?;
        self.delete_marks(std::slice::from_ref(&job.key))?;
        self.insert_marks(std::slice::from_ref(job))
    }

    fn write_job_data(&mut self, data: &[(JobKey, Vec<u8>)]) -> Result<()> {
        self.assert_trigger_access();
        let row = |(key, data): &(JobKey, Vec<u8>)| vec![key.name().into(), key.group().into(), Some(data).into()];
        let rows: Vec<_> = data.iter().map(row).collect();
        self.update_rows("JOB_DETAILS", &JOB_KEY, &[], &["job_data"], &rows).map(drop)
    }

    fn delete_jobs(&mut self, keys: &[JobKey]) -> Result<usize> {
        self.assert_trigger_access();
        let rows = job_keys(keys);
        self.delete_policies(keys)?;
        self.delete_marks(keys)?;
        self.delete_continuations_of(keys)?;
        self.delete_rows("CN_JOB_VERSIONS", &JOB_KEY, &rows, "")?;
        self.delete_rows("CN_ORPHANS", &JOB_KEY, &rows, "")?;
        self.delete_bare_jobs(keys)
    }

    fn delete_idle_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>> {
        self.assert_trigger_access();
        let not_durable = format!("NOT is_durable = {}", self.true_literal());
        let select = format!(
            "SELECT job_name AS job_name, job_group AS job_group, \
             {VERSIONS} + {POLICIES} + {MARKED} + {CONTINUATIONS} AS side_rows \
             FROM {{p}}JOB_DETAILS WHERE {not_durable} AND {BEREFT} AND {} = 0 AND sched_name = ? AND",
            job_executes(self.backend(), "{p}JOB_DETAILS")
        );
        let idle: Vec<IdleRow> = self.load_for_keys(&select, &[self.name()], &JOB_KEY, &job_keys(keys))?;
        // Fewer statements for the many that have run once: few have side rows, and an orphan has
        // not run.
        let has_side_rows = idle.iter().any(|row| row.side_rows > 0);
        let idle: Vec<JobKey> = idle.into_iter().map(|row| row.key.into()).collect();
        if has_side_rows {
            self.delete_jobs(&idle)?;
        } else if !idle.is_empty() {
            self.delete_bare_jobs(&idle)?;
        }
        Ok(idle)
    }

    fn unknown_jobs(
        &mut self,
        known: &TypeVersions,
        due_by_ms: Option<i64>,
        limit: usize,
    ) -> Result<Vec<UnknownJobRow>> {
        self.load_unknown_jobs(known, due_by_ms, limit)
    }

    fn continuations(&mut self, which: ContinuationSelection<'_>) -> Result<Vec<ContinuationRow>> {
        self.load_continuations(which)
    }
}
