//! `RecoveryModeWatch`: ends the recovery mode when the backlog is drained.

use crate::error::Result;
use crate::rules::outages::Draining;
use crate::scheduler::node::Node;
use crate::store::ClusterLoad;

/// The recovery mode as a node's monitor knows it between two looks.
#[derive(Default)]
pub(crate) struct RecoveryModeWatch {
    draining: Draining,
    is_told: bool,
}

impl RecoveryModeWatch {
    /// Takes note of a look at the load: the mode ends when the backlog is drained.
    pub(crate) fn look(&mut self, node: &Node, load: &ClusterLoad) -> Result<()> {
        let store = &node.store;
        let threshold = store.settings().recovery.threshold;
        store.view.note_recovery_mode(load.recovery_since_ms);
        match load.recovery_since_ms {
            // The mode begins with the end of an outage, or by command: an ordinary backlog is
            // drained faster in its usual order.
            None => self.draining = Draining::default(),
            Some(since_ms) => {
                if self.draining.is_over(load.overdue, threshold) {
                    store.outages().stop_recovery(Some(since_ms))?;
                    store.view.note_recovery_mode(None);
                    self.draining = Draining::default();
                }
            }
        }
        self.tell(node, load.overdue);
        Ok(())
    }

    /// Says once that the mode has begun, and once that it has ended.
    fn tell(&mut self, node: &Node, overdue: usize) {
        let is_on = node.store.is_in_recovery_mode();
        if std::mem::replace(&mut self.is_told, is_on) == is_on {
            return;
        }
        node.services.acquirer.wake();
        if is_on {
            ::log::warn!("recovery mode begins instance={} overdue={overdue}", node.instance);
            node.listeners.announce("recovery_started", |listener| listener.recovery_started());
        } else {
            ::log::info!("recovery mode ends instance={} overdue={overdue}", node.instance);
            node.listeners.announce("recovery_ended", |listener| listener.recovery_ended());
        }
    }
}
