//! `JOB_DETAILS`.

use super::continuations::{self, CONTINUATIONS};
use super::executing::job_executes;
use super::job_versions::version;
use super::marks::marks;
use super::policies::policy;
use super::row_beside::{OF_JOB, join};
use super::{JOB_KEY, converted, job_keys, time};
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::JobRows;
use crate::store::row::{
    ContinuationRow, ContinuationSelection, JobMarksRow, JobPolicyRow, JobRow, JobSelection, JobVersionRow, LastRunRow,
    OrphanRow, Table, TableDef, TagRow, TypeVersions, UnknownJobRow,
};
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

by_place! {
    struct UnknownRow {
        job_name: String as Text,
        job_group: String as Text,
        job_class_name: String as Text,
        version: i64 as BigInt,
        triggers: i64 as BigInt,
        next_fire_time: Option<i64> as Nullable<BigInt>,
    }
}

impl From<Row> for JobRow {
    fn from(row: Row) -> Self {
        JobRow {
            key: JobKey::new(row.job_group, row.job_name),
            description: row.description,
            job_type: row.job_class_name.into(),
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
        (&*job.job_type).into(),
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
    with_side_rows(backend, no_data)
}

fn with_side_rows(backend: Backend, data: &str) -> String {
    let (policy, marks) = (policy(backend), marks(backend));
    format!("SELECT {COLUMNS}, {data} AS job_data FROM {{p}}JOB_DETAILS j{policy}{marks} WHERE j.sched_name = ?")
}

const BY_KEY: &str = " ORDER BY j.job_group, j.job_name";

/// No trigger points to the job.
const BEREFT: &str = "NOT EXISTS (SELECT 1 FROM {p}TRIGGERS t WHERE t.sched_name = {p}JOB_DETAILS.sched_name \
     AND t.job_name = {p}JOB_DETAILS.job_name AND t.job_group = {p}JOB_DETAILS.job_group)";

/// The side tables with rows of a job.
const SIDE_TABLES: [&TableDef; 6] =
    [JobPolicyRow::DEF, TagRow::DEF, JobMarksRow::DEF, JobVersionRow::DEF, OrphanRow::DEF, LastRunRow::DEF];

/// The number of rows that a side table has for a job.
fn rows_of_job(table: &TableDef) -> String {
    let name = table.name;
    format!(
        "(SELECT COUNT(*) FROM {{p}}{name} x WHERE x.sched_name = {{p}}JOB_DETAILS.sched_name \
         AND x.job_name = {{p}}JOB_DETAILS.job_name AND x.job_group = {{p}}JOB_DETAILS.job_group)"
    )
}

impl SqlSession<'_, '_> {
    /// Jobs without their data, by further conditions, and in an order; the first value is the
    /// scheduler's name.
    pub(super) fn load_jobs(&mut self, tail: &str, values: &[Value]) -> Result<Vec<JobRow>> {
        let text = format!("{}{tail}", without_data(self.backend()));
        Ok(converted(self.load::<Row>(&text, values)?))
    }

    /// Deletes the rows of jobs in side tables.
    pub(super) fn delete_of_jobs(&mut self, tables: &[&TableDef], keys: &[JobKey]) -> Result<()> {
        let mut deletes = tables.iter().map(|table| self.delete_rows(table.name, &JOB_KEY, &job_keys(keys), ""));
        deletes.try_for_each(|deleted| deleted.map(drop))
    }
}

impl JobRows for SqlSession<'_, '_> {
    fn jobs(&mut self, which: JobSelection<'_>) -> Result<Vec<JobRow>> {
        match which {
            JobSelection::All => self.load_jobs(BY_KEY, &[self.name()]),
            JobSelection::Key(key) => {
                let head = with_side_rows(self.backend(), "j.job_data");
                let text = format!("{head} AND j.job_name = ? AND j.job_group = ?");
                Ok(converted(self.load::<Row>(&text, &[self.name(), key.name().into(), key.group().into()])?))
            }
            JobSelection::Keys(keys) | JobSelection::Whole(keys) => {
                let head = match which {
                    JobSelection::Whole(_) => with_side_rows(self.backend(), "j.job_data"),
                    _ => without_data(self.backend()),
                };
                let head = format!("{head} AND");
                let key = ["j.job_name", "j.job_group"];
                Ok(converted(self.load_for_keys::<Row>(&head, &[self.name()], &key, &job_keys(keys), "")?))
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
        self.put_marks(jobs)?;
        self.put_policies(jobs)
    }

    fn update_job(&mut self, job: &JobRow) -> Result<()> {
        self.assert_trigger_access();
        self.keep_continuations(job)?;
        let text = "UPDATE {p}JOB_DETAILS SET description = ?, job_class_name = ?, is_durable = ?, \
             is_nonconcurrent = ?, is_update_data = ?, requests_recovery = ?, job_data = ? \
             WHERE sched_name = ? AND job_name = ? AND job_group = ?";
        let mut row = values(job);
        row.extend([self.name(), job.key.name().into(), job.key.group().into()]);
        if self.execute(text, &row)? == 0 {
            // The last run of the job has ended since it was seen, beside a caller's transaction.
            return self.insert_jobs(std::slice::from_ref(job));
        }
        let side_tables = [JobPolicyRow::DEF, TagRow::DEF, JobMarksRow::DEF];
        self.delete_of_jobs(&side_tables, std::slice::from_ref(&job.key))?;
        self.put_policies(std::slice::from_ref(job))?;
        self.put_marks(std::slice::from_ref(job))
    }

    fn write_job_data(&mut self, data: &[(JobKey, Vec<u8>)]) -> Result<()> {
        self.assert_trigger_access();
        let row = |(key, data): &(JobKey, Vec<u8>)| vec![key.name().into(), key.group().into(), Some(data).into()];
        let rows: Vec<_> = data.iter().map(row).collect();
        self.update_rows("JOB_DETAILS", &JOB_KEY, &[], &["job_data"], &rows).map(drop)
    }

    fn delete_jobs(&mut self, keys: &[JobKey]) -> Result<usize> {
        self.assert_trigger_access();
        self.delete_of_jobs(&SIDE_TABLES, keys)?;
        self.delete_continuations_of(keys)?;
        self.delete_rows("JOB_DETAILS", &JOB_KEY, &job_keys(keys), "")
    }

    fn delete_idle_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>> {
        self.assert_trigger_access();
        if !self.sees_all_triggers {
            return Ok(Vec::new());
        }
        let not_durable = format!("NOT is_durable = {}", self.true_literal());
        let select = format!(
            "SELECT job_name AS job_name, job_group AS job_group, \
             {} + {} + {} + {CONTINUATIONS} AS side_rows \
             FROM {{p}}JOB_DETAILS WHERE {not_durable} AND {BEREFT} AND {} = 0 AND sched_name = ? AND",
            rows_of_job(JobVersionRow::DEF),
            rows_of_job(JobPolicyRow::DEF),
            rows_of_job(JobMarksRow::DEF),
            job_executes(self.backend(), "{p}JOB_DETAILS")
        );
        // A transaction that holds a job stores a trigger for it. The next statement sees what was
        // stored before.
        let free = format!(
            "SELECT job_name AS job_name, job_group AS job_group FROM {{p}}JOB_DETAILS \
             WHERE {not_durable} AND sched_name = ? AND"
        );
        let keys = match self.backend() {
            Backend::Sqlite => job_keys(keys),
            Backend::Postgres | Backend::Mysql => {
                let hold = self.hold_free()?;
                let free: Vec<KeyRow> = self.load_for_keys(&free, &[self.name()], &JOB_KEY, &job_keys(keys), hold)?;
                job_keys(&converted::<_, JobKey>(free))
            }
        };
        let idle: Vec<IdleRow> = self.load_for_keys(&select, &[self.name()], &JOB_KEY, &keys, "")?;
        // Fewer statements for the many that have run once: few have side rows, and an orphan has
        // not run.
        let has_side_rows = idle.iter().any(|row| row.side_rows > 0);
        let idle: Vec<JobKey> = idle.into_iter().map(|row| row.key.into()).collect();
        if has_side_rows {
            self.delete_jobs(&idle)?;
        } else if !idle.is_empty() {
            self.delete_rows("JOB_DETAILS", &JOB_KEY, &job_keys(&idle), "")?;
        }
        Ok(idle)
    }

    fn unknown_jobs(
        &mut self,
        known: &TypeVersions,
        due_by_ms: Option<i64>,
        behind: Option<&JobKey>,
        limit: usize,
    ) -> Result<Vec<UnknownJobRow>> {
        let (is_unknown, types) = self.is_unknown(known);
        let version = version(self.backend());
        let from = match due_by_ms {
            None => format!(
                "FROM {{p}}JOB_DETAILS j{version} LEFT JOIN {{p}}TRIGGERS t ON t.sched_name = j.sched_name \
                 AND t.job_name = j.job_name AND t.job_group = j.job_group WHERE j.sched_name = ?"
            ),
            Some(_) => format!(
                "FROM {{p}}TRIGGERS t{}{version} \
                 WHERE t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time <= ?",
                join(self.backend(), "JOB_DETAILS", "j", "t", OF_JOB)
            ),
        };
        let further = match behind {
            Some(_) => " AND (j.job_group > ? OR (j.job_group = ? AND j.job_name > ?))",
            None => "",
        };
        let text = format!(
            "SELECT j.job_name AS job_name, j.job_group AS job_group, j.job_class_name AS job_class_name, \
             COALESCE(v.version, 1) AS version, COUNT(t.trigger_name) AS triggers, \
             MIN(CASE WHEN t.next_fire_time > 0 THEN t.next_fire_time END) AS next_fire_time {from} AND {is_unknown}{further} \
             GROUP BY j.job_name, j.job_group, j.job_class_name, v.version ORDER BY j.job_group, j.job_name LIMIT ?"
        );
        let mut values = vec![self.name()];
        values.extend(due_by_ms.map(Value::from));
        values.extend(types);
        values.extend(behind.into_iter().flat_map(|key| [key.group(), key.group(), key.name()].map(Value::from)));
        values.push(limit.into());
        let rows: Vec<UnknownRow> = self.load(&text, &values)?;
        let row = |row: UnknownRow| UnknownJobRow {
            job: JobKey::new(row.job_group, row.job_name),
            job_type: row.job_class_name,
            version: row.version,
            triggers: row.triggers,
            next_ms: time(row.next_fire_time),
        };
        Ok(rows.into_iter().map(row).collect())
    }

    fn continuations(&mut self, which: ContinuationSelection<'_>) -> Result<Vec<ContinuationRow>> {
        let text = self.continuations_where();
        let (keys, jobs) = match which {
            ContinuationSelection::All => {
                return Ok(converted(self.load::<continuations::Row>(&text, &[self.name()])?));
            }
            ContinuationSelection::ChildrenOf(parents) => (["l.parent_name", "l.parent_group"], parents),
            ContinuationSelection::ParentsOf(children) => (["l.child_name", "l.child_group"], children),
        };
        let rows: Vec<continuations::Row> =
            self.load_for_keys(&format!("{text} AND"), &[self.name()], &keys, &job_keys(jobs), "")?;
        Ok(converted(rows))
    }
}
