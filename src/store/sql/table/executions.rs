//! `CN_BEATS`, `CN_CANCELS`, `CN_BEGUN`, and `CN_LOCKS` as held locks are renewed.

use super::declared::{values, written};
use crate::error::Result;
use crate::rules::begun::BeginMark;
use crate::store::database::{ExecutionRows, Owner, Session};
use crate::store::row::{HeartbeatRow, Table};
use crate::store::sql::backend::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

impl ExecutionRows for SqlSession<'_, '_> {
    fn put_heartbeats(&mut self, rows: &[HeartbeatRow]) -> Result<()> {
        let rows: Vec<_> = rows.iter().map(|row| values(HeartbeatRow::DEF, row.cells())).collect();
        self.put_rows_of_executing(HeartbeatRow::DEF.name, &written(HeartbeatRow::DEF), &rows)
    }

    fn notable_heartbeats(&mut self, instance: &str, now_ms: i64, future_ms: i64) -> Result<Vec<HeartbeatRow>> {
        let tail = " AND ((instance_name = ? AND beat_ms = ?) OR beat_ms + limit_ms < ? OR beat_ms > ?)";
        self.rows_after(tail, &[self.name(), instance.into(), now_ms.into(), now_ms.into(), future_ms.into()])
    }

    fn request_cancels(&mut self, fire_ids: &[String], who: &str) -> Result<usize> {
        let now_ms = self.now_ms()?;
        // One at a time: orders are rare, and each must be counted.
        // Somebody else may ask for the same at the same time: that is no error.
        let (insert, end) = match self.backend() {
            Backend::Mysql => ("INSERT IGNORE INTO", ""),
            Backend::Postgres | Backend::Sqlite => ("INSERT INTO", " ON CONFLICT DO NOTHING"),
        };
        let text = format!(
            "{insert} {{p}}CN_CANCELS (sched_name, entry_id, made_ms, who) SELECT f.sched_name, f.entry_id, ?, ? \
             FROM {{p}}FIRED_TRIGGERS f WHERE f.sched_name = ? AND f.entry_id = ? AND f.state = 'EXECUTING'{end}"
        );
        let mut noted = 0;
        for fire_id in fire_ids {
            noted += self.execute(&text, &[now_ms.into(), who.into(), self.name(), fire_id.into()])?;
        }
        Ok(noted)
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
