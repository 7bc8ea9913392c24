//! What recoveries take, and parked work, in maps.

use super::MemorySession;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::database::{FiredRows, RecoveryRows};
use crate::store::row::{FiredRow, Parked};
use crate::trigger::TriggerState;

impl RecoveryRows for MemorySession<'_> {
    /// One session writes at a time: nobody else holds a row.
    fn free_fired(&mut self, ids: &[String]) -> Result<Vec<String>> {
        Ok(self.existing_fired(ids)?.into_iter().map(|(id, _)| id).collect())
    }

    fn free_fired_of_instance(&mut self, instance: &str, most: usize) -> Result<Vec<FiredRow>> {
        let mut rows = self.fired_of_instance(instance)?;
        rows.truncate(most);
        Ok(rows)
    }

    fn put_parked(&mut self, parked: &[Parked]) -> Result<()> {
        self.changes()?;
        for row in parked {
            self.tables.parked.put(row.key.clone(), row.clone());
        }
        Ok(())
    }

    fn parked(&mut self) -> Result<Vec<Parked>> {
        self.reads()?;
        let mut rows = Vec::new();
        for row in self.tables.parked.values() {
            let trigger = self.tables.triggers.get(&row.key).filter(|t| t.state == TriggerState::Error.name());
            rows.extend(trigger.map(|trigger| Parked { job: trigger.job.clone(), ..row.clone() }));
        }
        rows.sort_by(|a, b| (a.since_ms, &a.key).cmp(&(b.since_ms, &b.key)));
        Ok(rows)
    }

    fn delete_parked(&mut self, triggers: &[TriggerKey]) -> Result<()> {
        self.changes()?;
        triggers.iter().for_each(|key| drop(self.tables.parked.remove(key)));
        Ok(())
    }
}
