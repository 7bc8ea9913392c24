//! Scheduler rows: the rows that every scheduler name needs in its tables.

use super::connection::Connection;
use super::migrations::Work;
use super::sql_options::SqlOptions;
use super::statement::{Count, Name, Value};
use crate::error::{FailureClass, Result};
use crate::rules::fence::{FENCES_TO_SPARE, own_fence};
use std::collections::BTreeSet;

/// A row that every scheduler name needs: one of the two locks, the fence, or the counters of
/// changes.
struct NeededRow {
    table: &'static str,
    /// The name of the lock.
    lock: Option<&'static str>,
    /// The columns that begin with zero.
    zeros: &'static [&'static str],
}

const NEEDED_ROWS: [NeededRow; 4] = [
    NeededRow { table: "LOCKS", lock: Some("STATE_ACCESS"), zeros: &[] },
    NeededRow { table: "LOCKS", lock: Some("TRIGGER_ACCESS"), zeros: &[] },
    NeededRow { table: "CN_FENCES", lock: None, zeros: &["fence"] },
    NeededRow { table: "CN_CHANGES", lock: None, zeros: &["changes", "cancels"] },
];

impl NeededRow {
    fn key(&self) -> Vec<&'static str> {
        std::iter::once("sched_name").chain(self.lock.map(|_| "lock_name")).collect()
    }

    fn values(&self, options: &SqlOptions) -> Vec<Value> {
        std::iter::once(Value::from(&options.scheduler_name)).chain(self.lock.map(Value::from)).collect()
    }
}

/// The names of other schedulers with jobs, a few at most; none if this one has some, or had.
pub(super) fn other_schedulers(connection: &mut Connection<'_>, options: &SqlOptions) -> Result<Vec<String>> {
    let text = "SELECT sched_name AS name FROM {p}JOB_DETAILS WHERE NOT EXISTS (SELECT 1 FROM {p}JOB_DETAILS j \
         WHERE j.sched_name = ?) AND NOT EXISTS (SELECT 1 FROM {p}CN_CHANGES c WHERE c.sched_name = ? AND c.changes > 0) \
         GROUP BY sched_name ORDER BY sched_name LIMIT 5";
    let name = Value::from(&options.scheduler_name);
    let rows = Work { connection, options }.load::<Name>(text, &[name.clone(), name])?;
    Ok(rows.into_iter().map(|row| row.name).collect())
}

impl Work<'_, '_> {
    /// Makes the rows every scheduler name needs, in their own statements, since two nodes that
    /// make them on demand can deadlock. Tables that are `gone` have none.
    pub(super) fn ensure_scheduler_rows(&mut self, done: &mut Vec<String>, gone: &BTreeSet<&str>) -> Result<()> {
        for needed in NEEDED_ROWS.iter().filter(|needed| !gone.contains(needed.table)) {
            if self.ensure_row(needed)? {
                done.extend(
                    needed
                        .lock
                        .map(|lock| format!("made the lock {lock} of scheduler {}", self.options.scheduler_name)),
                );
            }
        }
        Ok(())
    }

    /// The rows every scheduler name needs that are not there, of the tables that are not `gone`:
    /// table and name.
    pub(super) fn missing_rows(&mut self, gone: &BTreeSet<&str>) -> Result<Vec<(&'static str, &'static str)>> {
        let mut missing = Vec::new();
        for needed in NEEDED_ROWS.iter().filter(|needed| !gone.contains(needed.table)) {
            if !self.has_row(needed)? {
                missing.push((needed.table, needed.lock.unwrap_or(needed.table)));
            }
        }
        Ok(missing)
    }

    fn has_row(&mut self, needed: &NeededRow) -> Result<bool> {
        let (table, key, values) = (needed.table, needed.key(), needed.values(self.options));
        let text = format!("SELECT sched_name AS name FROM {{p}}{table} WHERE {} = ?", key.join(" = ? AND "));
        Ok(!self.load::<Name>(&text, &values)?.is_empty())
    }

    /// Tells whether a row was inserted; that another process was faster is fine.
    ///
    /// The row is looked for first: on SQLite an insert waits for the lock, even if there is
    /// nothing to insert.
    fn ensure_row(&mut self, needed: &NeededRow) -> Result<bool> {
        if self.has_row(needed)? {
            return Ok(false);
        }
        let NeededRow { table, zeros, .. } = needed;
        let (key, values) = (needed.key(), needed.values(self.options));
        // A row that somebody has lost goes on behind all fences that the other rows know.
        let first = if *table == "CN_FENCES" { self.first_fence()?.to_string() } else { "0".to_owned() };
        let marks = [vec!["?"; key.len()], vec![first.as_str(); zeros.len()]].concat().join(", ");
        let columns = [&key[..], zeros].concat().join(", ");
        match self.execute(&format!("INSERT INTO {{p}}{table} ({columns}) VALUES ({marks})"), &values) {
            Ok(rows) => Ok(rows > 0),
            Err(error) if error.failure_class() == Some(FailureClass::UniqueViolation) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The fence that counts as the last one of a scheduler that has no row of it: zero if that is
    /// new.
    fn first_fence(&mut self) -> Result<i64> {
        let ids = [
            "SELECT entry_id AS name FROM {p}FIRED_TRIGGERS WHERE sched_name = ?",
            "SELECT fire_id AS name FROM {p}CN_HISTORY WHERE sched_name = ? ORDER BY ended_ms DESC LIMIT 1000",
        ];
        let mut largest = 0;
        let values = [Value::from(&self.options.scheduler_name)];
        for text in ids {
            let rows = self.load::<Name>(text, &values)?;
            largest = rows.iter().filter_map(|row| own_fence(&row.name)).fold(largest, i64::max);
        }
        let text = "SELECT COALESCE(MAX(fence), 0) AS n FROM {p}CN_LOCKS WHERE sched_name = ?";
        let locks = self.load::<Count>(text, &values)?;
        largest = locks.iter().map(|row| row.n).fold(largest, i64::max);
        Ok(if largest == 0 { 0 } else { largest.saturating_add(FENCES_TO_SPARE) })
    }
}
