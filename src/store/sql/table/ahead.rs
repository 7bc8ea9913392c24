//! `CN_AHEAD` and `CN_BEGUN`: fires that nodes have taken ahead, and which of them have begun.

use crate::error::{Error, Result};
use crate::rules::begun::BeginMark;
use crate::store::Owner;
use crate::store::database::AheadRows;
use crate::store::row::AheadFire;
use crate::store::sql::connection::Backend;
use crate::store::sql::session::SqlSession;
use diesel::QueryableByName;
use diesel::sql_types::{BigInt, Text};

/// Batches of instances that are gone, and left no fire.
pub(super) const STRAY_BATCHES: &str = "{p}CN_AHEAD WHERE sched_name = ? AND NOT EXISTS (SELECT 1 \
     FROM {p}SCHEDULER_STATE s WHERE s.sched_name = {p}CN_AHEAD.sched_name \
     AND s.instance_name = {p}CN_AHEAD.instance_name) AND NOT EXISTS (SELECT 1 FROM {p}FIRED_TRIGGERS f \
     WHERE f.sched_name = {p}CN_AHEAD.sched_name AND f.instance_name = {p}CN_AHEAD.instance_name)";

/// Marks of instances that are gone, and left no fire.
pub(super) const STRAY_BEGUN: &str = "{p}CN_BEGUN WHERE sched_name = ? AND NOT EXISTS (SELECT 1 \
     FROM {p}SCHEDULER_STATE s WHERE s.sched_name = {p}CN_BEGUN.sched_name \
     AND s.instance_name = {p}CN_BEGUN.instance_name) AND NOT EXISTS (SELECT 1 FROM {p}FIRED_TRIGGERS f \
     WHERE f.sched_name = {p}CN_BEGUN.sched_name AND f.instance_name = {p}CN_BEGUN.instance_name)";

#[derive(QueryableByName)]
struct BatchRow {
    #[diesel(sql_type = Text)]
    fires: String,
}

#[derive(QueryableByName)]
struct MarkRow {
    #[diesel(sql_type = BigInt)]
    mark_number: i64,
    #[diesel(sql_type = BigInt)]
    last_fence: i64,
    #[diesel(sql_type = Text)]
    waiting: String,
}

impl AheadRows for SqlSession<'_, '_> {
    fn insert_ahead(&mut self, instance: &str, fires: &[AheadFire]) -> Result<()> {
        self.assert_trigger_access();
        let Some(last) = fires.iter().map(|fire| fire.fence).max() else { return Ok(()) };
        let text = serde_json::to_string(fires).map_err(|why| Error::Refused(format!("fires taken ahead: {why}")))?;
        let row = vec![instance.into(), last.into(), (&text).into()];
        self.insert_rows("CN_AHEAD", &["instance_name", "last_fence", "fires"], vec![row])
    }

    fn ahead(&mut self, instance: &str) -> Result<Vec<AheadFire>> {
        let text = "SELECT fires AS fires FROM {p}CN_AHEAD WHERE sched_name = ? AND instance_name = ?";
        let rows: Vec<BatchRow> = self.load(text, &[self.name(), instance.into()])?;
        let read = |row: BatchRow| {
            // A batch that nobody can read says of none of its fires that it has not begun.
            serde_json::from_str::<Vec<AheadFire>>(&row.fires).unwrap_or_else(|why| {
                log::warn!("fires taken ahead cannot be read, and count as begun instance={instance} error={why}");
                Vec::new()
            })
        };
        Ok(rows.into_iter().flat_map(read).collect())
    }

    fn delete_ahead(&mut self, instance: &str, before: i64) -> Result<()> {
        let values = [self.name(), instance.into(), before.into()];
        let text = "DELETE FROM {p}CN_AHEAD WHERE sched_name = ? AND instance_name = ? AND last_fence < ?";
        self.execute(text, &values).map(drop)
    }

    fn reset_begun(&mut self, owner: &Owner) -> Result<()> {
        self.forget_ahead(&owner.instance)?;
        let first = vec![
            owner.instance.as_str().into(),
            owner.incarnation.as_str().into(),
            0_i64.into(),
            0_i64.into(),
            "".into(),
            0_i64.into(),
        ];
        let columns = ["instance_name", "incarnation", "mark_number", "last_fence", "waiting", "closed"];
        self.insert_rows("CN_BEGUN", &columns, vec![first])
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

    fn begun(&mut self, instance: &str, closes: bool) -> Result<Option<BeginMark>> {
        let values = [self.name(), instance.into()];
        if closes {
            let text = "UPDATE {p}CN_BEGUN SET closed = 1 WHERE sched_name = ? AND instance_name = ?";
            self.execute(text, &values)?;
        }
        let text = "SELECT mark_number AS mark_number, last_fence AS last_fence, waiting AS waiting FROM {p}CN_BEGUN \
             WHERE sched_name = ? AND instance_name = ?";
        let row = self.load::<MarkRow>(text, &values)?.pop();
        Ok(row.map(|row| BeginMark {
            number: row.mark_number,
            last: row.last_fence,
            waiting: BeginMark::waiting_of(&row.waiting),
        }))
    }

    fn forget_ahead(&mut self, instance: &str) -> Result<()> {
        let values = [self.name(), instance.into()];
        for table in ["CN_AHEAD", "CN_BEGUN"] {
            let text = format!("DELETE FROM {{p}}{table} WHERE sched_name = ? AND instance_name = ?");
            self.execute(&text, &values)?;
        }
        Ok(())
    }
}
