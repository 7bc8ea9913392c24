//! `FIRED_TRIGGERS`, the rows that a selection names.

use super::fired_row::{COLUMNS, Row};
use super::{BARE_KEY, texts, trigger_keys};
use crate::error::Result;
use crate::store::row::FiredSelection;
use crate::store::sql::dialect;
use crate::store::sql::session::SqlSession;
use crate::store::sql::statement::Value;

/// The reservations of nodes of ours other than one, by the index of reservations: a planner that
/// sees a join, or a condition that it may turn into one, may begin with the nodes and go through
/// all that they execute. The values are the scheduler's name and the node.
pub(super) const RESERVED_BY_OTHERS: &str = "FROM {p}FIRED_TRIGGERS f WHERE f.sched_name = ? AND f.state = 'ACQUIRED' \
     AND f.instance_name <> ? AND (SELECT COUNT(*) FROM {p}CN_INSTANCES i WHERE i.sched_name = f.sched_name \
     AND i.instance_name = f.instance_name) > 0";

impl SqlSession<'_, '_> {
    /// See [`FiredRows::fired`](crate::store::FiredRows::fired).
    pub(super) fn load_fired(&mut self, which: FiredSelection<'_>) -> Result<Vec<Row>> {
        let of = |tail: &str| format!("SELECT {COLUMNS} FROM {{p}}FIRED_TRIGGERS WHERE sched_name = ?{tail}");
        let limited = |limit: usize| Value::from(i64::try_from(limit).unwrap_or(i64::MAX));
        let name = self.name();
        let (text, values) = match which {
            FiredSelection::All => (of(" ORDER BY fired_time, entry_id"), vec![name]),
            FiredSelection::Ids(ids) => {
                return self.load_for_keys(&of(" AND"), &[name], &["entry_id"], &texts(ids));
            }
            FiredSelection::FreeIds(ids) => {
                let tail = self.hold_free()?;
                return self.load_for_keys_and(&of(" AND"), &[name], &["entry_id"], &texts(ids), tail);
            }
            FiredSelection::Held(id) => {
                let tail = format!(" AND entry_id = ?{}", dialect::share_lock(self.backend()));
                (of(&tail), vec![name, id.into()])
            }
            FiredSelection::OfInstance(instance) => {
                (of(" AND instance_name = ? ORDER BY sched_time, entry_id"), vec![name, instance.into()])
            }
            FiredSelection::FreeOfInstance(instance, limit) => {
                let tail = format!(" AND instance_name = ? ORDER BY sched_time, entry_id LIMIT ?{}", self.hold_free()?);
                (of(&tail), vec![name, instance.into(), limited(limit)])
            }
            FiredSelection::Acquired => (of(" AND state = 'ACQUIRED'"), vec![name]),
            FiredSelection::AcquiredByQuartz(triggers) => {
                let head = of(" AND state = 'ACQUIRED' AND NOT EXISTS (SELECT 1 FROM {p}CN_INSTANCES i \
                     WHERE i.sched_name = {p}FIRED_TRIGGERS.sched_name \
                     AND i.instance_name = {p}FIRED_TRIGGERS.instance_name) AND");
                return self.load_for_keys(&head, &[name], &BARE_KEY, &trigger_keys(triggers));
            }
            FiredSelection::Overdue { instance, before_ms, limit } => {
                self.assert_trigger_access();
                let text =
                    format!("SELECT {COLUMNS} {RESERVED_BY_OTHERS} AND f.sched_time < ? ORDER BY f.sched_time LIMIT ?");
                (text, vec![name, instance.into(), before_ms.into(), limited(limit)])
            }
            FiredSelection::ExecutingOfTriggers(triggers) => return self.load_executing(triggers),
            FiredSelection::ExecutingOfJob(job) => return self.load_executing_of_job(job),
        };
        self.load(&text, &values)
    }
}
