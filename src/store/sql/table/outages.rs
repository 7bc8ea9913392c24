//! `CN_OUTAGES` and `CN_RECOVERY_MODE`.

use super::time;
use crate::error::Result;
use crate::store::database::OutageRows;
use crate::store::row::{Outage, RecoveryModeRow};
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};

#[derive(QueryableByName)]
struct Mode {
    #[diesel(sql_type = BigInt)]
    last_seen_ms: i64,
    #[diesel(sql_type = BigInt)]
    since_ms: i64,
    #[diesel(sql_type = Text)]
    begun_by: String,
    #[diesel(sql_type = BigInt)]
    backlog: i64,
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = BigInt)]
    ended_ms: i64,
    #[diesel(sql_type = BigInt)]
    began_ms: i64,
    #[diesel(sql_type = Text)]
    instance_name: String,
    #[diesel(sql_type = BigInt)]
    overdue: i64,
    #[diesel(sql_type = BigInt)]
    fire_now: i64,
    #[diesel(sql_type = BigInt)]
    fire_each: i64,
    #[diesel(sql_type = BigInt)]
    skipped: i64,
    #[diesel(sql_type = BigInt)]
    unreadable: i64,
    #[diesel(sql_type = BigInt)]
    uncounted: i64,
    #[diesel(sql_type = BigInt)]
    interrupted: i64,
}

impl OutageRows for SqlSession<'_, '_> {
    fn recovery_mode(&mut self) -> Result<Option<RecoveryModeRow>> {
        let text = "SELECT last_seen_ms AS last_seen_ms, since_ms AS since_ms, begun_by AS begun_by, backlog AS backlog \
             FROM {p}CN_RECOVERY_MODE WHERE sched_name = ?";
        let rows: Vec<Mode> = self.load(text, &[self.name()])?;
        Ok(rows.into_iter().next().map(|row| RecoveryModeRow {
            last_seen_ms: row.last_seen_ms,
            since_ms: time(Some(row.since_ms)),
            begun_by: row.begun_by,
            backlog: row.backlog,
        }))
    }

    fn put_recovery_mode(&mut self, row: &RecoveryModeRow) -> Result<()> {
        self.execute("DELETE FROM {p}CN_RECOVERY_MODE WHERE sched_name = ?", &[self.name()])?;
        let columns = ["last_seen_ms", "since_ms", "begun_by", "backlog"];
        let new =
            vec![row.last_seen_ms.into(), row.since_ms.unwrap_or(0).into(), (&row.begun_by).into(), row.backlog.into()];
        self.insert_rows("CN_RECOVERY_MODE", &columns, vec![new])
    }

    fn note_seen(&mut self, seen_ms: i64) -> Result<()> {
        let text = "UPDATE {p}CN_RECOVERY_MODE SET last_seen_ms = ? WHERE sched_name = ? AND last_seen_ms < ?";
        self.execute(text, &[seen_ms.into(), self.name(), seen_ms.into()]).map(drop)
    }

    fn outages(&mut self, most: usize) -> Result<Vec<Outage>> {
        let text = "SELECT ended_ms AS ended_ms, began_ms AS began_ms, instance_name AS instance_name, overdue AS overdue, \
             fire_now AS fire_now, fire_each AS fire_each, skipped AS skipped, unreadable AS unreadable, \
             uncounted AS uncounted, interrupted AS interrupted \
             FROM {p}CN_OUTAGES WHERE sched_name = ? ORDER BY ended_ms DESC LIMIT ?";
        let rows: Vec<Row> = self.load(text, &[self.name(), i64::try_from(most).unwrap_or(i64::MAX).into()])?;
        let outage = |row: Row| Outage {
            began_ms: row.began_ms,
            ended_ms: row.ended_ms,
            instance: row.instance_name,
            overdue: row.overdue,
            fire_now: row.fire_now,
            fire_each: row.fire_each,
            skipped: row.skipped,
            unreadable: row.unreadable,
            uncounted: row.uncounted != 0,
            interrupted: row.interrupted,
        };
        Ok(rows.into_iter().map(outage).collect())
    }

    fn insert_outage(&mut self, outage: &Outage) -> Result<()> {
        let columns = [
            "ended_ms",
            "began_ms",
            "instance_name",
            "overdue",
            "fire_now",
            "fire_each",
            "skipped",
            "unreadable",
            "uncounted",
            "interrupted",
        ];
        let new = vec![
            outage.ended_ms.into(),
            outage.began_ms.into(),
            (&outage.instance).into(),
            outage.overdue.into(),
            outage.fire_now.into(),
            outage.fire_each.into(),
            outage.skipped.into(),
            outage.unreadable.into(),
            i64::from(outage.uncounted).into(),
            outage.interrupted.into(),
        ];
        self.insert_rows("CN_OUTAGES", &columns, vec![new])
    }

    fn forget_outages(&mut self, before_ms: i64) -> Result<usize> {
        let text = "DELETE FROM {p}CN_OUTAGES WHERE sched_name = ? AND ended_ms < ?";
        self.execute(text, &[self.name(), before_ms.into()])
    }
}
