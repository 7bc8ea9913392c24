//! `ListenerThread`: tells the listeners what the services have found, on a thread of its own.

use super::service::{Next, Service};
use crate::error::Result;
use crate::scheduler::node::Node;
use std::sync::Arc;

/// The service that tells listeners. The thread goes on until everything else has ended.
pub(crate) struct ListenerThread {
    node: Arc<Node>,
}

impl ListenerThread {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self { node }
    }
}

impl Service for ListenerThread {
    fn run_once(&mut self) -> Result<Next> {
        self.node.listeners.tell_waiting();
        Ok(Next::WhenSignalled)
    }

    fn stopped(&mut self) {
        self.node.listeners.tell_waiting();
    }
}
