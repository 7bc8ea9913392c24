//! `CN_ORPHANS`: since when there are jobs that no live node can run; and which those are.

use super::job_versions::latest_of;
use super::time;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{TypeVersions, UnknownJobRow};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Nullable, Text};

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

const VERSION: &str = " LEFT JOIN {p}CN_JOB_VERSIONS v ON v.sched_name = j.sched_name AND v.job_name = j.job_name \
     AND v.job_group = j.job_group AND v.job_type = j.job_class_name";

impl SqlSession<'_, '_> {
    /// That nobody who has these types can run a job `j` whose version is `v`.
    fn is_unknown(&self, known: &TypeVersions) -> (String, Vec<Value>) {
        if known.is_empty() {
            return ("1 = 1".to_owned(), Vec::new());
        }
        let later: TypeVersions = known.iter().filter(|(_, n)| **n > 1).map(|(t, n)| (t.clone(), *n)).collect();
        let (latest, more) = latest_of("j.job_class_name", &later);
        let (of_types, mut values) = match self.backend() {
            Backend::Postgres => (
                "NOT j.job_class_name = ANY(?)".to_owned(),
                vec![Value::Texts(known.keys().cloned().map(Some).collect())],
            ),
            _ => {
                let marks = vec!["?"; known.len()].join(", ");
                (format!("j.job_class_name NOT IN ({marks})"), known.keys().map(Value::from).collect())
            }
        };
        values.extend(more);
        (format!("({of_types} OR v.version > {latest})"), values)
    }

    /// See [`JobRows::unknown_jobs`](crate::store::JobRows::unknown_jobs).
    pub(super) fn load_unknown_jobs(
        &mut self,
        known: &TypeVersions,
        due_by_ms: Option<i64>,
        limit: usize,
    ) -> Result<Vec<UnknownJobRow>> {
        let (is_unknown, types) = self.is_unknown(known);
        let of_job = "t.sched_name = j.sched_name AND t.job_name = j.job_name AND t.job_group = j.job_group";
        let from = match due_by_ms {
            None => {
                format!("FROM {{p}}JOB_DETAILS j{VERSION} LEFT JOIN {{p}}TRIGGERS t ON {of_job} WHERE j.sched_name = ?")
            }
            Some(_) => format!(
                "FROM {{p}}TRIGGERS t JOIN {{p}}JOB_DETAILS j ON {of_job}{VERSION} \
                 WHERE t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time <= ?"
            ),
        };
        let text = format!(
            "SELECT j.job_name AS job_name, j.job_group AS job_group, j.job_class_name AS job_class_name, \
             COALESCE(v.version, 1) AS version, COUNT(t.trigger_name) AS triggers, \
             MIN(CASE WHEN t.next_fire_time > 0 THEN t.next_fire_time END) AS next_fire_time {from} AND {is_unknown} \
             GROUP BY j.job_name, j.job_group, j.job_class_name, v.version ORDER BY j.job_group, j.job_name LIMIT ?"
        );
        let mut values = vec![self.name()];
        values.extend(due_by_ms.map(Value::from));
        values.extend(types);
        values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
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
}
