//! `CN_HISTORY`: what became of fires.

use super::declared::{select_of, values, written};
use super::fired_row::{self, EntryId, Row as FiredColumns};
use super::{JOB_KEY, job_keys, texts};
use crate::error::{Error, FailureClass, Result};
use crate::hash::HashMap;
use crate::job::RunMarks;
use crate::key::JobKey;
use crate::store::database::{HistoryRows, Session};
use crate::store::row::{Cell, EndRow, FiredRow, HistoryOf, HistoryQuery, HistoryRow, Table, TableDef};
use crate::store::sql::backend::Backend;
use crate::store::sql::bulk::{by_primary_key, transpose};
use crate::store::sql::by_place::by_place;
use crate::store::sql::dialect;
use crate::store::sql::raw::RawRow;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Text};
use std::ops::Range;

by_place! {
    struct EndedAt {
        ended_ms: i64 as BigInt,
    }
}

/// The condition on rows that ended in some milliseconds.
const ENDED: &str = "h.sched_name = ? AND h.ended_ms >= ? AND h.ended_ms < ?";

by_place! {
    struct JobCount {
        job_name: String as Text,
        job_group: String as Text,
        n: i64 as BigInt,
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

/// The columns that most runs have nothing for: a batch without any is written without them.
const OF_MARKS: [&str; 5] = ["biz_key", "job_owner", "display_name", "job_description", "trace_id"];

/// The columns of these ends that are written, in the order of [`end_values`].
fn written_of(ends: &[EndRow]) -> Vec<&'static str> {
    let marks: &[&str] = if ends.iter().all(|end| end.marks.is_empty()) { &[] } else { &OF_MARKS };
    OF_END.iter().chain(marks).copied().collect()
}

/// The first values of an end, of so many columns.
fn end_values(end: &EndRow, columns: usize) -> Vec<Value> {
    let RunMarks { biz_key, owner, name, description, trace_id } = &end.marks;
    let mut row = vec![
        end.job_type.as_deref().into(),
        end.ended_ms.into(),
        end.run_ms.into(),
        end.outcome.name().into(),
        end.attempt.into(),
        end.root_fire_id.as_deref().into(),
        end.error.as_deref().into(),
        end.result.as_deref().into(),
    ];
    row.extend([biz_key, owner, name, description, trace_id].map(|text| text.as_deref().into()));
    row.truncate(columns);
    row
}

/// With the fire's id in front.
fn joined_values(end: &EndRow, columns: usize) -> Vec<Value> {
    let mut row = vec![Value::from(&end.fire_id)];
    row.extend(end_values(end, columns));
    row
}

/// `INSERT INTO … (…)` and the columns of the fired row `f`, to be followed by those of the end.
fn insert_from(fired: &str, of_end: &[&str]) -> (String, String) {
    let ours: Vec<&str> = OF_FIRED.iter().map(|(_, ours)| *ours).chain(of_end.iter().copied()).collect();
    let theirs: Vec<String> = OF_FIRED.iter().map(|(theirs, _)| format!("{fired}.{theirs}")).collect();
    let head = format!("INSERT INTO {{p}}CN_HISTORY (sched_name, {})", ours.join(", "));
    (head, format!("SELECT {fired}.sched_name, {}", theirs.join(", ")))
}

/// The first columns `c1 …` of the joined values `v`.
fn columns_of_end(columns: usize) -> String {
    (1..=columns).map(|i| format!(", v.c{i}")).collect()
}

impl SqlSession<'_, '_> {
    /// One statement: the rows that were deleted go straight into the history.
    fn move_on_postgres(&mut self, ids: &[String], ends: &[EndRow]) -> Result<Vec<String>> {
        let found = by_primary_key(&["entry_id"], 1);
        let returned: Vec<String> = OF_FIRED.iter().map(|(theirs, _)| format!("t.{theirs}")).collect();
        let of_end = written_of(ends);
        let width = of_end.len() + 1;
        let names: Vec<_> = (0..width).map(|i| format!("c{i}")).collect();
        let (head, select) = insert_from("g", &of_end);
        let text = format!(
            "WITH gone AS (DELETE FROM {{p}}FIRED_TRIGGERS AS t USING {found} RETURNING t.sched_name, {}), \
             kept AS ({head} {select}{} FROM gone g JOIN unnest({}) AS v({}) ON v.c0 = g.entry_id ON CONFLICT DO NOTHING) \
             SELECT entry_id AS entry_id FROM gone",
            returned.join(", "),
            columns_of_end(of_end.len()),
            vec!["?"; width].join(", "),
            names.join(", ")
        );
        let mut values = vec![self.name(), Value::Texts(ids.iter().cloned().map(Some).collect())];
        values.extend(transpose(ends.iter().map(|end| joined_values(end, of_end.len())).collect(), width));
        let gone: Vec<EntryId> = self.load(&text, &values)?;
        Ok(gone.into_iter().map(|row| row.entry_id).collect())
    }

    /// The rows are read, deleted and written again as the history's: a join of the values with
    /// them would be gathered in a table on disk first. There is a `DELETE … RETURNING` on MariaDB,
    /// but a prepared one does not say what it gives.
    fn move_on_mysql(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        if let ([id], [end]) = (ids, &*ends)
            && end.fire_id == *id
        {
            return self.move_one_on_mysql(id, end);
        }
        let ids = texts(ids);
        // Under the lock nobody else deletes: what is there now is what the DELETE takes.
        let head = format!("SELECT {} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ? AND", fired_row::columns());
        let there = self.load_for_keys(&head, &[self.name()], &["entry_id"], &ids, "")?;
        self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &ids, "")?;
        self.write_moved(there, ends)
    }

    /// A lone row is copied where it lies: one statement less.
    fn move_one_on_mysql(&mut self, id: &String, end: &EndRow) -> Result<Vec<String>> {
        let of_end = written_of(std::slice::from_ref(end));
        let (head, select) = insert_from("f", &of_end);
        let marks = ", ?".repeat(of_end.len());
        let text =
            format!("{head} {select}{marks} FROM {{p}}FIRED_TRIGGERS f WHERE f.sched_name = ? AND f.entry_id = ?");
        let mut values = end_values(end, of_end.len());
        values.extend([self.name(), id.into()]);
        if self.execute(&text, &values)? == 0 {
            return Ok(Vec::new());
        }
        // In a transaction of a job's, which takes no lock, another node may have deleted the row.
        match self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &texts(std::slice::from_ref(id)), "")? {
            0 => Err(Error::overtaken("complete a fire")),
            _ => Ok(vec![id.clone()]),
        }
    }

    /// Writes the history of the fires that were there; gives their ids.
    fn write_moved(&mut self, gone: Vec<FiredColumns>, ends: Vec<EndRow>) -> Result<Vec<String>> {
        let mut ends: HashMap<String, EndRow> =
            ends.into_iter().map(|mut end| (std::mem::take(&mut end.fire_id), end)).collect();
        let (mut there, mut rows) = (Vec::with_capacity(gone.len()), Vec::with_capacity(gone.len()));
        for fired in gone.into_iter().map(FiredRow::from) {
            there.push(fired.fire_id.clone());
            if let Some(end) = ends.remove(&fired.fire_id) {
                rows.push(HistoryRow::of(fired, end));
            }
        }
        // The columns of marks are the last.
        let mut columns = written(HistoryRow::DEF);
        if rows.iter().all(|row| row.marks.is_empty()) {
            columns.truncate(columns.len() - OF_MARKS.len());
        }
        let cells = |row: &HistoryRow| values(HistoryRow::DEF, row.cells()).into_iter().take(columns.len()).collect();
        match self.insert_rows("CN_HISTORY", &columns, rows.iter().map(cells).collect()) {
            // Of a fire that ended before, in a database that has lost commits since.
            Err(error) if error.failure_class() == Some(FailureClass::UniqueViolation) => {
                let session: &mut dyn Session = self;
                session.put_all(&rows)?;
            }
            other => other?,
        }
        Ok(there)
    }

    fn move_on_sqlite(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        let head = "DELETE FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND";
        let tail = format!(" RETURNING {}", fired_row::columns());
        let gone: Vec<FiredColumns> = self.load_for_keys(head, &[self.name()], &["entry_id"], &texts(ids), &tail)?;
        self.write_moved(gone, ends)
    }

    /// Deletes fired rows and writes the ends of those that were there; returns their ids.
    pub(super) fn move_to_history(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        match self.backend() {
            Backend::Postgres => self.move_on_postgres(ids, &ends),
            Backend::Mysql => self.move_on_mysql(ids, ends),
            Backend::Sqlite => self.move_on_sqlite(ids, ends),
        }
    }
}

