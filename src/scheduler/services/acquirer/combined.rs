//! `CombinedCompletions`: with a backlog, completions are recorded by the transaction of an
//! acquisition.

use crate::error::Result;
use crate::scheduler::node::Node;
use crate::scheduler::run::completion_queue::CompletionQueue;
use crate::store::{AcquireRequest, Acquisition, Completion, Owner};
use std::sync::Arc;
use std::time::Duration;

/// With a backlog, how long a pass waits for half of the workers to become free, so that one
/// transaction serves them.
pub(super) const HALF_BATCH_WAIT: Duration = Duration::from_millis(2);

/// The time for which a pass waits for all of them: short jobs end together.
const FULL_BATCH_WAIT: Duration = Duration::from_micros(300);

/// The completions that the acquirer records.
pub(super) struct CombinedCompletions {
    pub(super) queue: Arc<CompletionQueue>,
    /// The completions of the transaction that is under way.
    batch: Vec<Completion>,
    /// Since when a pass waits for more free workers.
    waiting_since: Option<Duration>,
}

impl CombinedCompletions {
    pub(super) fn new(queue: Arc<CompletionQueue>) -> Self {
        Self { queue, batch: Vec::new(), waiting_since: None }
    }

    /// True if a pass waits for more free workers.
    pub(super) fn is_waiting(&self) -> bool {
        self.waiting_since.is_some()
    }

    /// There is enough room, or no backlog: no pass waits.
    pub(super) fn end_waiting(&mut self) {
        self.waiting_since = None;
    }

    /// Until when a pass waits for more room than this, of what is wanted, and how much is then
    /// enough; none if it has waited for long enough.
    pub(super) fn batching_deadline(&mut self, now: Duration, room: usize, wanted: usize) -> Option<(Duration, usize)> {
        let since = *self.waiting_since.get_or_insert(now);
        let is_half = room.saturating_mul(2) >= wanted;
        let until = since.saturating_add(if is_half { FULL_BATCH_WAIT } else { HALF_BATCH_WAIT });
        if now >= until {
            self.waiting_since = None;
            return None;
        }
        Some((until, if is_half { wanted } else { wanted.div_ceil(2) }))
    }

    /// Leaves completions to the completer, also those of a transaction that has failed.
    pub(super) fn end(&mut self, node: &Node, owner: Option<&Owner>) {
        if let Some(owner) = owner.filter(|_| !self.batch.is_empty()) {
            self.queue.give_back(node, owner, std::mem::take(&mut self.batch));
        }
        node.let_acquirer_complete(false);
    }

    /// Takes what has ended, if the acquirer records it; false if there is nothing.
    pub(super) fn gather_ends(&mut self, node: &Node, owner: &Owner) -> bool {
        if node.unrecorded.acquirer_completes() {
            self.batch = self.queue.take(node, owner);
        }
        !self.batch.is_empty()
    }

    /// Records what was taken and acquires, in one transaction.
    pub(super) fn complete_and_acquire(
        &mut self,
        node: &Node,
        owner: &Owner,
        request: &AcquireRequest<'_>,
    ) -> Result<Acquisition> {
        match node.store.firing().complete_and_acquire(owner, &self.batch, request) {
            Ok((_, acquisition)) if acquisition.doubt.is_some() => {
                // The doubt keeps them.
                self.batch.clear();
                Ok(acquisition)
            }
            Ok((report, acquisition)) => {
                node.tell_completed(&std::mem::take(&mut self.batch), &report);
                Ok(acquisition)
            }
            Err(error) => {
                self.end(node, Some(owner));
                // Completions that cannot be recorded are no reason to acquire nothing.
                if error.is_transient() || error.is_fenced() {
                    Err(error)
                } else {
                    node.store.firing().acquire(owner, request)
                }
            }
        }
    }
}
