//! Locks of the application in a map, as held locks are renewed.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::LockRows;
use crate::store::row::LockRow;

impl LockRows for MemorySession<'_> {
    fn renew_locks(&mut self, locks: &[(String, String)], now_ms: i64) -> Result<usize> {
        self.reads()?;
        let mut renewed = 0;
        for (name, holder) in locks {
            let row: Option<LockRow> = self.tables.row_of(name);
            if let Some(row) = row.filter(|row| row.holder == *holder && row.expires_ms > now_ms) {
                self.tables.put_row(&LockRow { expires_ms: now_ms.saturating_add(row.ttl_ms), ..row });
                renewed += 1;
            }
        }
        Ok(renewed)
    }
}
