//! The statements that every declared table has.

use crate::error::Result;
use crate::store::database::{Compare, TableRows, Which};
use crate::store::row::{Cell, Kind, Table, TableDef};
use crate::store::sql::backend::Backend;
use crate::store::sql::raw::RawRow;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::{Count, Value};

/// A cell as the value of a column of this type.
fn value(cell: Cell, kind: Kind) -> Value {
    match (cell, kind) {
        (Cell::Int(value), _) => Value::Int(Some(value)),
        (Cell::Text(text), _) => Value::Text(Some(text)),
        (Cell::Bytes(bytes), _) => Value::Bytes(Some(bytes)),
        (Cell::Null, Kind::Int) => Value::Int(None),
        (Cell::Null, Kind::Text) => Value::Text(None),
        (Cell::Null, Kind::Bytes) => Value::Bytes(None),
    }
}

/// A cell that no column is asked for without a value.
fn given(cell: &Cell) -> Value {
    value(cell.clone(), Kind::Int)
}

pub(super) fn values(table: &TableDef, row: Vec<Cell>) -> Vec<Value> {
    row.into_iter().zip(table.written()).map(|(cell, (_, kind))| value(cell, kind)).collect()
}

pub(super) fn written(table: &TableDef) -> Vec<&'static str> {
    table.written().map(|(column, _)| column).collect()
}

/// The rows of a table, up to further conditions.
pub(super) fn select_of(table: &TableDef) -> String {
    let columns: Vec<&str> = table.columns().map(|(column, _)| column).collect();
    format!("SELECT {} FROM {{p}}{} WHERE sched_name = ?", columns.join(", "), table.name)
}

impl SqlSession<'_, '_> {
    /// The further conditions on the columns, and all values, the name of the scheduler first.
    fn tests(&self, which: &Which) -> (String, Vec<Value>) {
        let mut text = String::new();
        let mut all = vec![self.name()];
        for (column, compare, cell) in &which.tests {
            let sign = match compare {
                Compare::Equal => "=",
                Compare::Below => "<",
                Compare::AtMost => "<=",
            };
            text.push_str(&format!(" AND {column} {sign} ?"));
            all.push(given(cell));
        }
        if let Some(((_, last), before)) = which.behind.split_last() {
            text.push_str(&behind(&which.behind));
            all.extend(before.iter().flat_map(|(_, cell)| [given(cell), given(cell)]));
            all.push(given(last));
        }
        (text, all)
    }

    /// The rows of a table, up to a further text with all values, the name of the scheduler first.
    pub(super) fn rows_after<T: Table>(&mut self, tail: &str, values: &[Value]) -> Result<Vec<T>> {
        let rows: Vec<RawRow> = self.load(&format!("{}{tail}", select_of(T::DEF)), values)?;
        rows.into_iter().map(|row| T::from_cells(row.cells(T::DEF)?)).collect()
    }

    fn assert_may_change(&self, table: &TableDef) {
        if table.is_locked {
            self.assert_trigger_access();
        }
    }
}

