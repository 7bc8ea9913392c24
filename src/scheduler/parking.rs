//! Parked work, as a program sees it, and what is told of it.

use super::Scheduler;
use super::node::Node;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::listener::log;
use crate::store::row::Parked;

impl Scheduler {
    /// The work that is set aside until somebody has looked at it: what was taken over too often
    /// from runs that died, and what could not be stored as a recovery or as parts. See
    /// `retries.md`.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn parked(&self) -> Result<Vec<Parked>> {
        self.open_store()?.parked()
    }

    /// Lets parked work run again, at once and with all its take-overs before it; returns whether
    /// it was parked.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn retry_parked(&self, key: &TriggerKey) -> Result<bool> {
        let retried = self.open_store()?.retry_parked(key)?;
        if retried {
            self.signal_change();
        }
        Ok(retried)
    }

    /// Deletes parked work with its trigger; returns whether it was parked.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn delete_parked(&self, key: &TriggerKey) -> Result<bool> {
        self.open_store()?.delete_parked(key)
    }
}

/// Counts and tells what was set aside.
pub(super) fn note_parked(node: &Node, parked: Vec<Parked>) {
    if parked.is_empty() {
        return;
    }
    node.counters.recoveries_parked.add(parked.len());
    parked.iter().for_each(log::parked);
    node.listeners.announce("work_parked", move |listener| listener.work_parked(&parked));
}
