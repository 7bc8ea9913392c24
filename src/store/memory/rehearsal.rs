//! `MemoryBackup` and `HeldRows`: what tests do to a database in memory that happens to servers.

use super::MemoryDatabase;
use super::tables::Tables;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// The rows of a database as they were.
pub struct MemoryBackup(Tables);

impl fmt::Debug for MemoryBackup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBackup").finish_non_exhaustive()
    }
}

/// The fired rows that transactions of callers hold.
#[derive(Debug, Default)]
pub(super) struct HeldRows(Mutex<BTreeSet<String>>);

impl HeldRows {
    pub(super) fn has(&self, id: &str) -> bool {
        self.0.lock().contains(id)
    }
}

impl MemoryDatabase {
    /// The same rows as another process sees them: its faults and the fences that it knows are its
    /// own.
    pub fn beside(&self) -> Self {
        Self { held: Arc::clone(&self.held), ..Self::over(Arc::clone(&self.clock), Arc::clone(&self.tables)) }
    }

    /// The rows as they are now.
    pub fn backup(&self) -> MemoryBackup {
        MemoryBackup(self.tables.lock().clone())
    }

    /// The rows are again what they were: what was committed since is lost.
    pub fn put_back(&self, backup: MemoryBackup) {
        *self.tables.lock() = backup.0;
    }

    /// A transaction holds a fired row. Who wants to delete the row waits in vain, or passes over it.
    pub fn hold(&self, fire_id: &str) {
        self.held.0.lock().insert(fire_id.to_owned());
    }

    /// The end of that transaction.
    pub fn let_go(&self, fire_id: &str) {
        self.held.0.lock().remove(fire_id);
    }
}