/// The condition on rows behind a place. Not every database compares whole rows by an index.
fn behind(place: &[(&'static str, Cell)]) -> String {
    let condition = place.iter().rev().fold(String::new(), |rest, (column, _)| match rest.as_str() {
        "" => format!("{column} > ?"),
        rest => format!("({column} > ? OR ({column} = ? AND {rest}))"),
    });
    format!(" AND {condition}")
}

fn rows_of(cells: &[Vec<Cell>]) -> Vec<Vec<Value>> {
    cells.iter().map(|row| row.iter().map(given).collect()).collect()
}

impl TableRows for SqlSession<'_, '_> {
    fn select_from(&mut self, table: &'static TableDef, which: &Which) -> Result<Vec<Vec<Cell>>> {
        let (tests, mut values) = self.tests(which);
        let mut text = select_of(table) + &tests;
        let rows: Vec<RawRow> = match &which.any_of {
            Some((keys, cells)) => {
                debug_assert!(which.order.is_empty() && which.limit.is_none(), "{}: one page of batches", table.name);
                self.load_for_keys(&format!("{text} AND"), &values, keys, &rows_of(cells), "")?
            }
            None => {
                if !which.order.is_empty() {
                    let order = if which.descending { " DESC" } else { "" };
                    let by: Vec<String> = which.order.iter().map(|column| format!("{column}{order}")).collect();
                    text.push_str(&format!(" ORDER BY {}", by.join(", ")));
                }
                if let Some(limit) = which.limit {
                    text.push_str(" LIMIT ?");
                    values.push(limit.into());
                }
                if which.skipped > 0 {
                    text.push_str(" OFFSET ?");
                    values.push(which.skipped.into());
                }
                self.load(&text, &values)?
            }
        };
        rows.into_iter().map(|row| row.cells(table)).collect()
    }

    fn count_in(&mut self, table: &'static TableDef, which: &Which) -> Result<u64> {
        let (tests, values) = self.tests(which);
        let text = format!("SELECT COUNT(*) AS n FROM {{p}}{} WHERE sched_name = ?{tests}", table.name);
        let rows: Vec<Count> = self.load(&text, &values)?;
        Ok(rows.first().and_then(|row| u64::try_from(row.n).ok()).unwrap_or_default())
    }

    fn insert_into(&mut self, table: &'static TableDef, mut rows: Vec<Vec<Cell>>) -> Result<()> {
        self.assert_may_change(table);
        let columns = written(table);
        if rows.len() == 1 {
            let mut all = vec![self.name()];
            all.extend(rows.pop().into_iter().flat_map(|row| values(table, row)));
            let (columns, marks) = (columns.join(", "), ", ?".repeat(columns.len()));
            let text = format!("INSERT INTO {{p}}{} (sched_name, {columns}) VALUES (?{marks})", table.name);
            return self.execute(&text, &all).map(drop);
        }
        self.insert_rows(table.name, &columns, rows.into_iter().map(|row| values(table, row)).collect())
    }

    fn upsert_into(&mut self, table: &'static TableDef, row: Vec<Cell>, kept: &[&str]) -> Result<()> {
        self.assert_may_change(table);
        let marks = "?, ".repeat(written(table).len());
        let text = self.upserts(table, &format!("VALUES ({marks}?)"), kept);
        let all: Vec<Value> = [self.name()].into_iter().chain(values(table, row)).collect();
        self.execute(&text, &all).map(drop)
    }

    fn update_in(&mut self, table: &'static TableDef, which: &Which, sets: &[(&'static str, Cell)]) -> Result<usize> {
        self.assert_may_change(table);
        let (tests, tested) = self.tests(which);
        let kind = |name| table.written().find(|(column, _)| *column == name).map_or(Kind::Int, |(_, kind)| kind);
        let texts: Vec<String> = sets.iter().map(|(column, _)| format!("{column} = ?")).collect();
        let mut all: Vec<Value> = sets.iter().map(|(column, cell)| value(cell.clone(), kind(*column))).collect();
        all.extend(tested);
        let text = format!("UPDATE {{p}}{} SET {} WHERE sched_name = ?{tests}", table.name, texts.join(", "));
        match &which.any_of {
            Some((keys, cells)) => self.execute_for_keys(&format!("{text} AND"), &all, keys, &rows_of(cells), ""),
            None => self.execute(&text, &all),
        }
    }

    fn delete_from(&mut self, table: &'static TableDef, which: &Which) -> Result<usize> {
        self.assert_may_change(table);
        let (tests, all) = self.tests(which);
        match &which.any_of {
            Some((keys, cells)) if which.tests.is_empty() => self.delete_rows(table.name, keys, &rows_of(cells), ""),
            Some((keys, cells)) => {
                let head = format!("DELETE FROM {{p}}{} WHERE sched_name = ?{tests} AND", table.name);
                self.execute_for_keys(&head, &all, keys, &rows_of(cells), "")
            }
            None => self.execute(&format!("DELETE FROM {{p}}{} WHERE sched_name = ?{tests}", table.name), &all),
        }
    }
}

impl SqlSession<'_, '_> {
    /// Writes a row over the one that is there if a condition holds, in a statement that begins
    /// with `before`, on PostgreSQL; returns how many rows were written.
    pub(super) fn upsert_if<T: Table>(
        &mut self,
        before: &str,
        mut all: Vec<Value>,
        row: &T,
        kept: &[&str],
        condition: &str,
    ) -> Result<usize> {
        self.assert_may_change(T::DEF);
        let marks = "?, ".repeat(written(T::DEF).len());
        let text = self.upserts(T::DEF, &format!("SELECT {marks}? WHERE {condition}"), &T::DEF.columns_of(kept));
        all.push(self.name());
        all.extend(values(T::DEF, row.cells()));
        self.execute(&format!("{before}{text}"), &all)
    }

    fn upserts(&self, table: &TableDef, rows: &str, kept: &[&str]) -> String {
        let (columns, key) = (written(table), table.key_columns());
        let (on_conflict, given): (_, fn(&str) -> String) = match self.backend() {
            Backend::Mysql => ("ON DUPLICATE KEY UPDATE".to_owned(), |column| format!("{column} = VALUES({column})")),
            Backend::Postgres | Backend::Sqlite => {
                let on_conflict = format!("ON CONFLICT (sched_name, {}) DO UPDATE SET", key.join(", "));
                (on_conflict, |column| format!("{column} = excluded.{column}"))
            }
        };
        let fresh = columns.iter().filter(|column| !key.contains(column) && !kept.contains(column));
        format!(
            "INSERT INTO {{p}}{} (sched_name, {}) {rows} {on_conflict} {}",
            table.name,
            columns.join(", "),
            fresh.map(|column| given(column)).collect::<Vec<_>>().join(", ")
        )
    }
}
