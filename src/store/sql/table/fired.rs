//! `FIRED_TRIGGERS` and its side tables `CN_FENCES` and `CN_RECOVERIES`.

use super::trigger_row::KeyRow;
use super::{BARE_KEY, texts, trigger_keys};
use crate::error::{Error, Result};
use crate::key::{JobKey, TriggerKey};
use crate::store::database::{FiredRows, Owner};
use crate::store::row::{FiredRow, FiredState, RecoveryRow};
use crate::store::sql::bulk::by_primary_key;
use crate::store::sql::by_place::by_place;
use crate::store::sql::connection::Backend;
use crate::store::sql::dialect;
use crate::store::sql::session::{Count, SqlSession};
use crate::store::sql::statement::{Flag, FlagType, Value};
use diesel::sql_types::{BigInt, Integer, Nullable, Text};

by_place! {
    pub(super) struct Row {
        pub(super) entry_id: String as Text,
        trigger_name: String as Text,
        trigger_group: String as Text,
        instance_name: String as Text,
        fired_time: i64 as BigInt,
        sched_time: i64 as BigInt,
        priority: i32 as Integer,
        state: String as Text,
        job_name: Option<String> as Nullable<Text>,
        job_group: Option<String> as Nullable<Text>,
        is_nonconcurrent: Option<Flag> as Nullable<FlagType>,
        requests_recovery: Option<Flag> as Nullable<FlagType>,
    }
}

by_place! {
    struct IdRow {
        entry_id: String as Text,
        state: String as Text,
    }
}

by_place! {
    struct NameRow {
        name: String as Text,
    }
}

by_place! {
    pub(super) struct RecoveryColumns {
        trigger_name: String as Text,
        trigger_group: String as Text,
        origin_fire_id: String as Text,
        root_fire_id: String as Text,
        original_sched_ms: i64 as BigInt,
        attempt: i64 as BigInt,
        takeovers: i64 as BigInt,
    }
}

impl From<RecoveryColumns> for RecoveryRow {
    fn from(row: RecoveryColumns) -> Self {
        RecoveryRow {
            trigger: TriggerKey::new(row.trigger_group, row.trigger_name),
            origin_fire_id: row.origin_fire_id,
            root_fire_id: row.root_fire_id,
            original_scheduled_ms: row.original_sched_ms,
            attempt: row.attempt,
            takeovers: row.takeovers,
        }
    }
}

impl From<Row> for FiredRow {
    fn from(row: Row) -> Self {
        FiredRow {
            fire_id: row.entry_id,
            trigger: TriggerKey::new(row.trigger_group, row.trigger_name),
            instance: row.instance_name,
            fired_ms: row.fired_time,
            scheduled_ms: row.sched_time,
            priority: row.priority,
            state: state(&row.state),
            job: row.job_name.zip(row.job_group).map(|(name, group)| JobKey::new(group, name)),
            nonconcurrent: row.is_nonconcurrent.is_some_and(bool::from),
            requests_recovery: row.requests_recovery.is_some_and(bool::from),
        }
    }
}

/// Anything but `ACQUIRED` has been started.
fn state(text: &str) -> FiredState {
    if text == FiredState::Acquired.name() { FiredState::Acquired } else { FiredState::Executing }
}

pub(super) const COLUMNS: &str = "entry_id AS entry_id, trigger_name AS trigger_name, trigger_group AS trigger_group, instance_name AS \
     instance_name, fired_time AS fired_time, sched_time AS sched_time, priority AS priority, state AS state, \
     job_name AS job_name, job_group AS job_group, is_nonconcurrent AS is_nonconcurrent, requests_recovery AS \
     requests_recovery";

pub(super) const INSERTED: [&str; 12] = [
    "entry_id",
    "trigger_name",
    "trigger_group",
    "instance_name",
    "fired_time",
    "sched_time",
    "priority",
    "state",
    "job_name",
    "job_group",
    "is_nonconcurrent",
    "requests_recovery",
];

