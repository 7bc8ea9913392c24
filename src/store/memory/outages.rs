//! Outages and the recovery mode in maps.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::OutageRows;
use crate::store::row::{Outage, RecoveryModeRow};

impl OutageRows for MemorySession<'_> {
    fn recovery_mode(&mut self) -> Result<Option<RecoveryModeRow>> {
        self.reads()?;
        Ok(self.tables.recovery_mode.get(&()).cloned())
    }

    fn put_recovery_mode(&mut self, row: &RecoveryModeRow) -> Result<()> {
        self.reads()?;
        self.tables.recovery_mode.put((), row.clone());
        Ok(())
    }

    fn note_seen(&mut self, seen_ms: i64) -> Result<()> {
        self.reads()?;
        self.tables.recovery_mode.change(&(), |row| row.last_seen_ms = row.last_seen_ms.max(seen_ms));
        Ok(())
    }

    fn outages(&mut self, most: usize) -> Result<Vec<Outage>> {
        self.reads()?;
        let mut all: Vec<Outage> = self.tables.outages.values().cloned().collect();
        all.sort_by_key(|outage| std::cmp::Reverse(outage.ended_ms));
        all.truncate(most);
        Ok(all)
    }

    fn insert_outage(&mut self, outage: &Outage) -> Result<()> {
        self.reads()?;
        self.tables.outages.put(outage.ended_ms, outage.clone());
        Ok(())
    }

    fn forget_outages(&mut self, before_ms: i64) -> Result<usize> {
        self.reads()?;
        Ok(self.tables.outages.remove_if(|_, outage| outage.ended_ms < before_ms))
    }
}
