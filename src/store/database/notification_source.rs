//! `NotificationSource`: the notifications of other nodes.

use crate::clock::{Clock, Signal, Woken};
use crate::error::Result;
use crate::store::row::Notifications;
use std::time::Duration;

/// Receives the notifications of other nodes, on a connection of its own.
pub trait NotificationSource: Send {
    /// Connects, in the place of what was connected before. Notifications committed from now on are
    /// received.
    ///
    /// # Errors
    /// Errors of the database.
    fn connect(&mut self) -> Result<()>;
    /// The notifications since the last call, without waiting.
    ///
    /// # Errors
    /// The loss of the connection: notifications may have been missed.
    fn received(&mut self) -> Result<Notifications>;
    /// Tells whether [`NotificationSource::wait`] ends when notifications come.
    fn hears_at_once(&self) -> bool {
        false
    }
    /// Waits as [`Clock::wait`] does; or less long, since notifications have come.
    fn wait(&mut self, clock: &dyn Clock, signal: &Signal, until: Option<Duration>) -> Woken {
        clock.wait(signal, until)
    }
}
