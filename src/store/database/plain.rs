//! What a session writes of triggers that ask for nothing special: in one statement, where a database can.

use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::row::TriggerRow;

/// New triggers that can be stored without looking at anything beside them.
pub trait PlainRows {
    /// Stores those of these new triggers, of different keys, that nothing stands in the way of, and returns their keys: the
    /// job is stored, lets its runs overlap, and no fire of it forbids others; no trigger has the key; no group is paused.
    /// If there are any, the change is announced and `token` noted with them. The others are for the caller to judge.
    ///
    /// The rows are of simple triggers in state `WAITING`, without a calendar and without options.
    ///
    /// A database that cannot do so in one statement stores none.
    fn insert_unhindered(&mut self, triggers: &[TriggerRow], token: &str) -> Result<Vec<TriggerKey>> {
        let _ = (triggers, token);
        Ok(Vec::new())
    }
}
