//! Locks of the application in a map.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::LockRows;
use crate::store::row::LockRow;

impl LockRows for MemorySession<'_> {
    fn locks(&mut self) -> Result<Vec<LockRow>> {
        self.reads()?;
        Ok(self.tables.locks.values().cloned().collect())
    }

    fn lock_row(&mut self, name: &str) -> Result<Option<LockRow>> {
        self.reads()?;
        Ok(self.tables.locks.get(name).cloned())
    }

    fn take_lock(&mut self, row: &LockRow) -> Result<()> {
        self.reads()?;
        if self.tables.locks.get(&row.name).is_some_and(|held| held.expires_ms > row.taken_ms) {
            return Err(self.duplicate("lock", &row.name));
        }
        self.tables.locks.put(row.name.clone(), row.clone());
        Ok(())
    }

    fn renew_locks(&mut self, locks: &[(String, String)], now_ms: i64) -> Result<usize> {
        self.reads()?;
        let mut renewed = 0;
        for (name, holder) in locks {
            if self.tables.locks.get(name).is_some_and(|row| row.holder == *holder && row.expires_ms > now_ms) {
                self.tables.locks.change(name, |row| row.expires_ms = now_ms.saturating_add(row.ttl_ms));
                renewed += 1;
            }
        }
        Ok(renewed)
    }

    fn release_locks(&mut self, locks: &[(String, String)]) -> Result<usize> {
        self.reads()?;
        Ok(self.tables.locks.remove_if(|name, row| locks.iter().any(|(n, holder)| n == name && *holder == row.holder)))
    }

    fn forget_locks(&mut self, before_ms: i64) -> Result<usize> {
        self.reads()?;
        Ok(self.tables.locks.remove_if(|_, row| row.expires_ms < before_ms))
    }
}
