//! What recoveries take, and parked work, in maps.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::{FiredRows, RecoveryRows};
use crate::store::row::FiredRow;

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
}
