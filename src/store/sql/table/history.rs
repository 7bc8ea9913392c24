//! `CN_HISTORY`: what became of fires.

use super::fired::{COLUMNS as FIRED_COLUMNS, Row as FiredColumns};
use super::texts;
use crate::error::{FailureClass, Result};
use crate::hash::HashMap;
use crate::job::FireOutcome;
use crate::key::{JobKey, TriggerKey};
use crate::store::database::{FiredRows, HistoryRows};
use crate::store::row::{EndRow, FiredRow, HistoryFilter, HistoryRow, RunSample};
use crate::store::sql::bulk::{by_primary_key, transpose};
use crate::store::sql::connection::{Backend, Readable};
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    fire_id: String,
    #[diesel(sql_type = Text)]
    trigger_name: String,
    #[diesel(sql_type = Text)]
    trigger_group: String,
    #[diesel(sql_type = Nullable<Text>)]
    job_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    job_group: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    job_type: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    instance_name: Option<String>,
    #[diesel(sql_type = BigInt)]
    sched_ms: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    fired_ms: Option<i64>,
    #[diesel(sql_type = BigInt)]
    ended_ms: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    run_ms: Option<i64>,
    #[diesel(sql_type = Text)]
    outcome: String,
    #[diesel(sql_type = BigInt)]
    attempt: i64,
    #[diesel(sql_type = Nullable<Text>)]
    root_fire_id: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    error: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    result: Option<String>,
}

#[derive(QueryableByName)]
struct IdRow {
    #[diesel(sql_type = Text)]
    entry_id: String,
}

#[derive(QueryableByName)]
struct SampleRow {
    #[diesel(sql_type = Nullable<Text>)]
    job_name: Option<String>,
    #[diesel(sql_type = Nullable<Text>)]
    job_group: Option<String>,
    #[diesel(sql_type = Text)]
    outcome: String,
    #[diesel(sql_type = Nullable<BigInt>)]
    run_ms: Option<i64>,
}

impl Row {
    /// None for an outcome that only a later version knows.
    fn value(self) -> Option<HistoryRow> {
        Some(HistoryRow {
            outcome: FireOutcome::from_name(&self.outcome)?,
            fire_id: self.fire_id,
            trigger: TriggerKey::new(self.trigger_group, self.trigger_name),
            job: self.job_name.zip(self.job_group).map(|(name, group)| JobKey::new(group, name)),
            job_type: self.job_type,
            instance: self.instance_name,
            scheduled_ms: self.sched_ms,
            fired_ms: self.fired_ms,
            ended_ms: self.ended_ms,
            run_ms: self.run_ms,
            attempt: self.attempt,
            root_fire_id: self.root_fire_id,
            error: self.error,
            result: self.result,
        })
    }
}

/// The columns that come from the fired row, as they are called there and here.
const OF_FIRED: [(&str, &str); 8] = [
    ("entry_id", "fire_id"),
    ("trigger_name", "trigger_name"),
    ("trigger_group", "trigger_group"),
    ("job_name", "job_name"),
    ("job_group", "job_group"),
    ("instance_name", "instance_name"),
    ("sched_time", "sched_ms"),
    ("fired_time", "fired_ms"),
];

/// The others, in the order of [`end_values`].
const OF_END: [&str; 8] = ["job_type", "ended_ms", "run_ms", "outcome", "attempt", "root_fire_id", "error", "result"];

fn end_values(end: &EndRow) -> Vec<Value> {
    vec![
        end.job_type.as_deref().into(),
        end.ended_ms.into(),
        end.run_ms.into(),
        end.outcome.name().into(),
        end.attempt.into(),
        end.root_fire_id.as_deref().into(),
        end.error.as_deref().into(),
        end.result.as_deref().into(),
    ]
}

/// With the fire's id in front.
fn joined_values(end: &EndRow) -> Vec<Value> {
    let mut row = vec![Value::from(&end.fire_id)];
    row.extend(end_values(end));
    row
}

fn row(fired: FiredRow, end: EndRow) -> HistoryRow {
    HistoryRow {
        fire_id: fired.fire_id,
        trigger: fired.trigger,
        job: fired.job,
        job_type: end.job_type,
        instance: Some(fired.instance),
        scheduled_ms: fired.scheduled_ms,
        fired_ms: Some(fired.fired_ms),
        ended_ms: end.ended_ms,
        run_ms: end.run_ms,
        outcome: end.outcome,
        attempt: end.attempt,
        root_fire_id: end.root_fire_id,
        error: end.error,
        result: end.result,
    }
}

/// `INSERT INTO … (…)` and the columns of the fired row `f`, to be followed by those of the end.
fn insert_from(fired: &str) -> (String, String) {
    let ours: Vec<&str> = OF_FIRED.iter().map(|(_, ours)| *ours).chain(OF_END).collect();
    let theirs: Vec<String> = OF_FIRED.iter().map(|(theirs, _)| format!("{fired}.{theirs}")).collect();
    let head = format!("INSERT INTO {{p}}CN_HISTORY (sched_name, {})", ours.join(", "));
    (head, format!("SELECT {fired}.sched_name, {}", theirs.join(", ")))
}

