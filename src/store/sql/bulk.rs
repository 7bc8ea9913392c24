//! Bulk statements: one text per batch on servers, a few per batch on SQLite.
//!
//! A server costs a round trip per statement, so a batch travels as one: PostgreSQL takes whole
//! columns as arrays, the same text for every size; MySQL takes rows, in a few fixed sizes so that
//! few texts are prepared. SQLite is in this process: it takes rows to be inserted and single keys
//! as MySQL does, and else a loop over one prepared statement.

use super::backend::Backend;
use super::connection::Readable;
use super::session::SqlSession;
use super::statement::Value;
use crate::error::Result;
use crate::store::database::IfThere;
use std::fmt::Write as _;

/// Sizes in which MySQL and SQLite get their rows, so that few texts are prepared.
const SIZES: [usize; 8] = [128, 64, 32, 16, 8, 4, 2, 1];

/// Sizes in which MySQL gets new rows: those of usual batches besides, since each piece is a round
/// trip under the lock.
const SIZES_OF_NEW: [usize; 16] = [128, 64, 50, 40, 32, 25, 20, 16, 12, 10, 8, 5, 4, 3, 2, 1];

/// A table of so many rows of so many values for MySQL, whose columns are `c0`, `c1` …, joined with
/// the rows `t` of a table; to be completed by conditions for all columns of the primary key but
/// the scheduler's name.
///
/// The few rows come first, and the others are looked up by the primary key, whatever the planner
/// knows of the table. By another index, which may look as good while a table is small, each row of
/// the scheduler is locked on the way, and those that others hold are waited for.
fn of_given(table: &str, width: usize, count: usize) -> String {
    let names: Vec<_> = (0..width).map(|i| format!("? AS c{i}")).collect();
    let further = format!(" UNION ALL SELECT {}", vec!["?"; width].join(", "));
    let given = format!("(SELECT {}{})", names.join(", "), further.repeat(count.saturating_sub(1)));
    format!("{given} AS v STRAIGHT_JOIN {{p}}{table} AS t FORCE INDEX (PRIMARY) ON t.sched_name = ?")
}

/// The tables of which sessions delete rows beside each other, by their primary keys: see
/// [`of_given`].
const OF_FIRES: [&str; 8] = [
    "FIRED_TRIGGERS",
    "TRIGGERS",
    "SIMPLE_TRIGGERS",
    "CRON_TRIGGERS",
    "SIMPROP_TRIGGERS",
    "BLOB_TRIGGERS",
    "CN_TRIGGER_OPTIONS",
    "CN_RECURRENCES",
];

impl SqlSession<'_, '_> {
    /// Inserts rows; each begins with the scheduler's name, which is not among `columns`.
    pub(super) fn insert_rows(&mut self, table: &str, columns: &[&str], mut rows: Vec<Vec<Value>>) -> Result<()> {
        let head = format!("INSERT INTO {{p}}{table} (sched_name, {})", columns.join(", "));
        match self.backend() {
            Backend::Postgres if rows.is_empty() => {}
            Backend::Postgres => {
                let marks = vec!["?"; columns.len()].join(", ");
                let text = format!("{head} SELECT ?, v.* FROM unnest({marks}) AS v");
                let mut values = vec![self.name()];
                values.extend(transpose(rows, columns.len()));
                self.execute(&text, &values)?;
            }
            Backend::Mysql | Backend::Sqlite => {
                let sizes: &[usize] = if self.backend() == Backend::Mysql { &SIZES_OF_NEW } else { &SIZES };
                let row = format!("(?{})", ", ?".repeat(columns.len()));
                while let Some(size) = largest(sizes, rows.len()) {
                    let text = format!("{head} VALUES {}", vec![row.as_str(); size].join(", "));
                    let mut values = Vec::with_capacity(size * (columns.len() + 1));
                    for row in rows.drain(..size) {
                        values.push(self.name());
                        values.extend(row);
                    }
                    self.execute(&text, &values)?;
                }
            }
        }
        Ok(())
    }

