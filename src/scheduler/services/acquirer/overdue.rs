//! `OverdueWatch`: reservations of others that are overdue, which any node takes back.

use crate::error::Result;
use crate::listener::lifecycle_log;
use crate::rules::overdue::{GRACE, RETRY, overdue_at};
use crate::rules::store_time::StoreTime;
use crate::scheduler::node::Node;
use crate::store::Owner;
use std::time::Duration;

/// The time at which the first reservation of others is overdue.
#[derive(Default)]
pub(super) struct OverdueWatch {
    /// In the time of the store.
    at_ms: Option<i64>,
    /// No attempt before, in ticks.
    retry: Duration,
}

impl OverdueWatch {
    /// Sets when the first trigger that others have reserved is overdue.
    pub(super) fn set_first(&mut self, instance: &str, reserved_ms: Option<i64>) {
        self.at_ms = reserved_ms.map(|at_ms| overdue_at(instance, at_ms));
    }

    /// The time until the first is overdue, or is to be tried again.
    pub(super) fn wait(&self, store_time: &StoreTime, now: Duration) -> Option<Duration> {
        let at = store_time.ticks_at(self.at_ms?).max(self.retry);
        Some(at.saturating_sub(now))
    }

    /// Sets free what is overdue at this time of the store: it is due then, for whoever has a
    /// worker for it. Returns whether there was some.
    pub(super) fn take_back(
        &mut self,
        node: &Node,
        owner: Option<&Owner>,
        store_time: &StoreTime,
        now_ms: i64,
    ) -> Result<bool> {
        let now = node.clock.ticks();
        let is_overdue = self.at_ms.is_some_and(|at_ms| at_ms <= now_ms) && now >= self.retry;
        if !is_overdue && self.wait(store_time, now).is_some_and(|wait| wait.is_zero()) {
            // By the store's own clock it is not overdue: that clock was set back.
            self.retry = now.saturating_add(RETRY);
        }
        let Some(owner) = owner.filter(|_| is_overdue) else { return Ok(false) };
        let overdue = node.store.firing().take_back_overdue(owner, GRACE)?;
        lifecycle_log::took_back(&node.instance, &overdue);
        if overdue.is_empty() {
            self.retry = now.saturating_add(RETRY);
        }
        Ok(!overdue.is_empty())
    }
}
