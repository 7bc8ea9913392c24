//! Parked work in a session.

use super::session::Session;
use crate::epoch::moment;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{Parked, ParkedRow, TriggerSelection};
use crate::trigger::TriggerState;
use std::collections::BTreeMap;

impl dyn Session + '_ {
    /// Notes that these triggers are parked, in the place of what was noted of them before.
    pub fn put_parked(&mut self, parked: &[Parked]) -> Result<()> {
        let row = |parked: &Parked| ParkedRow {
            trigger: parked.key.clone(),
            fire_id: parked.fire_id.clone(),
            reason: parked.reason.clone(),
            takeovers: parked.takeovers,
            since_ms: parked.since.timestamp_millis(),
        };
        self.put_all(&parked.iter().map(row).collect::<Vec<_>>())
    }

    /// The parked work whose trigger is still there in `ERROR`, in the order in which it was
    /// parked.
    pub fn parked(&mut self) -> Result<Vec<Parked>> {
        let rows: Vec<ParkedRow> = self.rows().list()?;
        let mut parked = self.parked_of(rows)?;
        parked.sort_by(|a, b| (a.since, a.key.group(), a.key.name()).cmp(&(b.since, b.key.group(), b.key.name())));
        Ok(parked)
    }

    /// The work of a trigger, if it is parked.
    pub fn parked_work(&mut self, key: &TriggerKey) -> Result<Option<Parked>> {
        let rows = self.rows().with("trigger", key).list()?;
        Ok(self.parked_of(rows)?.pop())
    }

    /// The parked work of these rows, in their order, as far as the trigger is still there in
    /// `ERROR`.
    pub fn parked_of(&mut self, rows: Vec<ParkedRow>) -> Result<Vec<Parked>> {
        if rows.is_empty() {
            return Ok(Vec::new());
        }
        let keys: Vec<TriggerKey> = rows.iter().map(|row| row.trigger.clone()).collect();
        let triggers = self.triggers(TriggerSelection::Keys(&keys))?.into_iter();
        let triggers = triggers.filter(|trigger| trigger.state == TriggerState::Error.name());
        let mut jobs: BTreeMap<TriggerKey, JobKey> = triggers.map(|trigger| (trigger.key, trigger.job)).collect();
        let parked = |row: ParkedRow| {
            let ParkedRow { trigger: key, fire_id, reason, takeovers, since_ms } = row;
            let since = moment(since_ms);
            jobs.remove(&key).map(|job| Parked { key, job, fire_id, reason, takeovers, since })
        };
        Ok(rows.into_iter().filter_map(parked).collect())
    }
}
