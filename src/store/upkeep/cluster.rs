//! The cluster as its rows show it: instances and fires.

use super::{FiredTrigger, InstanceStatus};
use crate::error::Result;
use crate::store::JobStore;
use crate::store::row::Snapshot;

impl JobStore {
    /// The nodes of the cluster.
    pub fn instances(&self) -> Result<Vec<InstanceStatus>> {
        todo!()
    }

    /// The fires that are reserved or running in the cluster.
    pub fn fired_triggers(&self) -> Result<Vec<FiredTrigger>> {
        todo!()
    }

    /// Everything that the invariants speak of.
    pub fn snapshot(&self) -> Result<Snapshot> {
        todo!()
    }
}
