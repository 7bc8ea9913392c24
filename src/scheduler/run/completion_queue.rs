//! `CompletionQueue`: the ends of fires on their way to the store, and who takes them there.
//!
//! The completer does, in a transaction of its own. With a backlog the acquirer takes them along in
//! the transaction that brings the next fires (see
//! [`Firing::complete_and_acquire`](crate::store::Firing::complete_and_acquire)), and says so: then
//! the completer leaves them.

use crate::scheduler::node::Node;
use crate::store::{Completion, Owner};
use crossbeam_channel::Receiver;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// Most completions in one transaction.
pub(crate) const MOST_COMPLETED: usize = 1000;

/// Most bytes of results in one transaction: one statement writes them, and a server takes no
/// longer one than its packets.
pub(crate) const MOST_TEXT_BYTES: usize = 4 << 20;

/// The end of a fire, on its way to the store.
pub(crate) struct OwnedCompletion {
    /// The incarnation under which the fire was made.
    pub(crate) owner: Arc<Owner>,
    pub(crate) completion: Completion,
}

/// The completions of fires that have ended and are not recorded.
pub(crate) struct CompletionQueue {
    arrived: Receiver<OwnedCompletion>,
    /// Completions that the acquirer could not record, or is not to: the completer's.
    given_back: Mutex<VecDeque<OwnedCompletion>>,
}

impl CompletionQueue {
    pub(crate) fn new(arrived: Receiver<OwnedCompletion>) -> Self {
        Self { arrived, given_back: Mutex::default() }
    }

    /// The next for the completer: of those that the acquirer takes, none.
    pub(crate) fn next(&self, node: &Node) -> Option<OwnedCompletion> {
        let given_back = self.given_back.lock().pop_front();
        given_back.or_else(|| if node.unrecorded.acquirer_completes() { None } else { self.arrived.try_recv().ok() })
    }

    /// True if there is nothing for the completer.
    pub(crate) fn is_empty(&self, node: &Node) -> bool {
        self.given_back.lock().is_empty() && (node.unrecorded.acquirer_completes() || self.arrived.is_empty())
    }

    /// The next, whoever was to take it.
    pub(crate) fn next_of_all(&self) -> Option<OwnedCompletion> {
        let given_back = self.given_back.lock().pop_front();
        given_back.or_else(|| self.arrived.try_recv().ok())
    }

    /// True if all workers have ended, so that nothing can come any more.
    pub(crate) fn is_over(&self, node: &Node) -> bool {
        match self.arrived.try_recv() {
            Ok(ended) => {
                self.hand_back(node, vec![ended]);
                false
            }
            Err(why) => why.is_disconnected() && self.given_back.lock().is_empty(),
        }
    }

    /// The completions that the acquirer records under this incarnation. Ends that other jobs
    /// follow are left to the completer, which bounds how many of them are in one transaction, and
    /// so are those that may have to wait for a transaction of the job's or of an order to stop.
    pub(crate) fn take(&self, node: &Node, owner: &Owner) -> Vec<Completion> {
        let mut taken = Vec::with_capacity(self.arrived.len().min(MOST_COMPLETED));
        let mut others = Vec::new();
        let mut words = 0;
        while taken.len() < MOST_COMPLETED && words < MOST_TEXT_BYTES {
            match self.arrived.try_recv() {
                Ok(ended) if *ended.owner == *owner && is_for_all(&ended.completion) => {
                    words += ended.completion.words();
                    taken.push(ended.completion);
                }
                Ok(ended) => others.push(ended),
                Err(_) => break,
            }
        }
        if !others.is_empty() {
            self.hand_back(node, others);
        }
        taken
    }

    /// Leaves these to the completer.
    pub(crate) fn give_back(&self, node: &Node, owner: &Owner, completions: Vec<Completion>) {
        let owner = Arc::new(owner.clone());
        let ended = |completion| OwnedCompletion { owner: Arc::clone(&owner), completion };
        self.hand_back(node, completions.into_iter().map(ended).collect());
    }

    pub(crate) fn hand_back(&self, node: &Node, ended: Vec<OwnedCompletion>) {
        self.given_back.lock().extend(ended);
        node.services.completer.wake();
    }
}

/// True if the end may be recorded with others by whoever comes first.
fn is_for_all(completion: &Completion) -> bool {
    !completion.followed && !completion.guarded && !completion.by_job && completion.rerun.is_none()
}
