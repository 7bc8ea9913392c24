//! How the acquirer takes its turn: when there is room enough for one, and what has ended goes along.

use super::Acquirer;
use crate::error::Result;
use crate::store::{AcquireRequest, Acquisition, Owner};
use std::sync::Arc;
use std::time::Duration;

/// With a backlog, how long a pass waits for half of the workers to become free, so that one transaction serves them.
pub(super) const LINGER: Duration = Duration::from_millis(2);

/// How long it waits for all of them: short jobs end together.
const SHORT_LINGER: Duration = Duration::from_micros(300);

impl Acquirer {
    /// Until when to wait for more room; none if there is enough, if there is no backlog, or if it was long enough.
    pub(super) fn batching_deadline(&mut self, room: usize) -> Option<Duration> {
        let wanted = self.batch_limit().min(self.capacity());
        let is_enough = room >= wanted || self.capacity() > self.pool.size() && room.saturating_mul(2) >= wanted;
        if !self.is_more || is_enough || !self.reserved.is_empty() {
            self.batching_since = None;
            return None;
        }
        let now = self.node.clock.ticks();
        let since = *self.batching_since.get_or_insert(now);
        let is_half = room.saturating_mul(2) >= wanted;
        let until = since.saturating_add(if is_half { SHORT_LINGER } else { LINGER });
        if now >= until {
            self.batching_since = None;
            return None;
        }
        let enough = if is_half { wanted } else { wanted.div_ceil(2) };
        self.await_room(enough);
        Some(until)
    }

    /// What was to be recorded with an acquisition, and was not, is the completer's again.
    pub(super) fn end_turns(&mut self) {
        if let Some(owner) = self.owner.as_ref().filter(|_| !self.turn.is_empty()) {
            self.ends.give_back(&self.node, owner, std::mem::take(&mut self.turn));
        }
        self.node.take_turns(false);
    }

    /// Takes what is due; with a backlog, in one transaction with what has ended.
    pub(super) fn take(&mut self, owner: &Owner, request: &AcquireRequest<'_>) -> Result<Acquisition> {
        let node = Arc::clone(&self.node);
        if node.is_taking_turns() {
            self.turn = self.ends.take(&node, owner);
        }
        if self.turn.is_empty() {
            return node.store.acquire(owner, request);
        }
        match node.store.turn(owner, &self.turn, request) {
            Ok((_, acquisition)) if acquisition.doubt.is_some() => {
                // They are kept with it.
                self.turn.clear();
                Ok(acquisition)
            }
            Ok((recorded, acquisition)) => {
                node.settle(&std::mem::take(&mut self.turn), &recorded);
                Ok(acquisition)
            }
            Err(error) => {
                self.end_turns();
                // What cannot be recorded is no reason to take nothing.
                if error.is_transient() || error.is_fenced() { Err(error) } else { node.store.acquire(owner, request) }
            }
        }
    }
}
