//! Everything at once, for `doctor` and for the invariants.

use super::fired::RecoveryColumns;
use super::schedules::KIND_TABLES;
use super::trigger_row::KeyRow;
use crate::error::Result;
use crate::store::database::{ClusterRows, FiredRows, JobRows, TriggerRows};
use crate::store::row::Snapshot;
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::Text;

#[derive(QueryableByName)]
struct NameRow {
    #[diesel(sql_type = Text)]
    name: String,
}

impl SqlSession<'_, '_> {
    pub(in crate::store::sql) fn read_snapshot(&mut self) -> Result<Snapshot> {
        let name = [self.name()];
        let locks: Vec<NameRow> =
            self.load("SELECT lock_name AS name FROM {p}LOCKS WHERE sched_name = ? ORDER BY lock_name", &name)?;
        let recoveries: Vec<RecoveryColumns> = self.load(
            "SELECT trigger_name AS trigger_name, trigger_group AS trigger_group, origin_fire_id AS origin_fire_id, \
     root_fire_id AS root_fire_id, original_sched_ms AS original_sched_ms, attempt AS attempt, takeovers AS takeovers \
             FROM {p}CN_RECOVERIES WHERE sched_name = ? ORDER BY origin_fire_id",
            &name,
        )?;
        let mut stray_schedules = Vec::new();
        for table in KIND_TABLES {
            let text = format!(
                "SELECT k.trigger_name AS trigger_name, k.trigger_group AS trigger_group FROM {{p}}{table} k WHERE k.sched_name = ? AND NOT EXISTS \
                 (SELECT 1 FROM {{p}}TRIGGERS t WHERE t.sched_name = k.sched_name \
                 AND t.trigger_name = k.trigger_name AND t.trigger_group = k.trigger_group)"
            );
            let rows: Vec<KeyRow> = self.load(&text, &name)?;
            let row = |row: KeyRow| (table.to_owned(), format!("{}.{}", row.trigger_group, row.trigger_name));
            stray_schedules.extend(rows.into_iter().map(row));
        }
        Ok(Snapshot {
            jobs: self.jobs()?,
            triggers: self.all_triggers()?,
            fired: self.all_fired()?,
            instances: self.instances()?,
            paused_groups: self.paused_groups()?,
            calendars: self.all_calendars()?,
            recoveries: recoveries.into_iter().map(Into::into).collect(),
            locks: locks.into_iter().map(|row| row.name).collect(),
            unreadable: Vec::new(),
            stray_schedules,
        })
    }
}
