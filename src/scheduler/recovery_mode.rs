//! Total outages and the recovery mode, as the application and this node see them.

use super::Scheduler;
use super::node::Node;
use crate::error::Result;
use crate::rules::outages::Draining;
use crate::store::ClusterLoad;
use crate::store::row::{Outage, RecoveryModeRow};

/// Each may fail with what can go wrong with the store.
impl Scheduler {
    /// Has the whole cluster drain its backlog: the most important triggers first, then the longest delayed, in batches of
    /// `carnelian.recovery.batch` and no faster than `carnelian.recovery.rate`. It ends by itself when nothing is overdue.
    /// Other nodes learn it with their monitor's next look (`carnelian.monitor.interval`), this one at once.
    pub fn start_recovery(&self) -> Result<RecoveryModeRow> {
        let row = self.open_store()?.start_recovery(self.instance_id())?;
        self.inner.node.recovery_has_changed();
        Ok(row)
    }

    /// Ends the recovery mode; false if it was not on.
    pub fn stop_recovery(&self) -> Result<bool> {
        let stopped = self.open_store()?.stop_recovery(None)?;
        self.inner.node.recovery_has_changed();
        Ok(stopped)
    }

    /// The recovery mode of the cluster, if it is on.
    pub fn recovery_mode(&self) -> Result<Option<RecoveryModeRow>> {
        self.open_store()?.recovery_mode()
    }

    /// The last total outages, the latest first: see [`Outage`].
    pub fn outages(&self) -> Result<Vec<Outage>> {
        self.open_store()?.outages()
    }
}

/// What a node's monitor keeps of the recovery mode between its looks.
#[derive(Default)]
pub(super) struct RecoveryWatch {
    draining: Draining,
    is_told: bool,
}

impl RecoveryWatch {
    /// Takes note of a look at the load: the mode ends when the backlog is drained.
    pub(super) fn look(&mut self, node: &Node, load: &ClusterLoad) -> Result<()> {
        let store = &node.store;
        let threshold = store.settings().recovery.threshold;
        store.note_recovery(load.recovery_since_ms);
        match load.recovery_since_ms {
            // It begins with the end of an outage, or by command: an ordinary backlog is drained faster in its usual order.
            None => self.draining = Draining::default(),
            Some(since_ms) => {
                if self.draining.is_over(load.overdue, threshold) {
                    store.stop_recovery(Some(since_ms))?;
                    store.note_recovery(None);
                    self.draining = Draining::default();
                }
            }
        }
        self.tell(node, load.overdue);
        Ok(())
    }

    /// Says once that the mode has begun, and once that it has ended.
    fn tell(&mut self, node: &Node, overdue: usize) {
        let is_on = node.store.is_in_recovery();
        if std::mem::replace(&mut self.is_told, is_on) == is_on {
            return;
        }
        node.acquirer.signal.raise();
        if is_on {
            ::log::warn!("recovery mode begins instance={} overdue={overdue}", node.instance);
            node.listeners.announce("recovery_started", |listener| listener.recovery_started());
        } else {
            ::log::info!("recovery mode ends instance={} overdue={overdue}", node.instance);
            node.listeners.announce("recovery_ended", |listener| listener.recovery_ended());
        }
    }
}

impl Node {
    fn recovery_has_changed(&self) {
        self.monitor.signal.raise();
        self.acquirer.signal.raise();
        self.misfire.signal.raise();
    }

    /// Tells of the total outage that this node has ended.
    pub(super) fn tell_outage(&self, outage: &Outage) {
        ::log::warn!(
            "no node ran instance={} from_ms={} to_ms={} overdue={}{} fire_now={} fire_each={} skipped={} unreadable={} \
             interrupted={}",
            outage.instance,
            outage.began_ms,
            outage.ended_ms,
            outage.overdue,
            if outage.uncounted { "+" } else { "" },
            outage.fire_now,
            outage.fire_each,
            outage.skipped,
            outage.unreadable,
            outage.interrupted,
        );
        let outage = outage.clone();
        self.listeners.announce("outage_ended", move |listener| listener.outage_ended(&outage));
    }
}