    /// Inserts rows about fires that are executing; the first column is the fire's id. Rows about
    /// other fires are passed over. With [`IfThere::Kept`] returns how many were new.
    pub(super) fn put_rows_of_executing(
        &mut self,
        table: &str,
        columns: &[&str],
        rows: &[Vec<Value>],
        there: IfThere,
    ) -> Result<usize> {
        let Some((_, others)) = columns.split_first() else { return Ok(0) };
        let head = format!("INSERT INTO {{p}}{table} (sched_name, {})", columns.join(", "));
        let executing = "EXISTS (SELECT 1 FROM {p}FIRED_TRIGGERS f WHERE f.sched_name = ? AND f.state = 'EXECUTING' \
             AND f.entry_id =";
        let over = |value: &dyn Fn(&str) -> String| {
            let sets: Vec<_> = others.iter().map(|column| format!("{column} = {}", value(column))).collect();
            sets.join(", ")
        };
        let on_conflict = match there {
            IfThere::Replaced => {
                let excluded = over(&|column| format!("excluded.{column}"));
                format!("ON CONFLICT (sched_name, entry_id) DO UPDATE SET {excluded}")
            }
            IfThere::Kept => "ON CONFLICT DO NOTHING".to_owned(),
        };
        let names: Vec<_> = (0..columns.len()).map(|i| format!("c{i}")).collect();
        let names = names.join(", ");
        match self.backend() {
            Backend::Postgres if rows.is_empty() => Ok(0),
            Backend::Postgres => {
                let marks = vec!["?"; columns.len()].join(", ");
                let text = format!(
                    "{head} SELECT ?, v.* FROM unnest({marks}) AS v({names}) WHERE {executing} v.c0) {on_conflict}"
                );
                let mut values = vec![self.name()];
                values.extend(transpose(rows.to_vec(), columns.len()));
                values.push(self.name());
                self.execute(&text, &values)
            }
            Backend::Mysql => {
                let given = over(&|column| format!("VALUES({column})"));
                let (head, tail) = match there {
                    IfThere::Replaced => (head, format!("ON DUPLICATE KEY UPDATE {given}")),
                    IfThere::Kept => (head.replacen("INSERT", "INSERT IGNORE", 1), String::new()),
                };
                let mut written = 0;
                for chunk in chunks(rows, &SIZES) {
                    let first: Vec<_> = (0..columns.len()).map(|i| format!("? AS c{i}")).collect();
                    let further = format!(" UNION ALL SELECT {}", vec!["?"; columns.len()].join(", "));
                    let text = format!(
                        "{head} SELECT ?, {names} FROM (SELECT {}{}) AS v WHERE {executing} v.c0) {tail}",
                        first.join(", "),
                        further.repeat(chunk.len() - 1)
                    );
                    let mut values = vec![self.name()];
                    values.extend(chunk.iter().flatten().cloned());
                    values.push(self.name());
                    written += self.execute(&text, &values)?;
                }
                Ok(written)
            }
            Backend::Sqlite => {
                let marks = vec!["?"; columns.len()].join(", ");
                let text = format!("{head} SELECT ?, {marks} WHERE {executing} ?) {on_conflict}");
                let mut written = 0;
                for row in rows {
                    let mut values = vec![self.name()];
                    values.extend(row.iter().cloned());
                    values.push(self.name());
                    values.extend(row.first().cloned());
                    written += self.execute(&text, &values)?;
                }
                Ok(written)
            }
        }
    }

