//! `HistoryKeeper`: forgets what is too old or too much of the history, a batch in each pass (LT-86).

use super::node::Node;
use super::service::{Next, Service};
use crate::error::Result;
use crate::listener::log;
use crate::store::{HistoryPruning, PruningPlan};
use std::sync::Arc;
use std::time::Duration;

/// The pause between two batches, for whoever waits for the database.
const BETWEEN_BATCHES: Duration = Duration::from_millis(50);

/// A node that has just started has other things to do.
const AFTER_START: Duration = Duration::from_secs(30);

/// The service of the history. It goes on in standby.
pub(crate) struct HistoryKeeper {
    node: Arc<Node>,
    /// When the next look is due, in ticks.
    next: Duration,
    /// What the last look has found, as far as it is not done.
    plan: PruningPlan,
    forgotten: usize,
}

impl HistoryKeeper {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        let first = AFTER_START.min(node.settings.history.prune_interval);
        let next = node.clock.ticks().saturating_add(first);
        Self { node, next, plan: PruningPlan::default(), forgotten: 0 }
    }
}

impl Service for HistoryKeeper {
    fn name(&self) -> &'static str {
        "history"
    }

    fn run_once(&mut self) -> Result<Next> {
        let node = &*self.node;
        if node.clock.ticks() < self.next {
            return Ok(Next::At(self.next));
        }
        if self.plan.is_done() {
            self.plan = node.store.plan_pruning(&HistoryPruning::new())?;
        }
        if !self.plan.is_done() {
            self.forgotten += node.store.prune_batch(&mut self.plan)?;
        }
        let is_done = self.plan.is_done();
        if is_done && self.forgotten > 0 {
            log::history_pruned(self.forgotten);
            self.forgotten = 0;
        }
        let wait = if is_done { node.settings.history.prune_interval } else { BETWEEN_BATCHES };
        self.next = node.clock.ticks().saturating_add(wait);
        Ok(Next::At(self.next))
    }
}
