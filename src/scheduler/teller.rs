//! `Teller`: tells the listeners what the services have found, on a thread of its own.

use super::node::Node;
use super::service::{Next, Service};
use crate::error::Result;
use std::sync::Arc;

/// The service that tells listeners. It goes on until everything else has ended.
pub(crate) struct Teller {
    node: Arc<Node>,
}

impl Teller {
    pub(crate) fn new(node: Arc<Node>) -> Self {
        Self { node }
    }
}

impl Service for Teller {
    fn name(&self) -> &'static str {
        "listeners"
    }

    fn run_once(&mut self) -> Result<Next> {
        self.node.listeners.tell_waiting();
        Ok(Next::WhenSignalled)
    }

    fn stopped(&mut self) {
        self.node.listeners.tell_waiting();
    }
}