pub(super) fn values(row: &FiredRow) -> Vec<Value> {
    vec![
        (&row.fire_id).into(),
        row.trigger.name().into(),
        row.trigger.group().into(),
        (&row.instance).into(),
        row.fired_ms.into(),
        row.scheduled_ms.into(),
        i64::from(row.priority).into(),
        row.state.name().into(),
        row.job.as_ref().map(JobKey::name).into(),
        row.job.as_ref().map(JobKey::group).into(),
        row.nonconcurrent.into(),
        row.requests_recovery.into(),
    ]
}

/// What nodes of ours other than one have reserved, by the index of reservations: a planner that
/// sees a join, or a condition that it may turn into one, may begin with the nodes and go through
/// all that they execute. The values are the scheduler's name and the node.
pub(super) const RESERVED_BY_OTHERS: &str = "FROM {p}FIRED_TRIGGERS f WHERE f.sched_name = ? AND f.state = 'ACQUIRED' \
     AND f.instance_name <> ? AND (SELECT COUNT(*) FROM {p}CN_INSTANCES i WHERE i.sched_name = f.sched_name \
     AND i.instance_name = f.instance_name) > 0";

impl FiredRows for SqlSession<'_, '_> {
    fn insert_fired(&mut self, rows: Vec<FiredRow>) -> Result<()> {
        self.assert_trigger_access();
        self.insert_rows("FIRED_TRIGGERS", &INSERTED, rows.iter().map(values).collect())
    }

    fn begin_executing(&mut self, rows: &[(String, FiredRow)]) -> Result<usize> {
        self.assert_trigger_access();
        let acquired = FiredState::Acquired.name();
        let row = |(old, row): &(String, FiredRow)| {
            let mut all = vec![old.into(), acquired.into()];
            all.extend(values(row));
            all
        };
        let rows: Vec<_> = rows.iter().map(row).collect();
        self.update_rows("FIRED_TRIGGERS", &["entry_id"], &["state"], &INSERTED, &rows)
    }

