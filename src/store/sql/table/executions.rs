//! `CN_BEATS` and `CN_CANCELS`.

use super::declared::{values, written};
use crate::error::Result;
use crate::store::database::{ExecutionRows, Session};
use crate::store::row::{CancelRow, HeartbeatRow, Table};
use crate::store::sql::by_place::by_place;
use crate::store::sql::connection::Backend;
use crate::store::sql::session::SqlSession;
use diesel::sql_types::Text;

by_place! {
    struct Cancel {
        entry_id: String as Text,
        who: String as Text,
    }
}

impl ExecutionRows for SqlSession<'_, '_> {
    fn put_heartbeats(&mut self, rows: &[HeartbeatRow]) -> Result<()> {
        let rows: Vec<_> = rows.iter().map(|row| values(HeartbeatRow::DEF, row.cells())).collect();
        self.put_rows_of_executing(HeartbeatRow::DEF.name, &written(HeartbeatRow::DEF), &rows)
    }

    fn notable_heartbeats(&mut self, instance: &str, now_ms: i64, future_ms: i64) -> Result<Vec<HeartbeatRow>> {
        let condition = "((instance_name = ? AND beat_ms = ?) OR beat_ms + limit_ms < ? OR beat_ms > ?)";
        self.rows_where(condition, &[instance.into(), now_ms.into(), now_ms.into(), future_ms.into()])
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

    fn cancels_for(&mut self, instance: &str) -> Result<Vec<CancelRow>> {
        let text = "SELECT c.entry_id AS entry_id, c.who AS who FROM {p}CN_CANCELS c JOIN {p}FIRED_TRIGGERS f \
             ON f.sched_name = c.sched_name AND f.entry_id = c.entry_id WHERE c.sched_name = ? AND f.instance_name = ?";
        let rows: Vec<Cancel> = self.load(text, &[self.name(), instance.into()])?;
        Ok(rows.into_iter().map(|row| CancelRow { fire_id: row.entry_id, who: row.who }).collect())
    }
}
