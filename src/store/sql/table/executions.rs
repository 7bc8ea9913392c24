//! `CN_BEATS`, `CN_CANCELS`, `CN_BEGUN`, and `CN_LOCKS` as held locks are renewed.

use super::declared::{values, written};
use crate::error::Result;
use crate::rules::begun::BeginMark;
use crate::store::database::{ExecutionRows, IfThere, Owner};
use crate::store::row::{Cell, HeartbeatRow, TableDef};
use crate::store::sql::backend::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

impl ExecutionRows for SqlSession<'_, '_> {
    fn put_of_executing(&mut self, table: &'static TableDef, rows: Vec<Vec<Cell>>, there: IfThere) -> Result<usize> {
        let rows: Vec<_> = rows.into_iter().map(|row| values(table, row)).collect();
        self.put_rows_of_executing(table.name, &written(table), &rows, there)
    }

    fn notable_heartbeats(&mut self, instance: &str, now_ms: i64, future_ms: i64) -> Result<Vec<HeartbeatRow>> {
        let tail = " AND ((instance_name = ? AND beat_ms = ?) OR beat_ms + limit_ms < ? OR beat_ms > ?)";
        self.rows_after(tail, &[self.name(), instance.into(), now_ms.into(), now_ms.into(), future_ms.into()])
    }

    fn note_begun(&mut self, owner: &Owner, mark: &BeginMark) -> Result<bool> {
        let text = "UPDATE {p}CN_BEGUN SET mark_number = ?, last_fence = ?, waiting = ? WHERE sched_name = ? \
             AND instance_name = ? AND incarnation = ? AND closed = 0 AND mark_number <= ?";
        let values = [
            mark.number.into(),
            mark.last.into(),
            (&mark.waiting_text()).into(),
            self.name(),
            owner.instance.as_str().into(),
            owner.incarnation.as_str().into(),
            mark.number.into(),
        ];
        if self.execute(text, &values)? > 0 {
            return Ok(true);
        }
        // PostgreSQL forgets the row when it crashes.
        let (insert, tail) = match self.backend() {
            Backend::Mysql => ("INSERT IGNORE INTO", ""),
            Backend::Postgres | Backend::Sqlite => ("INSERT INTO", " ON CONFLICT DO NOTHING"),
        };
        let text = format!(
            "{insert} {{p}}CN_BEGUN (sched_name, instance_name, incarnation, mark_number, last_fence, waiting, closed) \
             SELECT i.sched_name, i.instance_name, i.incarnation, ?, ?, ?, 0 FROM {{p}}CN_INSTANCES i \
             WHERE i.sched_name = ? AND i.instance_name = ? AND i.incarnation = ?{tail}"
        );
        let [number, last, waiting, name, instance, incarnation, _] = values;
        Ok(self.execute(&text, &[number, last, waiting, name, instance, incarnation])? > 0)
    }

    fn renew_locks(&mut self, locks: &[(String, String)], now_ms: i64) -> Result<usize> {
        let head = "UPDATE {p}CN_LOCKS SET expires_ms = ? + ttl_ms WHERE expires_ms > ? AND sched_name = ? AND";
        let keys: Vec<Vec<Value>> = locks.iter().map(|(name, holder)| vec![name.into(), holder.into()]).collect();
        self.execute_for_keys(head, &[now_ms.into(), now_ms.into(), self.name()], &["lock_name", "holder"], &keys, "")
    }
}
