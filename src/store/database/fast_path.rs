//! `FastPath`: new work that a session stores by one statement.

use crate::error::Result;
use crate::store::row::FastPathWork;

/// The fast path of a database that has one.
pub trait FastPath {
    /// Stores all of this work and returns when, or declines and stores nothing. The work is stored
    /// if each job is new, or is stored where it should be, and no trigger has the key. The change
    /// is announced, and `token` noted with it.
    ///
    /// Asked in a session begun [at once](super::TxMode::SingleStatement). A database that begins
    /// none stores none.
    fn store_fast_path(&mut self, work: &FastPathWork, token: &str) -> Result<Option<i64>> {
        let _ = (work, token);
        Ok(None)
    }
}