    /// Updates rows by key; returns how many matched. In each row: the keys, then the guards, then
    /// the new values. A guard is a column that must still have its old value.
    pub(super) fn update_rows(
        &mut self,
        table: &str,
        keys: &[&str],
        guards: &[&str],
        sets: &[&str],
        rows: &[Vec<Value>],
    ) -> Result<usize> {
        let width = keys.len() + guards.len() + sets.len();
        let tests: Vec<_> = keys.iter().chain(guards).collect();
        let mut matched = 0;
        match self.backend() {
            Backend::Postgres if rows.is_empty() => {}
            Backend::Postgres => {
                let assign = |(i, set): (usize, &&str)| format!("{set} = v.c{}", tests.len() + i);
                let assignments: Vec<_> = sets.iter().enumerate().map(assign).collect();
                let guard = |(i, guard): (usize, &&str)| format!("t.{guard} = v.c{}", keys.len() + i);
                let guards: Vec<_> = guards.iter().enumerate().map(guard).collect();
                let (found, guard) = (by_primary_key(keys, width), and_guard(&guards.join(" AND ")));
                let text = format!("UPDATE {{p}}{table} AS t SET {} FROM {found}{guard}", assignments.join(", "));
                let mut values = vec![self.name()];
                values.extend(transpose(rows.to_vec(), width));
                matched += self.execute(&text, &values)?;
            }
            Backend::Mysql => {
                for chunk in chunks(rows, &SIZES) {
                    let mut text = format!("UPDATE {}", of_given(table, width, chunk.len()));
                    for (i, test) in tests.iter().enumerate() {
                        let _ = write!(text, " AND t.{test} = v.c{i}");
                    }
                    text.push_str(" SET ");
                    for (i, set) in sets.iter().enumerate() {
                        let comma = if i == 0 { "" } else { ", " };
                        let _ = write!(text, "{comma}t.{set} = v.c{}", tests.len() + i);
                    }
                    let mut values: Vec<_> = chunk.iter().flatten().cloned().collect();
                    values.push(self.name());
                    matched += self.execute(&text, &values)?;
                }
            }
            Backend::Sqlite => {
                let assignments: Vec<_> = sets.iter().map(|set| format!("{set} = ?")).collect();
                let mut text = format!("UPDATE {{p}}{table} SET {} WHERE sched_name = ?", assignments.join(", "));
                for test in &tests {
                    let _ = write!(text, " AND {test} = ?");
                }
                for row in rows {
                    let (tested, new) = row.split_at(tests.len());
                    let mut values = new.to_vec();
                    values.push(self.name());
                    values.extend(tested.iter().cloned());
                    matched += self.execute(&text, &values)?;
                }
            }
        }
        Ok(matched)
    }

    /// Deletes rows by key; returns how many there were. `guard` is a further condition, of
    /// literals only, on the row.
    pub(super) fn delete_rows(
        &mut self,
        table: &str,
        keys: &[&str],
        rows: &[Vec<Value>],
        guard: &str,
    ) -> Result<usize> {
        if self.backend() == Backend::Postgres && !rows.is_empty() {
            let (found, guard) = (by_primary_key(keys, keys.len()), and_guard(guard));
            let text = format!("DELETE FROM {{p}}{table} AS t USING {found}{guard}");
            let mut values = vec![self.name()];
            values.extend(transpose(rows.to_vec(), keys.len()));
            return self.execute(&text, &values);
        }
        let guard = if guard.is_empty() { String::new() } else { format!(" AND {guard}") };
        if self.backend() == Backend::Mysql && OF_FIRES.contains(&table) {
            let tests: String = keys.iter().enumerate().map(|(i, key)| format!(" AND t.{key} = v.c{i}")).collect();
            let mut deleted = 0;
            for chunk in padded(rows) {
                let joined = of_given(table, keys.len(), chunk.len()) + &tests;
                let mut values = chunk.concat();
                values.push(self.name());
                deleted += self.execute(&format!("DELETE t FROM {joined}{guard}"), &values)?;
            }
            return Ok(deleted);
        }
        let head = format!("DELETE FROM {{p}}{table} WHERE sched_name = ? AND");
        self.execute_for_keys(&head, &[self.name()], keys, rows, &guard)
    }

    /// Runs a statement for rows of these keys; `head` ends where the condition on the keys
    /// belongs, with `before` as its values. Returns how many rows it touched.
    pub(super) fn execute_for_keys(
        &mut self,
        head: &str,
        before: &[Value],
        keys: &[&str],
        rows: &[Vec<Value>],
        tail: &str,
    ) -> Result<usize> {
        let mut touched = 0;
        for (condition, values) in self.conditions(keys, rows) {
            let values: Vec<_> = before.iter().cloned().chain(values).collect();
            touched += self.execute(&format!("{head} {condition}{tail}"), &values)?;
        }
        Ok(touched)
    }

