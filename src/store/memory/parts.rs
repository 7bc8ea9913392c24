//! Parts of spread ticks among the triggers in maps.

use super::MemorySession;
use crate::error::Result;
use crate::key::{BROADCAST_GROUP, TriggerKey};
use crate::store::database::PartRows;

impl PartRows for MemorySession<'_> {
    fn parts(&mut self, prefix: &str) -> Result<Vec<TriggerKey>> {
        self.reads()?;
        let is_one = |key: &TriggerKey| key.group() == BROADCAST_GROUP && key.name().starts_with(prefix);
        Ok(self.select(|trigger| is_one(&trigger.key)).into_iter().map(|row| row.key).collect())
    }
}
