//! `FIRED_TRIGGERS` and its side table `CN_FENCES`.

use super::executing::{job_executes, job_executes_alone};
use super::fired_row::{EntryId, Row, WRITTEN, columns, values};
use super::{BARE_KEY, JOB_KEY, converted, job_keys, texts, trigger_keys};
use crate::error::{Error, Result};
use crate::key::{JobKey, TriggerKey};
use crate::rules::strategy::is_rerun;
use crate::store::database::{EndingTriggers, FiredRows, Owner, Session};
use crate::store::row::{EndRow, FiredRow, FiredSelection, FiredState, ReservationSelection};
use crate::store::sql::backend::Backend;
use crate::store::sql::bulk::{and_guard, by_primary_key, transpose};
use crate::store::sql::by_place::by_place;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::{Count, Value};
use crate::trigger::TriggerState;
use diesel::sql_types::{BigInt, Text};

by_place! {
    struct Begun {
        triggers: i64 as BigInt,
        simple: i64 as BigInt,
    }
}

by_place! {
    struct ExecutingJob {
        job_name: String as Text,
        job_group: String as Text,
        alone: i64 as BigInt,
    }
}

/// The reservations of nodes of ours other than one, by the index of reservations: a planner that
/// sees a join, or a condition that it may turn into one, may begin with the nodes and go through
/// all that they execute. The values are the scheduler's name and the node.
pub(super) const RESERVED_BY_OTHERS: &str = "FROM {p}FIRED_TRIGGERS f WHERE f.sched_name = ? AND f.state = 'ACQUIRED' \
     AND f.instance_name <> ? AND (SELECT COUNT(*) FROM {p}CN_INSTANCES i WHERE i.sched_name = f.sched_name \
     AND i.instance_name = f.instance_name) > 0";

impl FiredRows for SqlSession<'_, '_> {
    fn fired(&mut self, which: FiredSelection<'_>) -> Result<Vec<FiredRow>> {
        let of = |tail: &str| format!("SELECT {} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ?{tail}", columns());
        let limited = |limit: usize| Value::from(i64::try_from(limit).unwrap_or(i64::MAX));
        let name = self.name();
        let rows: Vec<Row> = match which {
            FiredSelection::All => self.load(&of(" ORDER BY fired_time, entry_id"), &[name]),
            FiredSelection::Behind(fired_ms, id, limit) => {
                let tail = " AND (fired_time > ? OR (fired_time = ? AND entry_id > ?)) \
                     ORDER BY fired_time, entry_id LIMIT ?";
                self.load(&of(tail), &[name, fired_ms.into(), fired_ms.into(), id.into(), limited(limit)])
            }
            FiredSelection::Ids(ids) => self.load_for_keys(&of(" AND"), &[name], &["entry_id"], &texts(ids), ""),
            FiredSelection::FreeIds(ids) => {
                let tail = self.hold_free()?;
                self.load_for_keys(&of(" AND"), &[name], &["entry_id"], &texts(ids), tail)
            }
            FiredSelection::Held(id) => {
                let shared = match self.writes_locks()? {
                    // A row that was written is shared with nobody.
                    true => self.execute(dialect::WRITE_FIRE, &[name.clone(), id.into()]).map(|_| "")?,
                    false => dialect::share_lock(self.backend()),
                };
                self.load(&of(&format!(" AND entry_id = ?{shared}")), &[name, id.into()])
            }
            FiredSelection::OfInstance(instance) => {
                self.load(&of(" AND instance_name = ? ORDER BY sched_time, entry_id"), &[name, instance.into()])
            }
            FiredSelection::FreeOfInstance(instance, limit) => {
                let tail = format!(" AND instance_name = ? ORDER BY sched_time, entry_id LIMIT ?{}", self.hold_free()?);
                self.load(&of(&tail), &[name, instance.into(), limited(limit)])
            }
            FiredSelection::Acquired => self.load(&of(" AND state = 'ACQUIRED'"), &[name]),
            FiredSelection::AcquiredByQuartz(triggers) => {
                let head = of(" AND state = 'ACQUIRED' AND NOT EXISTS (SELECT 1 FROM {p}CN_INSTANCES i \
                     WHERE i.sched_name = {p}FIRED_TRIGGERS.sched_name \
                     AND i.instance_name = {p}FIRED_TRIGGERS.instance_name) AND");
                self.load_for_keys(&head, &[name], &BARE_KEY, &trigger_keys(triggers), "")
            }
            FiredSelection::Overdue { instance, before_ms, limit } => {
                self.assert_trigger_access();
                let late = "AND f.sched_time < ? ORDER BY f.sched_time LIMIT ?";
                let text = format!("SELECT {} {RESERVED_BY_OTHERS} {late}", columns());
                self.load(&text, &[name, instance.into(), before_ms.into(), limited(limit)])
            }
            FiredSelection::ExecutingOfTriggers(triggers) => self.load_executing(triggers),
            FiredSelection::ExecutingOfJob(job) => self.load_executing_of_job(job),
        }?;
        Ok(converted(rows))
    }