    /// As [`SqlSession::execute_for_keys`], for a statement that gives rows.
    pub(super) fn load_for_keys<R: Readable>(
        &mut self,
        head: &str,
        before: &[Value],
        keys: &[&str],
        rows: &[Vec<Value>],
        tail: &str,
    ) -> Result<Vec<R>> {
        if self.backend() == Backend::Postgres && keys.len() > 1 && !rows.is_empty() {
            let mut values = transpose(rows.to_vec(), keys.len());
            values.extend(before.iter().cloned());
            return self.load(&one_by_one(head, keys, tail), &values);
        }
        let mut found = Vec::new();
        for (condition, values) in self.conditions(keys, rows) {
            let values: Vec<_> = before.iter().cloned().chain(values).collect();
            found.extend(self.load(&format!("{head} {condition}{tail}"), &values)?);
        }
        Ok(found)
    }

    /// A condition that is true for rows of these keys, with its values; more than one if they do
    /// not fit into one.
    pub(super) fn conditions(&self, keys: &[&str], rows: &[Vec<Value>]) -> Vec<(String, Vec<Value>)> {
        if rows.is_empty() {
            return Vec::new();
        }
        match (self.backend(), keys) {
            (Backend::Postgres, [key]) => vec![(format!("{key} = ANY(?)"), transpose(rows.to_vec(), 1))],
            (Backend::Postgres, _) => {
                let marks = vec!["?"; keys.len()].join(", ");
                let text = format!("({}) IN (SELECT * FROM unnest({marks}))", keys.join(", "));
                vec![(text, transpose(rows.to_vec(), keys.len()))]
            }
            (Backend::Mysql | Backend::Sqlite, [key]) => padded(rows)
                .map(|chunk| (format!("{key} IN ({})", vec!["?"; chunk.len()].join(", ")), chunk.concat()))
                .collect(),
            (Backend::Mysql, _) => {
                // Rows in brackets are looked up one by one through the primary key, as `(a = ? AND
                // b = ?) OR …` would be, and are planned in half the time; but MariaDB would go
                // through the whole table for a single one.
                let lone = keys.iter().map(|key| format!("{key} = ?")).collect::<Vec<_>>().join(" AND ");
                let row = format!("({})", vec!["?"; keys.len()].join(", "));
                let many = |size| match size {
                    1 => format!("({lone})"),
                    _ => format!("({}) IN ({})", keys.join(", "), vec![row.as_str(); size].join(", ")),
                };
                padded(rows).map(|chunk| (many(chunk.len()), chunk.concat())).collect()
            }
            (Backend::Sqlite, _) => {
                // Of rows in brackets its planner makes a scan of the table once there are
                // statistics of when it was small.
                let one = keys.iter().map(|key| format!("{key} = ?")).collect::<Vec<_>>().join(" AND ");
                rows.iter().map(|row| (one.clone(), row.clone())).collect()
            }
        }
    }
}

/// PostgreSQL: a batch `v` joined with the rows `t` that its first columns name, each looked up by
/// the primary key. The values are the scheduler's name and then the columns.
///
/// Keys and guards stand on the row that is written. A statement that has waited for a row looks at
/// them once more, with the row as it is now. A subquery has seen the row as it was: a guard there
/// holds nobody back, and a place of the row there passes over a row that somebody has just
/// changed.
///
/// PostgreSQL must not choose here: where its statistics know nothing of a scheduler's name yet, it
/// takes the whole table for a few rows and goes through all of it for every batch. A name in a
/// list of one can be looked up by an index, and by nothing else: only equal columns are hashed or
/// merged, and no order of an index that begins with the name is of use. The name is the first
/// column of the key: a list in a later one is at times left to a filter.
pub(super) fn by_primary_key(keys: &[&str], width: usize) -> String {
    let keys: String = keys.iter().enumerate().map(|(i, key)| format!(" AND t.{key} = v.c{i}")).collect();
    format!("{}{keys}", batch(width))
}