    fn delete_fired(&mut self, ids: &[String]) -> Result<Vec<String>> {
        self.assert_trigger_access();
        let ids = texts(ids);
        if dialect::returns_updated(self.backend()) {
            let deleted: Vec<IdRow> = match self.backend() {
                Backend::Postgres => {
                    let found = by_primary_key(&["entry_id"], 1);
                    let text = format!(
                        "DELETE FROM {{p}}FIRED_TRIGGERS AS t USING {found} RETURNING t.entry_id AS entry_id, t.state AS state"
                    );
                    self.load(&text, &[self.name(), Value::Texts(ids.iter().flatten().map(text_of).collect())])?
                }
                _ => {
                    let head = "DELETE FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND";
                    let tail = " RETURNING entry_id AS entry_id, state AS state";
                    self.load_for_keys_and(head, &[self.name()], &["entry_id"], &ids, tail)?
                }
            };
            return Ok(deleted.into_iter().map(|row| row.entry_id).collect());
        }
        if let [_] = ids.as_slice() {
            let deleted = self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &ids, "")?;
            return Ok(ids.into_iter().flatten().filter_map(|id| text_of(&id)).take(deleted).collect());
        }
        // Under the lock nobody else deletes: what is there now is what the DELETE takes.
        let head = "SELECT entry_id AS entry_id, state AS state FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND";
        let there: Vec<IdRow> = self.load_for_keys(head, &[self.name()], &["entry_id"], &ids)?;
        self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &ids, "")?;
        Ok(there.into_iter().map(|row| row.entry_id).collect())
    }

    fn delete_reservations(&mut self, triggers: &[TriggerKey]) -> Result<usize> {
        self.assert_trigger_access();
        let ours = "FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND state = 'ACQUIRED' AND EXISTS (SELECT 1 \
             FROM {p}CN_INSTANCES i WHERE i.sched_name = {p}FIRED_TRIGGERS.sched_name \
             AND i.instance_name = {p}FIRED_TRIGGERS.instance_name) AND";
        if self.backend() == Backend::Mysql {
            // A DELETE would wait for every row that it goes through, also for one that a job's
            // transaction holds.
            let head = format!("SELECT entry_id AS entry_id, state AS state {ours}");
            let key = ["trigger_name", "trigger_group"];
            let found: Vec<IdRow> = self.load_for_keys(&head, &[self.name()], &key, &trigger_keys(triggers))?;
            let ids: Vec<Vec<Value>> = found.into_iter().map(|row| vec![(&row.entry_id).into()]).collect();
            return if ids.is_empty() { Ok(0) } else { self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &ids, "") };
        }
        let head = &format!("DELETE {ours}");
        self.execute_for_keys(head, &[self.name()], &["trigger_name", "trigger_group"], &trigger_keys(triggers), "")
    }

    fn foreign_reservations(&mut self, triggers: &[TriggerKey]) -> Result<Vec<TriggerKey>> {
        let head = "SELECT trigger_name AS trigger_name, trigger_group AS trigger_group FROM {p}FIRED_TRIGGERS \
             WHERE sched_name = ? AND state = 'ACQUIRED' AND NOT EXISTS (SELECT 1 \
             FROM {p}CN_INSTANCES i WHERE i.sched_name = {p}FIRED_TRIGGERS.sched_name \
             AND i.instance_name = {p}FIRED_TRIGGERS.instance_name) AND";
        let key = ["trigger_name", "trigger_group"];
        let rows: Vec<KeyRow> = self.load_for_keys(head, &[self.name()], &key, &trigger_keys(triggers))?;
        Ok(rows.into_iter().map(TriggerKey::from).collect())
    }

    fn overdue_reservations(&mut self, instance: &str, before_ms: i64, limit: usize) -> Result<Vec<FiredRow>> {
        self.assert_trigger_access();
        let text = format!("SELECT {COLUMNS} {RESERVED_BY_OTHERS} AND f.sched_time < ? ORDER BY f.sched_time LIMIT ?");
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let rows: Vec<Row> = self.load(&text, &[self.name(), instance.into(), before_ms.into(), limit.into()])?;
        Ok(rows.into_iter().map(FiredRow::from).collect())
    }

    fn hold_fired(&mut self, id: &str) -> Result<Option<FiredState>> {
        let text = format!(
            "SELECT entry_id AS entry_id, state AS state FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ? AND entry_id = ?{}",
            dialect::share_lock(self.backend())
        );
        let rows: Vec<IdRow> = self.load(&text, &[self.name(), id.into()])?;
        Ok(rows.first().map(|row| state(&row.state)))
    }

    fn existing_fired(&mut self, ids: &[String]) -> Result<Vec<(String, FiredState)>> {
        let head = "SELECT entry_id AS entry_id, state AS state FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND";
        let rows: Vec<IdRow> = self.load_for_keys(head, &[self.name()], &["entry_id"], &texts(ids))?;
        Ok(rows.into_iter().map(|row| (row.entry_id, state(&row.state))).collect())
    }

    fn fired_rows(&mut self, ids: &[String]) -> Result<Vec<FiredRow>> {
        let head = format!("SELECT {COLUMNS} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ? AND");
        let rows: Vec<Row> = self.load_for_keys(&head, &[self.name()], &["entry_id"], &texts(ids))?;
        Ok(rows.into_iter().map(FiredRow::from).collect())
    }

    fn all_fired(&mut self) -> Result<Vec<FiredRow>> {
        let text =
            format!("SELECT {COLUMNS} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ? ORDER BY fired_time, entry_id");
        let rows: Vec<Row> = self.load(&text, &[self.name()])?;
        Ok(rows.into_iter().map(FiredRow::from).collect())
    }

    fn fired_of_instance(&mut self, instance: &str) -> Result<Vec<FiredRow>> {
        let text = format!(
            "SELECT {COLUMNS} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ? AND instance_name = ? ORDER BY sched_time, entry_id"
        );
        let rows: Vec<Row> = self.load(&text, &[self.name(), instance.into()])?;
        Ok(rows.into_iter().map(FiredRow::from).collect())
    }

    fn executing_of_triggers(&mut self, triggers: &[(TriggerKey, JobKey)]) -> Result<Vec<FiredRow>> {
        self.load_executing(triggers)
    }

    fn executing_of_job(&mut self, job: &JobKey) -> Result<Vec<FiredRow>> {
        self.load_executing_of_job(job)
    }

    fn reserved_triggers(&mut self) -> Result<Vec<TriggerKey>> {
        let text = "SELECT trigger_name AS trigger_name, trigger_group AS trigger_group FROM {p}FIRED_TRIGGERS \
             WHERE sched_name = ? AND state = 'ACQUIRED'";
        let rows: Vec<KeyRow> = self.load(text, &[self.name()])?;
        Ok(rows.into_iter().map(TriggerKey::from).collect())
    }

    fn executing_jobs(&mut self, jobs: &[JobKey]) -> Result<Vec<(JobKey, bool)>> {
        self.load_executing_jobs(jobs)
    }

    fn instances_with_fires(&mut self) -> Result<Vec<String>> {
        let text = "SELECT DISTINCT instance_name AS name FROM {p}FIRED_TRIGGERS WHERE sched_name = ?";
        let rows: Vec<NameRow> = self.load(text, &[self.name()])?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    }

    fn draw_fences(&mut self, owner: Option<&Owner>, count: usize) -> Result<Option<i64>> {
        let registered = match owner {
            Some(_) => {
                " AND EXISTS (SELECT 1 FROM {p}CN_INSTANCES i JOIN {p}SCHEDULER_STATE st \
                 ON st.sched_name = i.sched_name AND st.instance_name = i.instance_name \
                 WHERE i.sched_name = {p}CN_FENCES.sched_name AND i.instance_name = ? AND i.incarnation = ?)"
            }
            None => "",
        };
        let of_owner: Vec<Value> =
            owner.iter().flat_map(|o| [Value::from(&o.instance), Value::from(&o.incarnation)]).collect();
        if count == 0 {
            let text = format!("SELECT fence AS n FROM {{p}}CN_FENCES WHERE sched_name = ?{registered}");
            let values: Vec<Value> = [self.name()].into_iter().chain(of_owner).collect();
            return Ok(self.load::<Count>(&text, &values)?.first().map(|row| row.n));
        }
        let count = i64::try_from(count).unwrap_or(i64::MAX);
        let last = match self.known_fence() {
            // Read with the lock, and held since: nobody has drawn one in between.
            Some(fence) => {
                self.fences().are_behind(fence, self.fences().largest());
                let last = fence.max(self.fences().largest()).saturating_add(count);
                let values: Vec<Value> = [last.into(), self.name()].into_iter().chain(of_owner).collect();
                let text = format!("UPDATE {{p}}CN_FENCES SET fence = ? WHERE sched_name = ?{registered}");
                (self.execute(&text, &values)? > 0).then(|| self.know_fence(last)).map(|()| last)
            }
            None => match self.draw_unless_behind(registered, &of_owner, count)? {
                Some(last) => Some(last),
                None if self.catch_up()? => self.draw_unless_behind(registered, &of_owner, count)?,
                None => None,
            },
        };
        match (last, owner) {
            (Some(last), _) => {
                self.note_drawn(last);
                Ok(Some(last - count + 1))
            }
            (None, Some(_)) => Ok(None),
            (None, None) => {
                Err(Error::Schema("the scheduler's row in CN_FENCES is missing: run `carnelian migrate`".to_owned()))
            }
        }
    }

    fn raise_fence(&mut self, to: i64) -> Result<()> {
        let text = "UPDATE {p}CN_FENCES SET fence = ? WHERE sched_name = ? AND fence < ?";
        self.execute(text, &[to.into(), self.name(), to.into()]).map(drop)
    }

    fn recovered_origins(&mut self, fire_ids: &[String]) -> Result<Vec<String>> {
        let head = "SELECT origin_fire_id AS name FROM {p}CN_RECOVERIES WHERE sched_name = ? AND";
        let rows: Vec<NameRow> = self.load_for_keys(head, &[self.name()], &["origin_fire_id"], &texts(fire_ids))?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    }

    fn roots_underway(&mut self, fire_ids: &[String]) -> Result<Vec<String>> {
        let head = "SELECT DISTINCT root_fire_id AS name FROM {p}CN_RECOVERIES WHERE sched_name = ? AND";
        let rows: Vec<NameRow> = self.load_for_keys(head, &[self.name()], &["root_fire_id"], &texts(fire_ids))?;
        Ok(rows.into_iter().map(|row| row.name).collect())
    }

    fn recoveries(&mut self, triggers: &[TriggerKey]) -> Result<Vec<RecoveryRow>> {
        let head = "SELECT trigger_name AS trigger_name, trigger_group AS trigger_group, origin_fire_id AS origin_fire_id, \
     root_fire_id AS root_fire_id, original_sched_ms AS original_sched_ms, attempt AS attempt, \
     takeovers AS takeovers FROM {p}CN_RECOVERIES WHERE sched_name = ? AND";
        let key = ["trigger_name", "trigger_group"];
        let rows: Vec<RecoveryColumns> = self.load_for_keys(head, &[self.name()], &key, &trigger_keys(triggers))?;
        Ok(rows.into_iter().map(RecoveryRow::from).collect())
    }

    fn delete_recoveries(&mut self, triggers: &[TriggerKey]) -> Result<()> {
        self.assert_trigger_access();
        self.delete_rows("CN_RECOVERIES", &BARE_KEY, &trigger_keys(triggers), "").map(drop)
    }

    fn insert_recoveries(&mut self, rows: &[RecoveryRow]) -> Result<()> {
        self.assert_trigger_access();
        let columns = [
            "origin_fire_id",
            "trigger_name",
            "trigger_group",
            "root_fire_id",
            "original_sched_ms",
            "attempt",
            "takeovers",
        ];
        let row = |row: &RecoveryRow| {
            vec![
                (&row.origin_fire_id).into(),
                row.trigger.name().into(),
                row.trigger.group().into(),
                (&row.root_fire_id).into(),
                row.original_scheduled_ms.into(),
                row.attempt.into(),
                row.takeovers.into(),
            ]
        };
        self.insert_rows("CN_RECOVERIES", &columns, rows.iter().map(row).collect())
    }
}