/// The columns `c1 …` of the joined values `v`.
fn columns_of_end() -> String {
    (1..=OF_END.len()).map(|i| format!(", v.c{i}")).collect()
}

impl SqlSession<'_, '_> {
    /// One statement: the rows that were deleted go straight into the history.
    fn end_on_postgres(&mut self, ids: &[String], ends: &[EndRow]) -> Result<Vec<String>> {
        let found = by_primary_key(&["entry_id"], 1);
        let returned: Vec<String> = OF_FIRED.iter().map(|(theirs, _)| format!("t.{theirs}")).collect();
        let width = OF_END.len() + 1;
        let names: Vec<_> = (0..width).map(|i| format!("c{i}")).collect();
        let (head, select) = insert_from("g");
        let text = format!(
            "WITH gone AS (DELETE FROM {{p}}FIRED_TRIGGERS AS t USING {found} RETURNING t.sched_name, {}), \
             kept AS ({head} {select}{} FROM gone g JOIN unnest({}) AS v({}) ON v.c0 = g.entry_id ON CONFLICT DO NOTHING) \
             SELECT entry_id AS entry_id FROM gone",
            returned.join(", "),
            columns_of_end(),
            vec!["?"; width].join(", "),
            names.join(", ")
        );
        let mut values = vec![self.name(), Value::Texts(ids.iter().cloned().map(Some).collect())];
        values.extend(transpose(ends.iter().map(joined_values).collect(), width));
        let gone: Vec<IdRow> = self.load(&text, &values)?;
        Ok(gone.into_iter().map(|row| row.entry_id).collect())
    }

    /// The rows are read, deleted and written again as the history's: a join of the values with them would be gathered in a
    /// table on disk first. There is a `DELETE … RETURNING` on MariaDB, but a prepared one does not say what it gives.
    fn end_on_mysql(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        if let ([id], [end]) = (ids, &*ends)
            && end.fire_id == *id
        {
            return self.end_lone_on_mysql(id, end);
        }
        let ids = texts(ids);
        // Under the lock nobody else deletes: what is there now is what the DELETE takes.
        let head = format!("SELECT {FIRED_COLUMNS} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ? AND");
        let there = self.load_for_keys(&head, &[self.name()], &["entry_id"], &ids)?;
        self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &ids, "")?;
        self.keep_ended(there, ends)
    }

    /// A lone row is copied where it lies: one statement less.
    fn end_lone_on_mysql(&mut self, id: &String, end: &EndRow) -> Result<Vec<String>> {
        let (head, select) = insert_from("f");
        let marks = ", ?".repeat(OF_END.len());
        let text =
            format!("{head} {select}{marks} FROM {{p}}FIRED_TRIGGERS f WHERE f.sched_name = ? AND f.entry_id = ?");
        let mut values = end_values(end);
        values.extend([self.name(), id.into()]);
        if self.execute(&text, &values)? == 0 {
            return Ok(Vec::new());
        }
        self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &texts(std::slice::from_ref(id)), "")?;
        Ok(vec![id.clone()])
    }

    /// Writes the history of the fires that were there; gives their ids.
    fn keep_ended(&mut self, gone: Vec<FiredColumns>, ends: Vec<EndRow>) -> Result<Vec<String>> {
        let mut ends: HashMap<String, EndRow> =
            ends.into_iter().map(|mut end| (std::mem::take(&mut end.fire_id), end)).collect();
        let (mut there, mut rows) = (Vec::with_capacity(gone.len()), Vec::with_capacity(gone.len()));
        for fired in gone.into_iter().map(FiredRow::from) {
            there.push(fired.fire_id.clone());
            if let Some(end) = ends.remove(&fired.fire_id) {
                rows.push(row(fired, end));
            }
        }
        match self.insert_history(&rows) {
            // Of a fire that ended before, in a database that has lost commits since.
            Err(error) if error.failure_class() == Some(FailureClass::UniqueViolation) => self.put_history(&rows)?,
            other => other?,
        }
        Ok(there)
    }

    fn end_on_sqlite(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        let head = "DELETE FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND";
        let tail = format!(" RETURNING {FIRED_COLUMNS}");
        let gone: Vec<FiredColumns> =
            self.load_for_keys_and(head, &[self.name()], &["entry_id"], &texts(ids), &tail)?;
        self.keep_ended(gone, ends)
    }

    /// These columns of the rows that are asked for, the newest first.
    fn load_history<R: Readable>(&mut self, columns: &str, filter: &HistoryFilter<'_>) -> Result<Vec<R>> {
        let mut text = format!("SELECT {columns} FROM {{p}}CN_HISTORY WHERE sched_name = ?");
        let mut values = vec![self.name()];
        let mut and = |condition: &str, further: &[Value]| {
            text.push_str(" AND ");
            text.push_str(condition);
            values.extend_from_slice(further);
        };
        if let Some(id) = filter.fire_id {
            and("fire_id = ?", &[id.into()]);
        }
        if let Some(root) = filter.chain {
            and("(fire_id = ? OR root_fire_id = ?)", &[root.into(), root.into()]);
        }
        if let Some(job) = filter.job {
            and("job_name = ? AND job_group = ?", &[job.name().into(), job.group().into()]);
        }
        if let Some(trigger) = filter.trigger {
            and("trigger_name = ? AND trigger_group = ?", &[trigger.name().into(), trigger.group().into()]);
        }
        if let Some(instance) = filter.instance {
            and("instance_name = ?", &[instance.into()]);
        }
        if let Some(attempt) = filter.attempt {
            and("attempt = ?", &[attempt.into()]);
        }
        if !filter.outcomes.is_empty() {
            // The names are ours: nothing needs quoting.
            let names: Vec<String> = filter.outcomes.iter().map(|outcome| format!("'{}'", outcome.name())).collect();
            and(&format!("outcome IN ({})", names.join(", ")), &[]);
        }
        if let Some(since_ms) = filter.since_ms {
            and("ended_ms >= ?", &[since_ms.into()]);
        }
        if let Some(until_ms) = filter.until_ms {
            and("ended_ms < ?", &[until_ms.into()]);
        }
        if let Some((ended_ms, fire_id)) = filter.after {
            // The first of the two lets the index find the place.
            let further = [ended_ms.into(), ended_ms.into(), fire_id.into()];
            and("ended_ms <= ? AND (ended_ms < ? OR fire_id < ?)", &further);
        }
        if let Some(error) = filter.error {
            and(&format!("{}(error, ?) > 0", dialect::place_of(self.backend())), &[error.into()]);
        }
        text.push_str(" ORDER BY ended_ms DESC, fire_id DESC LIMIT ?");
        values.push(i64::try_from(filter.limit).unwrap_or(i64::MAX).into());
        self.load(&text, &values)
    }

    fn insert_history(&mut self, rows: &[HistoryRow]) -> Result<()> {
        let columns: Vec<&str> = OF_FIRED.iter().map(|(_, ours)| *ours).chain(OF_END).collect();
        let values = |row: &HistoryRow| -> Vec<Value> {
            vec![
                (&row.fire_id).into(),
                row.trigger.name().into(),
                row.trigger.group().into(),
                row.job.as_ref().map(JobKey::name).into(),
                row.job.as_ref().map(JobKey::group).into(),
                row.instance.as_deref().into(),
                row.scheduled_ms.into(),
                row.fired_ms.into(),
                row.job_type.as_deref().into(),
                row.ended_ms.into(),
                row.run_ms.into(),
                row.outcome.name().into(),
                row.attempt.into(),
                row.root_fire_id.as_deref().into(),
                row.error.as_deref().into(),
                row.result.as_deref().into(),
            ]
        };
        self.insert_rows("CN_HISTORY", &columns, rows.iter().map(values).collect())
    }
}

