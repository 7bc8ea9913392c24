//! `SCHEDULER_STATE` and its side table `CN_INSTANCES`.

use super::executions::{STRAY_BEATS, STRAY_CANCELS};
use super::marks::{STRAY_MARKS, STRAY_TAGS};
use super::policies::STRAY_POLICIES;
use super::work::STRAY_CHECKPOINTS;
use crate::error::Result;
use crate::store::database::{ClusterRows, Owner};
use crate::store::row::InstanceRow;
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Nullable, Text};

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    instance_name: String,
    #[diesel(sql_type = BigInt)]
    last_checkin_time: i64,
    #[diesel(sql_type = BigInt)]
    checkin_interval: i64,
    #[diesel(sql_type = Nullable<Text>)]
    incarnation: Option<String>,
    #[diesel(sql_type = Nullable<BigInt>)]
    joined: Option<i64>,
}

/// Side rows without what they stand for.
const STRAY: &[&str] = &[
    STRAY_BEATS,
    STRAY_CANCELS,
    STRAY_CHECKPOINTS,
    STRAY_POLICIES,
    STRAY_MARKS,
    STRAY_TAGS,
    "{p}CN_INSTANCES WHERE sched_name = ? AND NOT EXISTS (SELECT 1 FROM {p}SCHEDULER_STATE s \
     WHERE s.sched_name = {p}CN_INSTANCES.sched_name AND s.instance_name = {p}CN_INSTANCES.instance_name)",
    "{p}CN_RECOVERIES WHERE sched_name = ? AND NOT EXISTS (SELECT 1 FROM {p}TRIGGERS t \
     WHERE t.sched_name = {p}CN_RECOVERIES.sched_name AND t.trigger_name = {p}CN_RECOVERIES.trigger_name \
     AND t.trigger_group = {p}CN_RECOVERIES.trigger_group)",
    super::continuations::STRAY,
    super::options::STRAY,
    super::recoveries::STRAY,
    super::recurrences::STRAY,
    super::nodes::STRAY,
    super::job_types::STRAY,
    super::job_versions::STRAY,
    super::orphans::STRAY,
];

impl ClusterRows for SqlSession<'_, '_> {
    fn instances(&mut self) -> Result<Vec<InstanceRow>> {
        let text = "SELECT s.instance_name AS instance_name, s.last_checkin_time AS last_checkin_time, s.checkin_interval AS \
     checkin_interval, i.incarnation AS incarnation, i.joined AS joined \
             FROM {p}SCHEDULER_STATE s LEFT JOIN {p}CN_INSTANCES i \
             ON i.sched_name = s.sched_name AND i.instance_name = s.instance_name \
             WHERE s.sched_name = ? ORDER BY s.instance_name";
        let rows: Vec<Row> = self.load(text, &[self.name()])?;
        let instance = |row: Row| InstanceRow {
            name: row.instance_name,
            last_checkin_ms: row.last_checkin_time,
            checkin_interval_ms: row.checkin_interval,
            incarnation: row.incarnation,
            joined: row.joined.unwrap_or(0),
        };
        Ok(rows.into_iter().map(instance).collect())
    }

    fn touch_instance(&mut self, owner: &Owner, now_ms: i64) -> Result<bool> {
        let text = "UPDATE {p}SCHEDULER_STATE SET last_checkin_time = ? WHERE sched_name = ? AND instance_name = ? \
             AND EXISTS (SELECT 1 FROM {p}CN_INSTANCES i WHERE i.sched_name = {p}SCHEDULER_STATE.sched_name \
             AND i.instance_name = {p}SCHEDULER_STATE.instance_name AND i.incarnation = ?)";
        let values = [now_ms.into(), self.name(), (&owner.instance).into(), (&owner.incarnation).into()];
        Ok(self.execute(text, &values)? > 0)
    }

    fn put_instance(&mut self, row: &InstanceRow) -> Result<()> {
        self.delete_instance(&row.name, None)?;
        let state = [(&row.name).into(), row.last_checkin_ms.into(), row.checkin_interval_ms.into()];
        self.insert_rows(
            "SCHEDULER_STATE",
            &["instance_name", "last_checkin_time", "checkin_interval"],
            vec![state.to_vec()],
        )?;
        let Some(incarnation) = &row.incarnation else { return Ok(()) };
        let side = [(&row.name).into(), incarnation.into(), row.joined.into()];
        self.insert_rows("CN_INSTANCES", &["instance_name", "incarnation", "joined"], vec![side.to_vec()])
    }

    fn stray_side_rows(&mut self) -> Result<usize> {
        let counts: Vec<String> = STRAY.iter().map(|rows| format!("(SELECT COUNT(*) FROM {rows})")).collect();
        let values: Vec<_> = STRAY.iter().map(|_| self.name()).collect();
        let stray = self.count(&format!("SELECT {} AS n", counts.join(" + ")), &values)?;
        Ok(usize::try_from(stray).unwrap_or(0))
    }

    fn sweep_side_rows(&mut self) -> Result<usize> {
        let mut swept = 0;
        for rows in STRAY {
            swept += self.execute(&format!("DELETE FROM {rows}"), &[self.name()])?;
        }
        Ok(swept)
    }

    fn delete_instance(&mut self, name: &str, seen_ms: Option<i64>) -> Result<bool> {
        let key = [self.name(), name.into()];
        let deleted = match seen_ms {
            Some(seen_ms) => self.execute(
                "DELETE FROM {p}SCHEDULER_STATE WHERE sched_name = ? AND instance_name = ? AND last_checkin_time = ?",
                &[self.name(), name.into(), seen_ms.into()],
            )?,
            None => self.execute("DELETE FROM {p}SCHEDULER_STATE WHERE sched_name = ? AND instance_name = ?", &key)?,
        };
        // A left-over side row is nobody's; one beside a row that has changed stays with it.
        if deleted > 0 || seen_ms.is_none() {
            self.execute("DELETE FROM {p}CN_INSTANCES WHERE sched_name = ? AND instance_name = ?", &key)?;
            self.execute("DELETE FROM {p}CN_NODES WHERE sched_name = ? AND instance_name = ?", &key)?;
            self.execute("DELETE FROM {p}CN_JOB_TYPES WHERE sched_name = ? AND instance_name = ?", &key)?;
        }
        Ok(deleted > 0)
    }
}