    fn insert_fired(&mut self, rows: Vec<FiredRow>, ending: &EndingTriggers) -> Result<usize> {
        self.assert_trigger_access();
        // Nearly always they end from one state, and are simple. Quartz's tables have foreign keys,
        // which hold at the end of each statement: it deletes no rows of other kinds.
        if let (Backend::Postgres, Some((state, triggers)), 1) =
            (self.backend(), ending.first_key_value(), ending.len())
            && !rows.is_empty()
            && triggers.iter().all(|ending| ending.is_simple && !is_rerun(&ending.key))
        {
            let keys: Vec<TriggerKey> = triggers.iter().map(|ending| ending.key.clone()).collect();
            return self.begin_last_fires(&keys, *state, &rows);
        }
        let mut ended = 0;
        for (state, triggers) in ending {
            ended += self.delete_ending_triggers(triggers, *state)?;
        }
        self.insert_rows("FIRED_TRIGGERS", WRITTEN, rows.iter().map(values).collect())?;
        Ok(ended)
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
        self.update_rows("FIRED_TRIGGERS", &["entry_id"], &["state"], WRITTEN, &rows)
    }

    fn delete_fired(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        self.assert_trigger_access();
        if !ids.is_empty() && !ends.is_empty() {
            return self.move_to_history(ids, ends);
        }
        let ids = texts(ids);
        if dialect::returns_updated(self.backend()) {
            let deleted: Vec<EntryId> = match self.backend() {
                Backend::Postgres => {
                    let found = by_primary_key(&["entry_id"], 1);
                    let text =
                        format!("DELETE FROM {{p}}FIRED_TRIGGERS AS t USING {found} RETURNING t.entry_id AS entry_id");
                    self.load(&text, &[self.name(), Value::Texts(ids.iter().flatten().map(text_of).collect())])?
                }
                _ => {
                    let head = "DELETE FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND";
                    let tail = " RETURNING entry_id AS entry_id";
                    self.load_for_keys(head, &[self.name()], &["entry_id"], &ids, tail)?
                }
            };
            return Ok(deleted.into_iter().map(|row| row.entry_id).collect());
        }
        if let [_] = ids.as_slice() {
            let deleted = self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &ids, "")?;
            return Ok(ids.into_iter().flatten().filter_map(|id| text_of(&id)).take(deleted).collect());
        }
        // Under the lock nobody else deletes: what is there now is what the DELETE takes.
        let head = "SELECT entry_id AS entry_id FROM {p}FIRED_TRIGGERS WHERE sched_name = ? AND";
        let there: Vec<EntryId> = self.load_for_keys(head, &[self.name()], &["entry_id"], &ids, "")?;
        self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &ids, "")?;
        Ok(there.into_iter().map(|row| row.entry_id).collect())
    }

    fn delete_reserved(&mut self, which: ReservationSelection<'_>) -> Result<usize> {
        let name = self.name();
        match which {
            ReservationSelection::Triggers(keys) => self.delete_ours("", &[name], &BARE_KEY, &trigger_keys(keys), ""),
            ReservationSelection::BlockedOf(jobs) => {
                let head = "(trigger_name, trigger_group) IN (SELECT t.trigger_name, t.trigger_group \
                     FROM {p}TRIGGERS t WHERE t.sched_name = ? \
                     AND t.trigger_state IN ('BLOCKED', 'PAUSED_BLOCKED') AND";
                self.delete_ours(head, &[name.clone(), name], &["t.job_name", "t.job_group"], &job_keys(jobs), ")")
            }
        }
    }

    fn executing_jobs(&mut self, jobs: &[JobKey]) -> Result<Vec<(JobKey, bool)>> {
        let (executes, alone) = (job_executes(self.backend(), "j"), job_executes_alone(self.backend(), "j"));
        let head = format!(
            "SELECT j.job_name AS job_name, j.job_group AS job_group, {alone} AS alone FROM {{p}}JOB_DETAILS j \
             WHERE {executes} > 0 AND j.sched_name = ? AND"
        );
        let rows: Vec<ExecutingJob> = self.load_for_keys(&head, &[self.name()], &JOB_KEY, &job_keys(jobs), "")?;
        Ok(rows.into_iter().map(|row| (JobKey::new(row.job_group, row.job_name), row.alone > 0)).collect())
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
        let last = match self.known_fence {
            // Read with the lock, and held since: who has drawn one in between did so on another
            // member of a cluster of databases, and this transaction is not committed.
            Some(fence) => {
                self.is_behind(fence, self.fences().largest());
                let last = fence.max(self.fences().largest()).saturating_add(count);
                let values: Vec<Value> = [last.into(), self.name()].into_iter().chain(of_owner).collect();
                let text = format!("UPDATE {{p}}CN_FENCES SET fence = ? WHERE sched_name = ?{registered}");
                if self.execute(&text, &values)? > 0 {
                    self.known_fence = Some(last);
                    Some(last)
                } else {
                    None
                }
            }
            None => match self.draw_unless_behind(registered, &of_owner, count)? {
                Some(last) => Some(last),
                None if self.catch_up()? => self.draw_unless_behind(registered, &of_owner, count)?,
                None => None,
            },
        };
        match (last, owner) {
            (Some(last), _) => {
                self.drawn = last;
                Ok(Some(last - count + 1))
            }
            (None, Some(_)) => Ok(None),
            (None, None) => {
                Err(Error::Schema("the scheduler's row in CN_FENCES is missing: run `carnelian migrate`".to_owned()))
            }
        }
    }
}

