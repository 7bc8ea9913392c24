//! `MemoryBackup`: what happens to servers, done to a database in memory by tests.

use super::MemoryDatabase;
use super::tables::Tables;
use std::fmt;
use std::sync::Arc;

/// The rows of a database as they were.
pub struct MemoryBackup(Tables);

impl fmt::Debug for MemoryBackup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryBackup").finish_non_exhaustive()
    }
}

impl MemoryDatabase {
    /// A database of the same rows as another process has it: with faults of its own, and fences
    /// that it knows.
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

    /// A transaction holds a fired row: who wants to delete the row waits in vain, or passes over
    /// it.
    pub fn hold(&self, fire_id: &str) {
        self.held.add(fire_id);
    }

    /// The end of that transaction.
    pub fn let_go(&self, fire_id: &str) {
        self.held.remove(fire_id);
    }
}
