//! `CN_CHANGES`, and what nodes read again and again while nothing happens: one statement each.

use super::fired::RESERVED_BY_OTHERS;
use super::time;
use super::waiting::{waiting, waiting_values};
use crate::error::Result;
use crate::store::database::{ChangeRows, Session};
use crate::store::row::{Exclusions, LAST_COUNT, Notification, PollResult, TypeVersions};
use crate::store::sql::backend::Backend;
use crate::store::sql::by_place::by_place;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::sql_types::{BigInt, Nullable};

by_place! {
    struct PollRow {
        now_ms: i64 as BigInt,
        changes: Option<i64> as Nullable<BigInt>,
        cancels: Option<i64> as Nullable<BigInt>,
        reserved_time: Option<i64> as Nullable<BigInt>,
        next_fire_time: Option<i64> as Nullable<BigInt>,
    }
}

by_place! {
    struct DoubtRow {
        now_ms: i64 as BigInt,
        n: i64 as BigInt,
    }
}

/// The time as a statement has it.
pub(super) struct NowIn {
    /// As it is selected. That of the database, where there is one, also if it does not count.
    pub(super) shown: &'static str,
    /// As it is compared with, and its value if it is the node's.
    pub(super) text: &'static str,
    pub(super) value: Vec<Value>,
    node_ms: Option<i64>,
}

impl NowIn {
    /// The time that counts: the node's if that was compared with, else the one selected.
    pub(super) fn or(&self, shown_ms: i64) -> i64 {
        self.node_ms.unwrap_or(shown_ms)
    }
}

impl SqlSession<'_, '_> {
    pub(super) fn now_in_statement(&mut self) -> Result<NowIn> {
        let of_database = dialect::now_in_statement(self.backend());
        let shown = of_database.unwrap_or("0");
        match of_database.filter(|_| !self.takes_time_of_node()) {
            Some(text) => Ok(NowIn { shown, text, value: Vec::new(), node_ms: None }),
            None => {
                let node_ms = self.now_ms()?;
                Ok(NowIn { shown, text: "?", value: vec![node_ms.into()], node_ms: Some(node_ms) })
            }
        }
    }
}

impl Notification {
    /// The column of its counter, and what PostgreSQL's listeners are told.
    pub(super) fn column(self) -> &'static str {
        match self {
            Notification::Change => "changes",
            Notification::Cancel => "cancels",
        }
    }

    /// Moves its counter on; ends with a condition.
    pub(super) fn bump(self) -> String {
        let column = self.column();
        format!(
            "UPDATE {{p}}CN_CHANGES SET {column} = CASE WHEN {column} >= {LAST_COUNT} THEN 1 ELSE {column} + 1 END \
             WHERE sched_name = ?"
        )
    }
}

impl ChangeRows for SqlSession<'_, '_> {
    fn notify(&mut self, what: Notification) -> Result<()> {
        if !self.is_first_notification(what) {
            return Ok(());
        }
        let (column, bump) = (what.column(), what.bump());
        // The counter is one row, which others would wait for as long as the caller's transaction
        // lasts. A node that does not listen sees with its next look what is due.
        if self.is_joined() {
            let channel = Value::from(&self.channel());
            return match self.backend() {
                Backend::Postgres if !self.notifies() => Ok(()),
                Backend::Postgres => self.execute("SELECT pg_notify(?, ?)", &[channel, column.into()]).map(drop),
                Backend::Mysql => Ok(()),
                Backend::Sqlite => self.execute(&bump, &[self.name()]).map(drop),
            };
        }
        if self.backend() != Backend::Postgres || !self.notifies() {
            return self.execute(&bump, &[self.name()]).map(drop);
        }
        // One statement does both: those that listen hear it at the commit, those that do not see
        // the counter.
        let text = format!("WITH bumped AS ({bump} RETURNING 1) SELECT pg_notify(?, ?)");
        let channel = Value::from(&self.channel());
        self.execute(&text, &[self.name(), channel, column.into()]).map(drop)
    }

    fn poll(
        &mut self,
        instance: &str,
        horizon_ms: Option<i64>,
        misfire_threshold_ms: i64,
        job_types: &[String],
        versions: &TypeVersions,
        excluded: &Exclusions,
    ) -> Result<PollResult> {
        let now = self.now_in_statement()?;
        let (of_types, types) = self.of_types(job_types, versions);
        let (not_excluded, excluded) = self.not_excluded(excluded);
        let no_later_than = if horizon_ms.is_some() { format!("{} + ?", now.text) } else { "?".to_owned() };
        let text = format!(
            "SELECT {} AS now_ms, \
             (SELECT c.changes FROM {{p}}CN_CHANGES c WHERE c.sched_name = ?) AS changes, \
             (SELECT c.cancels FROM {{p}}CN_CHANGES c WHERE c.sched_name = ?) AS cancels, \
             (SELECT f.sched_time {RESERVED_BY_OTHERS} ORDER BY f.sched_time LIMIT 1) AS reserved_time, \
             (SELECT t.next_fire_time FROM {{p}}TRIGGERS t WHERE {} AND {of_types}{not_excluded} \
             ORDER BY t.next_fire_time ASC LIMIT 1) AS next_fire_time",
            now.shown,
            waiting(self.backend(), &no_later_than, &format!("{} - ?", now.text))
        );
        let mut last = Vec::new();
        if horizon_ms.is_some() {
            last.extend(now.value.clone());
        }
        last.push(horizon_ms.unwrap_or(i64::MAX).into());
        let before: Vec<Value> = now.value.iter().cloned().chain([misfire_threshold_ms.into()]).collect();
        let mut values = vec![self.name(), self.name(), self.name(), instance.into()];
        values.extend(waiting_values(self.backend(), &self.name(), &last, &before));
        values.extend(types);
        values.extend(excluded);
        let rows: Vec<PollRow> = self.load(&text, &values)?;
        let poll = |row: PollRow| PollResult {
            now_ms: now.or(row.now_ms),
            earliest_ms: time(row.next_fire_time),
            reserved_ms: row.reserved_time,
            changes: row.changes.unwrap_or(0),
            cancels: row.cancels.unwrap_or(0),
        };
        Ok(rows.into_iter().next().map(poll).unwrap_or_default())
    }

    fn doubtful_heartbeats(&mut self, tolerance_ms: i64) -> Result<(i64, i64)> {
        let now = self.now_in_statement()?;
        let text = format!(
            "SELECT {shown} AS now_ms, COUNT(*) AS n FROM {{p}}CN_BEATS WHERE sched_name = ? \
             AND (beat_ms + limit_ms < {text} OR beat_ms > {text} + ?)",
            shown = now.shown,
            text = now.text
        );
        let mut values = vec![self.name()];
        values.extend(now.value.clone());
        values.extend(now.value.clone());
        values.push(tolerance_ms.into());
        let rows: Vec<DoubtRow> = self.load(&text, &values)?;
        Ok(rows.first().map(|row| (now.or(row.now_ms), row.n)).unwrap_or_default())
    }
}
