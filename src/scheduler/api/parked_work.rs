//! Parked work, as a program sees it.

use super::handle::Scheduler;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::row::Parked;

impl Scheduler {
    /// The work that is set aside until somebody has looked at it: what was taken over too often
    /// from runs that died, and what could not be stored as a recovery or as parts. See
    /// `docs/executions.md`.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn parked(&self) -> Result<Vec<Parked>> {
        self.open_store()?.catalogue().parked()
    }

    /// Lets parked work run again, at once and with all its take-overs before it; returns whether
    /// it was parked.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn retry_parked(&self, key: &TriggerKey) -> Result<bool> {
        let retried = self.open_store()?.catalogue().retry_parked(key)?;
        if retried {
            self.wake();
        }
        Ok(retried)
    }

    /// Deletes parked work with its trigger; returns whether it was parked.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn delete_parked(&self, key: &TriggerKey) -> Result<bool> {
        self.open_store()?.catalogue().delete_parked(key)
    }
}
