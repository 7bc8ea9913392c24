//! `Listening`: hears what other nodes announce, where the database can tell it, and wakes whom it concerns.

use super::node::Node;
use super::service::{Next, Service};
use crate::error::Result;
use crate::store::NotificationListener;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it is asked whether something has come. That asks nothing of the server.
const BETWEEN_HEARINGS: Duration = Duration::from_millis(25);

/// While it cannot hear, the acquirer looks as often as on other databases: there is no hurry.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// The listening service.
pub(crate) struct Listening {
    node: Arc<Node>,
    ear: Box<dyn NotificationListener>,
}

impl Listening {
    /// None where there is nothing to hear, or the settings want it so.
    pub(crate) fn new(node: Arc<Node>) -> Option<Self> {
        let ear = node.store.database().notification_listener().filter(|_| node.settings.scheduler.listen)?;
        Some(Self { node, ear })
    }

    fn connect(&mut self) -> Result<()> {
        self.ear.connect()?;
        self.node.hears.store(true, Ordering::SeqCst);
        // What was announced before, nobody here has heard.
        self.node.acquirer.signal.raise();
        self.node.look_for_cancels();
        Ok(())
    }
}

impl Service for Listening {
    fn name(&self) -> &'static str {
        "ear"
    }

    fn run_once(&mut self) -> Result<Next> {
        if !self.node.hears.load(Ordering::SeqCst) {
            self.connect()?;
        }
        let heard = self.ear.received().inspect_err(|_| {
            self.node.hears.store(false, Ordering::SeqCst);
            // It waits for as long as one may that hears.
            self.node.acquirer.signal.raise();
        })?;
        if heard.change {
            self.node.acquirer.signal.raise();
        }
        if heard.cancel {
            self.node.look_for_cancels();
        }
        Ok(Next::At(self.node.clock.ticks().saturating_add(BETWEEN_HEARINGS)))
    }

    fn longest_retry(&self, settings: Duration) -> Duration {
        settings.max(LONGEST_RETRY)
    }
}