impl SqlSession<'_, '_> {
    /// Draws so many fences and gives the last; none if the owner is not registered, or the stored
    /// fence is smaller than it can be. So it takes no further statement to notice that.
    fn draw_unless_behind(&mut self, registered: &str, owner: &[Value], count: i64) -> Result<Option<i64>> {
        let mut values = vec![count.into(), self.name(), self.fences().largest().into()];
        values.extend_from_slice(owner);
        let condition = format!("WHERE sched_name = ? AND fence >= ?{registered}");
        if dialect::returns_updated(self.backend()) {
            let text = format!("UPDATE {{p}}CN_FENCES SET fence = fence + ? {condition} RETURNING fence AS n");
            return Ok(self.load::<Count>(&text, &values)?.first().map(|row| row.n));
        }
        let text = format!("UPDATE {{p}}CN_FENCES SET fence = LAST_INSERT_ID(fence + ?) {condition}");
        match self.execute(&text, &values)? {
            0 => Ok(None),
            _ => Ok(Some(self.count("SELECT CAST(LAST_INSERT_ID() AS SIGNED) AS n", &[])?)),
        }
    }

    /// Raises the stored fence to the largest that is known here; false if it was not behind.
    fn catch_up(&mut self) -> Result<bool> {
        let largest = self.fences().largest();
        let Some(stored) = self.draw_fences(None, 0)? else { return Ok(false) };
        let is_behind = self.fences().are_behind(stored, largest);
        if is_behind {
            self.raise_fence(self.fences().largest())?;
        }
        Ok(is_behind)
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => text.clone(),
        _ => None,
    }
}
