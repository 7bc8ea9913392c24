//! Triggers that ask for nothing special, stored by one statement with all that belongs to them; on PostgreSQL.
//!
//! A call that schedules waits for each of its statements in turn, and so do all that wait for its lock.

use super::triggers::{TRIGGER_COLUMNS, trigger_values};
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::Session;
use crate::store::database::PlainRows;
use crate::store::row::{News, ScheduleRow, TriggerRow};
use crate::store::sql::bulk::transpose;
use crate::store::sql::connection::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};

/// The columns of `SIMPLE_TRIGGERS` beside the key.
const SCHEDULE_COLUMNS: [&str; 3] = ["repeat_count", "repeat_interval", "times_triggered"];

#[derive(QueryableByName)]
struct StoredRow {
    #[diesel(sql_type = Text)]
    trigger_name: String,
    #[diesel(sql_type = Text)]
    trigger_group: String,
    /// How many announcements were made; asked for so that they are.
    #[diesel(sql_type = BigInt)]
    #[expect(dead_code, reason = "what matters is that it was selected")]
    told: i64,
}

impl PlainRows for SqlSession<'_, '_> {
    fn insert_unhindered(&mut self, triggers: &[TriggerRow], token: &str) -> Result<Vec<TriggerKey>> {
        if self.backend() != Backend::Postgres {
            return Ok(Vec::new());
        }
        let rows: Vec<Vec<Value>> = triggers.iter().filter_map(row).collect();
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        self.assert_trigger_access();
        let width = TRIGGER_COLUMNS.len() + SCHEDULE_COLUMNS.len();
        let now = self.now_ms()?;
        let mut values = transpose(&rows, width);
        // Of the tests, of the inserts, of the token, of the counter.
        values.extend([self.name(), self.name(), self.name(), self.name(), self.name(), self.name()]);
        values.extend([self.name(), token.into(), now.into(), self.name()]);
        values.extend([Value::from(&self.channel()), News::Change.column().into()]);
        let stored: Vec<StoredRow> = self.load(&text(width), &values)?;
        if !stored.is_empty() {
            self.is_first_announcement(News::Change);
        }
        Ok(stored.into_iter().map(|row| TriggerKey::new(row.trigger_group, row.trigger_name)).collect())
    }
}

/// What the statement takes of a trigger; none if it is not a simple one.
fn row(trigger: &TriggerRow) -> Option<Vec<Value>> {
    let ScheduleRow::Simple { repeat_count, interval_ms, times_triggered } = trigger.schedule else { return None };
    let mut row = trigger_values(trigger);
    row.extend([repeat_count.into(), interval_ms.into(), times_triggered.into()]);
    Some(row)
}

/// Each test is a count by key, which PostgreSQL does not turn into a join: see `bulk.rs`.
fn text(width: usize) -> String {
    let marks = vec!["?"; width].join(", ");
    let (columns, schedule) = (TRIGGER_COLUMNS.join(", "), SCHEDULE_COLUMNS.join(", "));
    format!(
        "WITH given AS MATERIALIZED (SELECT * FROM unnest({marks}) AS g({columns}, {schedule})), \
         free AS MATERIALIZED (SELECT g.* FROM given g WHERE \
         (SELECT COUNT(*) FROM {{p}}JOB_DETAILS j WHERE j.sched_name = ? AND j.job_name = g.job_name \
         AND j.job_group = g.job_group AND j.is_nonconcurrent = false) = 1 \
         AND (SELECT COUNT(*) FROM {{p}}TRIGGERS t WHERE t.sched_name = ? AND t.trigger_name = g.trigger_name \
         AND t.trigger_group = g.trigger_group) = 0 \
         AND (SELECT COUNT(*) FROM {{p}}FIRED_TRIGGERS f WHERE f.sched_name = ? AND f.job_name = g.job_name \
         AND f.job_group = g.job_group AND f.state = 'EXECUTING' AND f.is_nonconcurrent = true) = 0 \
         AND NOT EXISTS (SELECT 1 FROM {{p}}PAUSED_TRIGGER_GRPS q WHERE q.sched_name = ?)), \
         stored AS (INSERT INTO {{p}}TRIGGERS (sched_name, {columns}) SELECT ?, {columns} FROM free), \
         scheduled AS (INSERT INTO {{p}}SIMPLE_TRIGGERS (sched_name, trigger_name, trigger_group, {schedule}) \
         SELECT ?, trigger_name, trigger_group, {schedule} FROM free), \
         noted AS (INSERT INTO {{p}}CN_COMMITS (sched_name, token, made_ms) \
         SELECT ?, ?, ? WHERE EXISTS (SELECT 1 FROM free)), \
         bumped AS ({} AND EXISTS (SELECT 1 FROM free) RETURNING 1), \
         told AS MATERIALIZED (SELECT pg_notify(?, ?) FROM bumped) \
         SELECT f.trigger_name AS trigger_name, f.trigger_group AS trigger_group, \
         (SELECT COUNT(*) FROM told) AS told FROM free f",
        News::Change.bump()
    )
}
