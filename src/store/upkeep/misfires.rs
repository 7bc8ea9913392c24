//! Misfires: triggers that are too late get what their misfire instruction says.

use super::MisfirePass;
use crate::error::Result;
use crate::store::JobStore;

impl JobStore {
    /// Applies the misfire instruction of at most `max_misfires_at_a_time` late triggers.
    ///
    /// Looks without the lock first: a store with nothing late costs one statement.
    pub fn handle_misfires(&self) -> Result<MisfirePass> {
        todo!()
    }
}
