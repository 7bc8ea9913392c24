//! `NotificationListener`: hears what other nodes announce, where the database can tell it, and
//! wakes whom it concerns.

use super::service::{Next, Service};
use crate::error::Result;
use crate::scheduler::node::Node;
use crate::store;
use std::sync::Arc;
use std::time::Duration;

/// The time between two checks for notifications, which ask nothing of the server.
const BETWEEN_HEARINGS: Duration = Duration::from_millis(25);

/// While it cannot hear, the acquirer looks as often as on other databases: there is no hurry.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// The listening service.
pub(crate) struct NotificationListener {
    node: Arc<Node>,
    ear: Box<dyn store::NotificationListener>,
}

impl NotificationListener {
    /// None where there is nothing to hear, or the settings want it so.
    pub(crate) fn new(node: Arc<Node>) -> Option<Self> {
        let ear = node.store.database().notification_listener().filter(|_| node.settings.scheduler.listen)?;
        Some(Self { node, ear })
    }

    fn connect(&mut self) -> Result<()> {
        self.ear.connect()?;
        self.node.notifications.set_listening(true);
        // Earlier notifications have reached nobody here.
        self.node.services.acquirer.wake();
        self.node.check_cancels();
        Ok(())
    }
}

impl Service for NotificationListener {
    fn name(&self) -> &'static str {
        "ear"
    }

    fn run_once(&mut self) -> Result<Next> {
        if !self.node.notifications.is_listening() {
            self.connect()?;
        }
        let heard = self.ear.received().inspect_err(|_| {
            self.node.notifications.set_listening(false);
            // The acquirer waits for as long as notifications allow: it is to poll sooner from now
            // on.
            self.node.services.acquirer.wake();
        })?;
        if heard.change {
            self.node.services.acquirer.wake();
        }
        if heard.cancel {
            self.node.check_cancels();
        }
        Ok(Next::At(self.node.clock.ticks().saturating_add(BETWEEN_HEARINGS)))
    }

    fn longest_retry(&self, settings: Duration) -> Duration {
        settings.max(LONGEST_RETRY)
    }
}