impl SqlSession<'_, '_> {
    /// Writes new fired rows and deletes the triggers of a state that end with them, which were
    /// just read, in one statement of PostgreSQL; returns how many triggers there were.
    fn begin_last_fires(&mut self, keys: &[TriggerKey], in_state: TriggerState, fires: &[FiredRow]) -> Result<usize> {
        let found = by_primary_key(&BARE_KEY, 2);
        let guard = and_guard(&format!("t.trigger_state = '{}'", in_state.name()));
        let marks = vec!["?"; WRITTEN.len()].join(", ");
        let text = format!(
            "WITH gone AS (DELETE FROM {{p}}TRIGGERS AS t USING {found}{guard} RETURNING 1), \
             simple AS (DELETE FROM {{p}}SIMPLE_TRIGGERS AS t USING {found} RETURNING 1), \
             begun AS (INSERT INTO {{p}}FIRED_TRIGGERS (sched_name, {}) SELECT ?, v.* FROM unnest({marks}) AS v) \
             SELECT (SELECT count(*) FROM gone) AS triggers, (SELECT count(*) FROM simple) AS simple",
            WRITTEN.join(", "),
        );
        let rows = trigger_keys(keys);
        let mut all = Vec::new();
        for _ in 0..2 {
            all.push(self.name());
            all.extend(transpose(rows.clone(), 2));
        }
        all.push(self.name());
        all.extend(transpose(fires.iter().map(values).collect(), WRITTEN.len()));
        let begun: Vec<Begun> = self.load(&text, &all)?;
        let count = |of: fn(&Begun) -> i64| begun.first().map_or(0, |row| usize::try_from(of(row)).unwrap_or(0));
        if count(|row| row.simple) < keys.len() {
            self.delete_schedules(&rows, true)?;
        }
        Ok(count(|row| row.triggers))
    }

    /// Deletes the reservations of nodes of ours that a condition finds: its head, the values up to
    /// its keys, the keys with their rows, and its tail.
    fn delete_ours(
        &mut self,
        head: &str,
        before: &[Value],
        keys: &[&str],
        rows: &[Vec<Value>],
        tail: &str,
    ) -> Result<usize> {
        self.assert_trigger_access();
        let ours = format!(
            "FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ? AND state = 'ACQUIRED' AND EXISTS (SELECT 1 \
             FROM {{p}}CN_INSTANCES i WHERE i.sched_name = {{p}}FIRED_TRIGGERS.sched_name \
             AND i.instance_name = {{p}}FIRED_TRIGGERS.instance_name) AND {head}"
        );
        if self.backend() != Backend::Mysql {
            return self.execute_for_keys(&format!("DELETE {ours}"), before, keys, rows, tail);
        }
        // A DELETE would wait for every row that it goes through, also for one that a job's
        // transaction holds.
        let head = format!("SELECT entry_id AS entry_id {ours}");
        let found: Vec<EntryId> = self.load_for_keys(&head, before, keys, rows, tail)?;
        let ids: Vec<Vec<Value>> = found.into_iter().map(|row| vec![(&row.entry_id).into()]).collect();
        if ids.is_empty() { Ok(0) } else { self.delete_rows("FIRED_TRIGGERS", &["entry_id"], &ids, "") }
    }
}

impl SqlSession<'_, '_> {
    /// Draws so many fences and gives the last; none if the owner is not registered, or the stored
    /// fence is smaller than it can be. The statement that draws finds that out itself, without a
    /// further one.
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
        let is_behind = self.is_behind(stored, largest);
        if is_behind {
            let largest = self.fences().largest();
            let session: &mut dyn Session = self;
            session.raise_fence(largest)?;
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