/// PostgreSQL: a batch `v` of the names and groups of jobs joined with their triggers `t`. Our
/// index of them begins with the name of the job, that of Quartz with the scheduler's: both are
/// lists of one.
pub(super) fn by_job() -> String {
    format!("{} AND t.job_name = ANY (ARRAY[v.c0]) AND t.job_group = v.c1", batch(2))
}

fn batch(width: usize) -> String {
    let names: Vec<_> = (0..width).map(|i| format!("c{i}")).collect();
    format!(
        "(SELECT ? AS sched, given.* FROM unnest({}) AS given({}) OFFSET 0) AS v WHERE t.sched_name = ANY (ARRAY[v.sched])",
        vec!["?"; width].join(", "),
        names.join(", ")
    )
}

/// PostgreSQL: a further condition on the row, which takes no index away from the primary key: with
/// a state in it, the planner could take that of due triggers. Empty if there is none.
pub(super) fn and_guard(condition: &str) -> String {
    if condition.is_empty() { String::new() } else { format!(" AND ({condition}) IS TRUE") }
}

/// A query that ends where the condition on its keys belongs, asked for each key of a batch in
/// turn; its values come after the columns of the keys.
///
/// PostgreSQL must not choose here either: a plan made while the tables were small stays in use
/// until the next ANALYZE, and joined the whole scheduler with every batch. A key that is given
/// twice is asked once.
fn one_by_one(head: &str, keys: &[&str], tail: &str) -> String {
    let marks = vec!["?"; keys.len()].join(", ");
    let names: Vec<_> = (0..keys.len()).map(|i| format!("c{i}")).collect();
    let tests: Vec<_> = keys.iter().enumerate().map(|(i, key)| format!("{key} = asked.c{i}")).collect();
    format!(
        "SELECT found.* FROM (SELECT DISTINCT * FROM unnest({marks})) AS asked({}) \
         CROSS JOIN LATERAL ({head} {}{tail} OFFSET 0) AS found",
        names.join(", "),
        tests.join(" AND ")
    )
}

/// The largest of these sizes for so many rows; none if none is left.
fn largest(sizes: &[usize], rows: usize) -> Option<usize> {
    sizes.iter().copied().find(|size| *size <= rows)
}

/// Cuts rows into pieces of these sizes, the largest first.
fn chunks<'r>(mut rows: &'r [Vec<Value>], sizes: &'r [usize]) -> impl Iterator<Item = &'r [Vec<Value>]> {
    std::iter::from_fn(move || {
        let size = largest(sizes, rows.len())?;
        let (chunk, rest) = rows.split_at(size);
        rows = rest;
        Some(chunk)
    })
}

/// Pieces of these sizes for a condition: the last is filled up with its last row, which changes
/// nothing.
fn padded(rows: &[Vec<Value>]) -> impl Iterator<Item = Vec<Vec<Value>>> {
    rows.chunks(SIZES[0]).map(|chunk| {
        let size = SIZES.into_iter().rev().find(|size| *size >= chunk.len()).unwrap_or(chunk.len());
        let filler = chunk.last().cloned().unwrap_or_default();
        chunk.iter().cloned().chain(std::iter::repeat(filler)).take(size).collect()
    })
}

/// Rows of values as columns of lists.
pub(super) fn transpose(rows: Vec<Vec<Value>>, width: usize) -> Vec<Value> {
    let mut rows: Vec<_> = rows.into_iter().map(Vec::into_iter).collect();
    (0..width).map(|_| list(rows.iter_mut().filter_map(Iterator::next))).collect()
}

/// Values of one type as a list; of texts if there are none.
fn list(values: impl Iterator<Item = Value>) -> Value {
    let mut values = values.peekable();
    match values.peek() {
        Some(Value::Int(_)) => Value::Ints(values.map(|v| if let Value::Int(v) = v { v } else { None }).collect()),
        Some(Value::Flag(_)) => Value::Flags(values.map(|v| matches!(v, Value::Flag(true))).collect()),
        Some(Value::Bytes(_)) => {
            Value::ManyBytes(values.map(|v| if let Value::Bytes(v) = v { v } else { None }).collect())
        }
        _ => Value::Texts(values.map(|v| if let Value::Text(v) = v { v } else { None }).collect()),
    }
}