impl HistoryRows for SqlSession<'_, '_> {
    fn select_history(&mut self, table: &'static TableDef, query: &HistoryQuery) -> Result<Vec<Vec<Cell>>> {
        let mut text = select_of(table);
        let mut values = vec![self.name()];
        let mut and = |condition: &str, further: &[Value]| {
            text.push_str(" AND ");
            text.push_str(condition);
            values.extend_from_slice(further);
        };
        if let Some(id) = query.fire_id.as_deref() {
            and("fire_id = ?", &[id.into()]);
        }
        if let Some(root) = query.chain.as_deref() {
            and("(fire_id = ? OR root_fire_id = ?)", &[root.into(), root.into()]);
        }
        if let Some(job) = &query.job {
            and("job_name = ? AND job_group = ?", &[job.name().into(), job.group().into()]);
        }
        if let Some(job_type) = query.job_type.as_deref() {
            and("job_type = ?", &[job_type.into()]);
        }
        if let Some(trigger) = &query.trigger {
            and("trigger_name = ? AND trigger_group = ?", &[trigger.name().into(), trigger.group().into()]);
        }
        let texts = [("instance_name", &query.instance), ("biz_key", &query.biz_key), ("trace_id", &query.trace_id)];
        for (column, value) in texts {
            if let Some(value) = value.as_deref() {
                and(&format!("{column} = ?"), &[value.into()]);
            }
        }
        if let Some(attempt) = query.attempt {
            and("attempt = ?", &[attempt.into()]);
        }
        if !query.outcomes.is_empty() {
            // The names are ours: nothing needs quoting.
            let names: Vec<String> = query.outcomes.iter().map(|outcome| format!("'{}'", outcome.name())).collect();
            and(&format!("outcome IN ({})", names.join(", ")), &[]);
        }
        if let Some(since_ms) = query.since_ms {
            and("ended_ms >= ?", &[since_ms.into()]);
        }
        if let Some(until_ms) = query.until_ms {
            and("ended_ms < ?", &[until_ms.into()]);
        }
        if let Some((ended_ms, fire_id)) = &query.after {
            // The first of the two lets the index find the place.
            let further = [(*ended_ms).into(), (*ended_ms).into(), fire_id.as_str().into()];
            and("ended_ms <= ? AND (ended_ms < ? OR fire_id < ?)", &further);
        }
        if let Some(error) = query.error.as_deref() {
            and(&format!("{}(error, ?) > 0", dialect::place_of(self.backend())), &[error.into()]);
        }
        text.push_str(" ORDER BY ended_ms DESC, fire_id DESC LIMIT ?");
        values.push(query.limit.unwrap_or(usize::MAX).into());
        let rows: Vec<RawRow> = self.load(&text, &values)?;
        rows.into_iter().map(|row| row.cells(table)).collect()
    }

