//! `NotificationListener`: hears the notifications of other nodes, on databases that send them, and
//! wakes the services that they concern.

use super::service::{Next, Service};
use crate::clock::{Clock, Signal, Woken};
use crate::error::Result;
use crate::random;
use crate::scheduler::node::Node;
use crate::settings::ClusterMode;
use crate::store;
use std::sync::Arc;
use std::time::Duration;

/// The time between two checks for notifications where nothing tells that some have come. A check
/// asks nothing of the server.
const BETWEEN_HEARINGS: Duration = Duration::from_millis(10);

/// The time after which they are looked for where the socket tells.
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// The longest time before the next try to connect. The acquirer polls as often as on other
/// databases meanwhile: there is no hurry.
const LONGEST_RETRY: Duration = Duration::from_secs(10);

/// The number of nodes that poll at once after a notification, more or less; the others poll when
/// they would anyway. A thousand polls for one trigger would be the load of the server.
const HEEDING: f64 = 16.0;

/// True if this node polls at once after a notification that a cluster of so many members hears.
fn heeds(members: usize) -> bool {
    random::share() * members as f64 <= HEEDING
}

/// The listening service.
pub(crate) struct NotificationListener {
    node: Arc<Node>,
    session: Box<dyn store::NotificationSource>,
}

impl NotificationListener {
    /// None if the database sends no notifications, or the settings switch listening off.
    pub(crate) fn new(node: Arc<Node>) -> Option<Self> {
        let session = node.store.database().notification_source().filter(|_| node.settings.scheduler.listen)?;
        Some(Self { node, session })
    }

    fn connect(&mut self) -> Result<()> {
        self.session.connect()?;
        self.node.notifications.listening.set(true);
        // Earlier notifications have reached nobody here.
        self.node.services.acquirer.wake();
        self.node.check_cancels();
        Ok(())
    }
}

impl Service for NotificationListener {
    fn run_once(&mut self) -> Result<Next> {
        if !self.node.notifications.listening.is_set() {
            self.connect()?;
        }
        let heard = self.session.received().inspect_err(|_| {
            self.node.notifications.listening.set(false);
            // The acquirer waits for as long as notifications allow: it is to poll sooner from now
            // on.
            self.node.services.acquirer.wake();
        })?;
        // The one node that fires has no other to rely on.
        let is_alone = self.node.settings.cluster.mode == ClusterMode::ActivePassive;
        if heard.change && (is_alone || heeds(self.node.store.members().len())) {
            self.node.services.acquirer.wake();
        }
        if heard.cancel {
            self.node.check_cancels();
        }
        let wait = if self.session.hears_at_once() { BETWEEN_LOOKS } else { BETWEEN_HEARINGS };
        Ok(Next::At(self.node.clock.ticks().saturating_add(wait)))
    }

    fn wait(&mut self, clock: &dyn Clock, signal: &Signal, until: Option<Duration>) -> Woken {
        self.session.wait(clock, signal, until)
    }

    fn longest_retry(&self, settings: Duration) -> Duration {
        settings.max(LONGEST_RETRY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_has_a_few_nodes_of_many_poll() {
        assert!((0..1000).all(|_| heeds(0) && heeds(1) && heeds(16)));
        let heeding = (0..100_000).filter(|_| heeds(1000)).count();
        assert!((1200..2000).contains(&heeding), "{heeding} of 100,000, where 1,600 are expected");
    }
}
