//! `CN_BEATS` and `CN_CANCELS`.

use super::texts;
use crate::error::Result;
use crate::store::database::{ExecutionRows, Session};
use crate::store::row::{CancelRow, HeartbeatRow, Progress};
use crate::store::sql::connection::Backend;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

#[derive(QueryableByName)]
struct Beat {
    #[diesel(sql_type = Text)]
    entry_id: String,
    #[diesel(sql_type = Text)]
    instance_name: String,
    #[diesel(sql_type = BigInt)]
    beat_ms: i64,
    #[diesel(sql_type = BigInt)]
    limit_ms: i64,
    #[diesel(sql_type = Nullable<BigInt>)]
    done: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    total: Option<i64>,
    #[diesel(sql_type = Nullable<Text>)]
    note: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    progress_ms: Option<i64>,
    #[diesel(sql_type = Nullable<BigInt>)]
    progress_limit_ms: Option<i64>,
}

#[derive(QueryableByName)]
struct Cancel {
    #[diesel(sql_type = Text)]
    entry_id: String,
    #[diesel(sql_type = Text)]
    who: String,
}

impl From<Beat> for HeartbeatRow {
    fn from(row: Beat) -> Self {
        let progress = row.done.map(|done| Progress { done, total: row.total, note: row.note });
        HeartbeatRow {
            fire_id: row.entry_id,
            instance: row.instance_name,
            beat_ms: row.beat_ms,
            limit_ms: row.limit_ms,
            progress,
            progress_ms: row.progress_ms,
            progress_limit_ms: row.progress_limit_ms,
        }
    }
}

const COLUMNS: &str = "entry_id AS entry_id, instance_name AS instance_name, beat_ms AS beat_ms, limit_ms AS limit_ms, \
     done AS done, total AS total, note AS note, progress_ms AS progress_ms, progress_limit_ms AS progress_limit_ms";

/// Beats of fires that have ended.
pub(super) const STRAY_BEATS: &str = "{p}CN_BEATS WHERE sched_name = ? AND NOT EXISTS (SELECT 1 FROM {p}FIRED_TRIGGERS f \
     WHERE f.sched_name = {p}CN_BEATS.sched_name AND f.entry_id = {p}CN_BEATS.entry_id)";

/// Orders for fires that have ended.
pub(super) const STRAY_CANCELS: &str = "{p}CN_CANCELS WHERE sched_name = ? AND NOT EXISTS (SELECT 1 \
     FROM {p}FIRED_TRIGGERS f WHERE f.sched_name = {p}CN_CANCELS.sched_name AND f.entry_id = {p}CN_CANCELS.entry_id)";

impl ExecutionRows for SqlSession<'_, '_> {
    fn put_heartbeats(&mut self, rows: &[HeartbeatRow]) -> Result<()> {
        let row = |row: &HeartbeatRow| {
            let progress = row.progress.as_ref();
            vec![
                (&row.fire_id).into(),
                (&row.instance).into(),
                row.beat_ms.into(),
                row.limit_ms.into(),
                Value::Int(progress.map(|progress| progress.done)),
                Value::Int(progress.and_then(|progress| progress.total)),
                progress.and_then(|progress| progress.note.as_deref()).into(),
                Value::Int(row.progress_ms),
                Value::Int(row.progress_limit_ms),
            ]
        };
        let columns = [
            "entry_id",
            "instance_name",
            "beat_ms",
            "limit_ms",
            "done",
            "total",
            "note",
            "progress_ms",
            "progress_limit_ms",
        ];
        let rows: Vec<_> = rows.iter().map(row).collect();
        self.put_rows_of_executing("CN_BEATS", &columns, &rows)
    }

    fn notable_heartbeats(&mut self, instance: &str, now_ms: i64, future_ms: i64) -> Result<Vec<HeartbeatRow>> {
        let text = format!(
            "SELECT {COLUMNS} FROM {{p}}CN_BEATS WHERE sched_name = ? AND ((instance_name = ? AND beat_ms = ?) \
             OR beat_ms + limit_ms < ? OR beat_ms > ?)"
        );
        let values = [self.name(), instance.into(), now_ms.into(), now_ms.into(), future_ms.into()];
        let rows: Vec<Beat> = self.load(&text, &values)?;
        Ok(rows.into_iter().map(HeartbeatRow::from).collect())
    }

    fn heartbeats_of(&mut self, fire_ids: &[String]) -> Result<Vec<HeartbeatRow>> {
        let head = format!("SELECT {COLUMNS} FROM {{p}}CN_BEATS WHERE sched_name = ? AND");
        let rows: Vec<Beat> = self.load_for_keys(&head, &[self.name()], &["entry_id"], &texts(fire_ids))?;
        Ok(rows.into_iter().map(HeartbeatRow::from).collect())
    }

    fn all_heartbeats(&mut self) -> Result<Vec<HeartbeatRow>> {
        let text = format!("SELECT {COLUMNS} FROM {{p}}CN_BEATS WHERE sched_name = ?");
        let rows: Vec<Beat> = self.load(&text, &[self.name()])?;
        Ok(rows.into_iter().map(HeartbeatRow::from).collect())
    }

    fn delete_heartbeats(&mut self, fire_ids: &[String]) -> Result<()> {
        self.delete_rows("CN_BEATS", &["entry_id"], &texts(fire_ids), "").map(drop)
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