    fn history_by_job(&mut self, since_ms: i64, of: HistoryOf<'_>) -> Result<Vec<(JobKey, u64)>> {
        let head = "SELECT job_name AS job_name, job_group AS job_group, COUNT(*) AS n FROM {p}CN_HISTORY \
             WHERE sched_name = ? AND ended_ms >= ? AND";
        let by_job = " GROUP BY job_name, job_group";
        let since = [self.name(), since_ms.into()];
        let rows: Vec<JobCount> = match of {
            HistoryOf::Jobs(jobs) => self.load_for_keys(head, &since, &JOB_KEY, &job_keys(jobs), by_job)?,
            HistoryOf::MoreThan { rows, limit } => {
                let text = format!(
                    "{head} job_name IS NOT NULL AND job_group IS NOT NULL{by_job} HAVING COUNT(*) > ? \
                     ORDER BY COUNT(*) DESC LIMIT ?"
                );
                self.load(&text, &[&since[..], &[rows.into(), limit.into()]].concat())?
            }
        };
        let count = |row: JobCount| (JobKey::new(row.job_group, row.job_name), u64::try_from(row.n).unwrap_or(0));
        Ok(rows.into_iter().map(count).collect())
    }

    fn delete_ended(&mut self, ended_ms: Range<i64>, limit: usize) -> Result<(usize, i64)> {
        let mut values = vec![self.name(), ended_ms.start.into(), ended_ms.end.into()];
        let place = [values.as_slice(), &[limit.saturating_sub(1).into()]].concat();
        let text = format!(
            "SELECT h.ended_ms AS ended_ms FROM {{p}}CN_HISTORY h WHERE {ENDED} ORDER BY h.ended_ms LIMIT 1 OFFSET ?"
        );
        let last: Vec<EndedAt> = self.load(&text, &place)?;
        let until_ms = last.first().map_or(ended_ms.end, |row| row.ended_ms.saturating_add(1));
        values.truncate(2);
        values.push(until_ms.into());
        self.execute(&logs_of_ended(self.backend()), &[&[self.name()], values.as_slice()].concat())?;
        let condition = ENDED.replace("h.", "");
        let gone = self.execute(&format!("DELETE FROM {{p}}CN_HISTORY WHERE {condition}"), &values)?;
        Ok((gone, until_ms))
    }
}

/// Deletes what the runs of [`ENDED`] have logged; the scheduler's name comes first. Each log is
/// looked up by its key, whatever the planner knows of the table.
fn logs_of_ended(backend: Backend) -> String {
    match backend {
        Backend::Postgres => format!(
            "DELETE FROM {{p}}CN_HISTORY_LOG AS t USING (SELECT ? AS sched, h.fire_id AS fire \
             FROM {{p}}CN_HISTORY h WHERE {ENDED} OFFSET 0) AS v \
             WHERE t.sched_name = ANY (ARRAY[v.sched]) AND t.fire_id = v.fire"
        ),
        Backend::Mysql => format!(
            "DELETE t FROM {{p}}CN_HISTORY h STRAIGHT_JOIN {{p}}CN_HISTORY_LOG t FORCE INDEX (PRIMARY) \
             ON t.sched_name = ? AND t.fire_id = h.fire_id WHERE {ENDED}"
        ),
        Backend::Sqlite => format!(
            "DELETE FROM {{p}}CN_HISTORY_LOG WHERE sched_name = ? \
             AND fire_id IN (SELECT h.fire_id FROM {{p}}CN_HISTORY h WHERE {ENDED})"
        ),
    }
}
