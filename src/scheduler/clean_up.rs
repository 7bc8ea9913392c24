//! `CleanUp`: forgets what has been kept long enough.

use super::node::Node;
use super::service::{Next, Service};
use crate::error::Result;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The service that cleans up, on the node that serves longest; the others look whether they are it by now. It goes on in
/// standby.
pub(crate) struct CleanUp {
    node: Arc<Node>,
}

impl CleanUp {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self { node }
    }
}

impl Service for CleanUp {
    fn name(&self) -> &'static str {
        "clean-up"
    }

    fn run_once(&mut self) -> Result<Next> {
        let node = &*self.node;
        let begun = node.clock.ticks();
        if node.longest_serving.load(Ordering::SeqCst) {
            let pass = node.store.clean_up()?;
            node.counters.forgotten_history.add(pass.history);
            node.counters.forgotten_requests.add(pass.requests);
            node.clean_up.record.note_rows(pass.history + pass.requests);
        }
        Ok(Next::At(begun.saturating_add(node.settings.history.clean_up_interval)))
    }
}
