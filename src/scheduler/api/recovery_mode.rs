//! Total outages and the recovery mode, as the application sees them.

use super::handle::Scheduler;
use crate::error::Result;
use crate::scheduler::node::ServicePost;
use crate::store::row::{Outage, RecoveryModeRow};

/// Each may fail with what can go wrong with the store.
impl Scheduler {
    /// Has the whole cluster drain its backlog: the most important triggers first, then the longest
    /// delayed, in batches of `carnelian.recovery.batch` and no faster than
    /// `carnelian.recovery.rate`. The mode ends by itself when nothing is overdue. Other nodes
    /// learn it with their monitor's next look (`carnelian.monitor.interval`), this one at once.
    pub fn start_recovery(&self) -> Result<RecoveryModeRow> {
        let row = self.open_store()?.outages().start_recovery(self.actor())?;
        self.recovery_has_changed();
        Ok(row)
    }

    /// Ends the recovery mode; false if it was not on.
    pub fn stop_recovery(&self) -> Result<bool> {
        let stopped = self.open_store()?.outages().stop_recovery(None)?;
        self.recovery_has_changed();
        Ok(stopped)
    }

    /// The recovery mode of the cluster, if it is on.
    pub fn recovery_mode(&self) -> Result<Option<RecoveryModeRow>> {
        self.open_store()?.outages().recovery_mode()
    }

    /// The last total outages, the latest first: see [`Outage`].
    pub fn outages(&self) -> Result<Vec<Outage>> {
        self.open_store()?.outages().list()
    }

    fn recovery_has_changed(&self) {
        let services = &self.inner.node.services;
        [&services.monitor, &services.acquirer, &services.misfire].into_iter().for_each(ServicePost::wake);
    }
}
