//! `PlainRows`: work that asks for nothing special, stored in one statement where a database can.

use crate::error::Result;
use crate::store::row::PlainWork;

/// New jobs and triggers that ask for nothing special.
pub trait PlainRows {
    /// Stores all of this work if nothing stands in the way of any of it, and returns when; else
    /// nothing. Nothing does if each job is new, or is stored where it should be, and no trigger
    /// has the key. The change is announced, and `token` noted with it.
    ///
    /// In a session begun [at once](super::TxMode::SingleStatement). A database that begins none
    /// stores none.
    fn store_plain(&mut self, work: &PlainWork, token: &str) -> Result<Option<i64>> {
        let _ = (work, token);
        Ok(None)
    }
}
