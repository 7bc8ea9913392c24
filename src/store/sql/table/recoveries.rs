//! `FIRED_TRIGGERS` as recoveries take them, and `CN_PARKED`.

use super::fired::{COLUMNS, Row as FiredColumns};
use super::texts;
use crate::error::Result;
use crate::store::database::RecoveryRows;
use crate::store::row::FiredRow;
use crate::store::sql::by_place::by_place;
use crate::store::sql::session::SqlSession;
use diesel::sql_types::Text;

/// Parked work `k` with its triggers `w`.
pub(super) const PARKED: &str = "FROM {p}CN_PARKED k JOIN {p}TRIGGERS w ON w.sched_name = k.sched_name \
     AND w.trigger_name = k.trigger_name AND w.trigger_group = k.trigger_group \
     WHERE k.sched_name = ? AND w.trigger_state = 'ERROR'";

by_place! {
    struct IdRow {
        entry_id: String as Text,
    }
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
}