impl HistoryRows for SqlSession<'_, '_> {
    fn end_fired(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        self.assert_trigger_access();
        if ids.is_empty() || ends.is_empty() {
            return self.delete_fired(ids);
        }
        match self.backend() {
            Backend::Postgres => self.end_on_postgres(ids, &ends),
            Backend::Mysql => self.end_on_mysql(ids, ends),
            Backend::Sqlite => self.end_on_sqlite(ids, ends),
        }
    }

    fn put_history(&mut self, rows: &[HistoryRow]) -> Result<()> {
        let ids: Vec<String> = rows.iter().map(|row| row.fire_id.clone()).collect();
        self.delete_rows("CN_HISTORY", &["fire_id"], &texts(&ids), "")?;
        self.insert_history(rows)
    }

    fn history(&mut self, filter: &HistoryFilter<'_>) -> Result<Vec<HistoryRow>> {
        let columns: Vec<String> =
            OF_FIRED.iter().map(|(_, ours)| *ours).chain(OF_END).map(|name| format!("{name} AS {name}")).collect();
        let rows: Vec<Row> = self.load_history(&columns.join(", "), filter)?;
        Ok(rows.into_iter().filter_map(Row::value).collect())
    }

    fn run_samples(&mut self, filter: &HistoryFilter<'_>) -> Result<Vec<RunSample>> {
        let columns = "job_name AS job_name, job_group AS job_group, outcome AS outcome, run_ms AS run_ms";
        let rows: Vec<SampleRow> = self.load_history(columns, filter)?;
        let sample = |row: SampleRow| {
            Some(RunSample {
                outcome: FireOutcome::from_name(&row.outcome)?,
                job: row.job_name.zip(row.job_group).map(|(name, group)| JobKey::new(group, name)),
                run_ms: row.run_ms,
            })
        };
        Ok(rows.into_iter().filter_map(sample).collect())
    }
}
