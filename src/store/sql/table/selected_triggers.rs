//! `TRIGGERS`, the rows that a selection names.

use super::trigger_row::quoted;
use super::triggers::KEY;
use super::waiting::{misfired, order_of_misfired};
use super::{job_keys, texts, trigger_keys};
use crate::error::Result;
use crate::key::BROADCAST_GROUP;
use crate::store::row::TriggerSelection;
use crate::store::sql::backend::Backend;
use crate::store::sql::connection::Readable;
use crate::store::sql::session::SqlSession;

const BY_KEY: &str = "ORDER BY t.trigger_group, t.trigger_name";

impl SqlSession<'_, '_> {
    /// The triggers `t` of a selection, by a query up to its conditions.
    pub(super) fn load_selected<R: Readable>(&mut self, head: &str, which: TriggerSelection<'_>) -> Result<Vec<R>> {
        let (conditions, further) = match which {
            TriggerSelection::All => (format!("t.sched_name = ? {BY_KEY}"), Vec::new()),
            TriggerSelection::Keys(keys) => {
                let head = format!("{head} t.sched_name = ? AND");
                return self.load_for_keys(&head, &[self.name()], &KEY, &trigger_keys(keys), "");
            }
            TriggerSelection::OfJob(job) => (
                format!("t.sched_name = ? AND t.job_name = ? AND t.job_group = ? {BY_KEY}"),
                vec![job.name().into(), job.group().into()],
            ),
            TriggerSelection::OfJobs(jobs) => {
                let head = format!("{head} t.sched_name = ? AND");
                return self.load_for_keys(&head, &[self.name()], &["t.job_name", "t.job_group"], &job_keys(jobs), "");
            }
            TriggerSelection::OfGroups(groups) => {
                let head = format!("{head} t.sched_name = ? AND");
                return self.load_for_keys(&head, &[self.name()], &["t.trigger_group"], &texts(groups), "");
            }
            TriggerSelection::OfCalendar(name) => {
                (format!("t.sched_name = ? AND t.calendar_name = ? {BY_KEY}"), vec![name.into()])
            }
            TriggerSelection::Parts(prefix) => (
                "t.sched_name = ? AND t.trigger_group = ? AND t.trigger_name LIKE ? ORDER BY t.trigger_name".to_owned(),
                vec![BROADCAST_GROUP.into(), (&format!("{prefix}%")).into()],
            ),
            TriggerSelection::FreeWaiting(triggers) => {
                let held = self.hold_free_rows(triggers)?;
                return self.load_selected(head, TriggerSelection::Keys(&held));
            }
            TriggerSelection::Due(query) => {
                let keys = self.due_keys(query)?;
                return self.load_selected(head, TriggerSelection::Keys(&keys));
            }
            TriggerSelection::Waiting(from_ms, until_ms, limit) => (
                "t.sched_name = ? AND t.trigger_state = 'WAITING' AND t.next_fire_time >= ? AND t.next_fire_time <= ? \
                 ORDER BY t.next_fire_time LIMIT ?"
                    .to_owned(),
                vec![from_ms.into(), until_ms.into(), limit.into()],
            ),
            TriggerSelection::InStates(states, limit) => {
                let states = quoted(states.iter().copied());
                // The index of the audit has this collation, and no other has: nothing else is
                // to be looked up there.
                let collation = if self.backend() == Backend::Postgres { " COLLATE \"C\"" } else { "" };
                (format!("t.sched_name = ? AND t.trigger_state{collation} IN ({states}) LIMIT ?"), vec![limit.into()])
            }
            TriggerSelection::Misfired { before_ms, order, limit, offset } => (
                format!("{} ORDER BY {} LIMIT ? OFFSET ?", misfired("?"), order_of_misfired(order)),
                vec![before_ms.into(), limit.into(), offset.into()],
            ),
        };
        self.load(&format!("{head} {conditions}"), &[vec![self.name()], further].concat())
    }
}
