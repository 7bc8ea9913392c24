//! `MisfireHandler`: gives triggers that are too late what their misfire instruction says.

use super::service::{Next, Service};
use crate::error::Result;
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::store::LateInOrder;
use std::sync::Arc;
use std::time::Duration;

/// The pause between two batches of one look.
const BETWEEN_BATCHES: Duration = Duration::from_millis(50);

/// The misfire service, which goes on in standby.
pub(crate) struct MisfireHandler {
    node: Arc<Node>,
    /// The late triggers, in the order of a recovery.
    order: LateInOrder,
}

impl MisfireHandler {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self { node, order: LateInOrder::default() }
    }
}

impl Service for MisfireHandler {
    fn run_once(&mut self) -> Result<Next> {
        let node = &*self.node;
        let begun = node.clock.ticks();
        self.order.note_busy(node.pool().is_some_and(|pool| pool.free() == 0));
        let pass = node.store.upkeep().handle_misfires_of(&mut self.order)?;
        node.counters.misfires.add(pass.handled.len());
        node.quarantine.add(pass.unreadable, begun);
        for trigger in &pass.handled {
            lifecycle_log::misfired(trigger.key());
            node.listeners.trigger_misfired(trigger);
        }
        node.tell_skipped(&pass.skipped);
        node.tell_finalized(&pass.finalized);
        if !pass.handled.is_empty() {
            node.services.acquirer.wake();
        }
        let wait = if pass.more { BETWEEN_BATCHES } else { node.store.settings().job_store.misfire_threshold };
        Ok(Next::At(begun.saturating_add(wait).max(node.clock.ticks().saturating_add(BETWEEN_BATCHES))))
    }
}
