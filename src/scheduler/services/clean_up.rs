//! `CleanUp`: forgets what has been kept long enough (LT-86).

use super::service::{Next, Service};
use crate::error::Result;
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::store::{HistoryPruning, PruningPlan};
use std::sync::Arc;
use std::time::Duration;

/// The pause between two batches, for whoever waits for the database.
const BETWEEN_BATCHES: Duration = Duration::from_millis(50);

/// The service that cleans up, on the node that serves longest; the others look whether they are it
/// by now. The service goes on in standby.
pub(crate) struct CleanUp {
    node: Arc<Node>,
    /// The plan by the last look at the history, as far as it is not done.
    plan: PruningPlan,
    /// The number of rows that were forgotten since that look.
    forgotten: usize,
}

impl CleanUp {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self { node, plan: PruningPlan::default(), forgotten: 0 }
    }
}

impl Service for CleanUp {
    fn name(&self) -> &'static str {
        "clean-up"
    }

    fn run_once(&mut self) -> Result<Next> {
        let node = &*self.node;
        let interval = node.settings.history.clean_up_interval;
        let begun = node.clock.ticks();
        if !node.firing.is_longest_serving() {
            self.plan = PruningPlan::default();
            return Ok(Next::At(begun.saturating_add(interval)));
        }
        if self.plan.is_done() {
            let requests = node.store.upkeep().forget_requests()?;
            node.counters.forgotten_requests.add(requests);
            self.forgotten = requests;
            self.plan = node.store.history().plan_pruning(&HistoryPruning::new())?;
        }
        if !self.plan.is_done() {
            let gone = node.store.history().prune_batch(&mut self.plan)?;
            node.counters.forgotten_history.add(gone);
            self.forgotten += gone;
        }
        node.services.clean_up.record.note_rows(self.forgotten);
        if !self.plan.is_done() {
            return Ok(Next::At(begun.saturating_add(BETWEEN_BATCHES)));
        }
        if self.forgotten > 0 {
            lifecycle_log::cleaned_up(self.forgotten);
        }
        Ok(Next::At(begun.saturating_add(interval)))
    }
}
