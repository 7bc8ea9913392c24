//! The counters of changes, in maps.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::ChangeRows;
use crate::store::row::{LAST_COUNT, Notification};

impl ChangeRows for MemorySession<'_> {
    fn notify(&mut self, what: Notification) -> Result<()> {
        if self.notified.contains(&what) {
            return Ok(());
        }
        self.notified.push(what);
        self.reads()?;
        let (changes, cancels) = self.tables.changes.get(&()).copied().unwrap_or_default();
        let next = |count: i64| if count >= LAST_COUNT { 1 } else { count + 1 };
        let counters = match what {
            Notification::Change => (next(changes), cancels),
            Notification::Cancel => (changes, next(cancels)),
        };
        self.tables.changes.put((), counters);
        Ok(())
    }
}
