//! What others have reserved and not fired: a node looks again when it is overdue, and takes it
//! back.

use super::Acquirer;
use crate::error::Result;
use crate::listener::log;
use crate::rules::overdue::{GRACE, RETRY};
use crate::store::row::PollResult;
use std::time::Duration;

impl Acquirer {
    /// How long it is until the first reservation of others is overdue, or is to be tried again.
    pub(super) fn overdue_in(&self) -> Option<Duration> {
        let at = self.store_time.ticks_at(self.overdue_ms?).max(self.retry_overdue);
        Some(at.saturating_sub(self.node.clock.ticks()))
    }

    /// Sets free what is overdue, if a look has seen some; it is due then, for whoever has a worker
    /// for it. Returns whether there was some.
    pub(super) fn take_back(&mut self, look: &PollResult) -> Result<bool> {
        let now = self.node.clock.ticks();
        let is_overdue = self.overdue_ms.is_some_and(|at_ms| at_ms <= look.now_ms) && now >= self.retry_overdue;
        if !is_overdue && self.overdue_in().is_some_and(|wait| wait.is_zero()) {
            // By the store's own clock it is not overdue: that clock was set back.
            self.retry_overdue = now.saturating_add(RETRY);
        }
        let Some(owner) = self.owner.as_ref().filter(|_| is_overdue) else { return Ok(false) };
        let overdue = self.node.store.take_back_overdue(owner, GRACE)?;
        log::took_back(&self.node.instance, &overdue);
        if overdue.is_empty() {
            self.retry_overdue = now.saturating_add(RETRY);
        }
        Ok(!overdue.is_empty())
    }
}
