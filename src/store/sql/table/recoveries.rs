//! `FIRED_TRIGGERS` as recoveries take them, and `CN_PARKED`.

use super::fired::{COLUMNS, Row as FiredColumns};
use super::{BARE_KEY, texts, trigger_keys};
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::database::RecoveryRows;
use crate::store::row::{FiredRow, Parked};
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

/// Rows whose triggers are gone, or were taken out of `ERROR` by somebody who does not know of
/// them.
pub(super) const STRAY: &str = "{p}CN_PARKED WHERE sched_name = ? AND NOT EXISTS (SELECT 1 FROM {p}TRIGGERS t \
     WHERE t.sched_name = {p}CN_PARKED.sched_name AND t.trigger_name = {p}CN_PARKED.trigger_name \
     AND t.trigger_group = {p}CN_PARKED.trigger_group AND t.trigger_state = 'ERROR')";

/// Parked work `k` with its triggers `w`.
pub(super) const PARKED: &str = "FROM {p}CN_PARKED k JOIN {p}TRIGGERS w ON w.sched_name = k.sched_name \
     AND w.trigger_name = k.trigger_name AND w.trigger_group = k.trigger_group \
     WHERE k.sched_name = ? AND w.trigger_state = 'ERROR'";

#[derive(QueryableByName)]
struct IdRow {
    #[diesel(sql_type = Text)]
    entry_id: String,
}

#[derive(QueryableByName)]
struct ParkedRow {
    #[diesel(sql_type = Text)]
    trigger_name: String,
    #[diesel(sql_type = Text)]
    trigger_group: String,
    #[diesel(sql_type = Text)]
    job_name: String,
    #[diesel(sql_type = Text)]
    job_group: String,
    #[diesel(sql_type = Nullable<Text>)]
    fire_id: Option<String>,
    #[diesel(sql_type = Text)]
    reason: String,
    #[diesel(sql_type = BigInt)]
    takeovers: i64,
    #[diesel(sql_type = BigInt)]
    since_ms: i64,
}

impl RecoveryRows for SqlSession<'_, '_> {
    fn free_fired(&mut self, ids: &[String]) -> Result<Vec<String>> {
        let head = "SELECT entry_id AS entry_id FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND";
        let tail = self.hold_free()?;
        let rows: Vec<IdRow> = self.load_for_keys_and(head, &[self.name()], &["entry_id"], &texts(ids), tail)?;
        Ok(rows.into_iter().map(|row| row.entry_id).collect())
    }

    fn free_fired_of_instance(&mut self, instance: &str, most: usize) -> Result<Vec<FiredRow>> {
        let text = format!(
            "SELECT {COLUMNS} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ? AND instance_name = ? \
             ORDER BY sched_time, entry_id LIMIT ?{}",
            self.hold_free()?
        );
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let rows: Vec<FiredColumns> = self.load(&text, &[self.name(), instance.into(), most.into()])?;
        Ok(rows.into_iter().map(FiredRow::from).collect())
    }

    fn put_parked(&mut self, parked: &[Parked]) -> Result<()> {
        self.assert_trigger_access();
        let keys: Vec<TriggerKey> = parked.iter().map(|row| row.key.clone()).collect();
        self.delete_parked(&keys)?;
        let columns = ["trigger_name", "trigger_group", "fire_id", "reason", "takeovers", "since_ms"];
        let row = |row: &Parked| {
            vec![
                row.key.name().into(),
                row.key.group().into(),
                row.fire_id.as_deref().into(),
                (&row.reason).into(),
                row.takeovers.into(),
                row.since_ms.into(),
            ]
        };
        self.insert_rows("CN_PARKED", &columns, parked.iter().map(row).collect())
    }

    fn parked(&mut self) -> Result<Vec<Parked>> {
        let text = format!(
            "SELECT k.trigger_name AS trigger_name, k.trigger_group AS trigger_group, w.job_name AS job_name, w.job_group \
             AS job_group, k.fire_id AS fire_id, k.reason AS reason, k.takeovers AS takeovers, k.since_ms AS since_ms \
             {PARKED} ORDER BY k.since_ms, k.trigger_group, k.trigger_name"
        );
        let rows: Vec<ParkedRow> = self.load(&text, &[self.name()])?;
        let parked = |row: ParkedRow| Parked {
            key: TriggerKey::new(row.trigger_group, row.trigger_name),
            job: JobKey::new(row.job_group, row.job_name),
            fire_id: row.fire_id,
            reason: row.reason,
            takeovers: row.takeovers,
            since_ms: row.since_ms,
        };
        Ok(rows.into_iter().map(parked).collect())
    }

    fn delete_parked(&mut self, triggers: &[TriggerKey]) -> Result<()> {
        self.assert_trigger_access();
        self.delete_rows("CN_PARKED", &BARE_KEY, &trigger_keys(triggers), "").map(drop)
    }
}
