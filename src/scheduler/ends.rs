//! `Ends`: the ends of fires on their way to the store, and who takes them there.
//!
//! The completer does, in a transaction of its own. With a backlog the acquirer takes them along in the transaction that
//! brings the next fires (see [`JobStore::turn`](crate::store::JobStore::turn)), and says so: then the completer leaves them.

use super::node::Node;
use crate::listener::log;
use crate::store::{Completion, CompletionInstruction, CompletionOutcome, CompletionReport, Owner};
use crossbeam_channel::Receiver;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Most completions in one transaction.
pub(crate) const MOST_RECORDED: usize = 1000;

/// Most bytes of results in one transaction: one statement writes them, and a server takes no
/// longer one than its packets.
pub(crate) const MOST_WORDS: usize = 4 << 20;

/// The end of a fire, on its way to the store.
pub(crate) struct Ended {
    /// The incarnation under which the fire was made.
    pub(crate) owner: Arc<Owner>,
    pub(crate) completion: Completion,
}

/// What has ended and is not recorded.
pub(crate) struct Ends {
    arrived: Receiver<Ended>,
    /// Those that the acquirer could not record, or is not to: they are the completer's.
    given_back: Mutex<VecDeque<Ended>>,
}

impl Ends {
    pub(crate) fn new(arrived: Receiver<Ended>) -> Self {
        Self { arrived, given_back: Mutex::default() }
    }

    /// The next for the completer: of those that the acquirer takes, none.
    pub(super) fn next(&self, node: &Node) -> Option<Ended> {
        let given_back = self.given_back.lock().pop_front();
        given_back.or_else(|| if node.is_taking_turns() { None } else { self.arrived.try_recv().ok() })
    }

    /// Whether there is nothing for the completer.
    pub(super) fn is_empty(&self, node: &Node) -> bool {
        self.given_back.lock().is_empty() && (node.is_taking_turns() || self.arrived.is_empty())
    }

    /// The next, whoever was to take it.
    pub(super) fn next_of_all(&self) -> Option<Ended> {
        let given_back = self.given_back.lock().pop_front();
        given_back.or_else(|| self.arrived.try_recv().ok())
    }

    /// Whether all workers have ended, so that nothing can come any more.
    pub(super) fn is_over(&self, node: &Node) -> bool {
        match self.arrived.try_recv() {
            Ok(ended) => {
                self.hand_back(node, vec![ended]);
                false
            }
            Err(why) => why.is_disconnected() && self.given_back.lock().is_empty(),
        }
    }

    /// What the acquirer takes along under this incarnation. Ends that other jobs follow are left
    /// to the completer, which bounds how many of them are in one transaction, and so are those
    /// that may have to wait for a transaction of the job's.
    pub(super) fn take(&self, node: &Node, owner: &Owner) -> Vec<Completion> {
        let mut taken = Vec::with_capacity(self.arrived.len().min(MOST_RECORDED));
        let mut others = Vec::new();
        let mut words = 0;
        while taken.len() < MOST_RECORDED && words < MOST_WORDS {
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
    pub(super) fn give_back(&self, node: &Node, owner: &Owner, completions: Vec<Completion>) {
        let owner = Arc::new(owner.clone());
        let ended = |completion| Ended { owner: Arc::clone(&owner), completion };
        self.hand_back(node, completions.into_iter().map(ended).collect());
    }

    pub(super) fn hand_back(&self, node: &Node, ended: Vec<Ended>) {
        self.given_back.lock().extend(ended);
        node.completer.signal.raise();
    }
}

/// Whether the end may be recorded with others by whoever comes first.
fn is_for_all(completion: &Completion) -> bool {
    !completion.followed && !completion.guarded && !completion.by_job
}

impl Node {
    /// Whether the acquirer takes along what has ended.
    pub(crate) fn is_taking_turns(&self) -> bool {
        self.takes_turns.load(Ordering::SeqCst)
    }

    /// Says that the acquirer takes along what has ended, or does no longer: then the completer has to look.
    pub(super) fn take_turns(&self, takes: bool) {
        if self.takes_turns.swap(takes, Ordering::SeqCst) && !takes {
            self.completer.signal.raise();
        }
    }

    /// Counts and tells what was committed.
    pub(super) fn settle(&self, batch: &[Completion], recorded: &CompletionReport) {
        self.unrecorded.remove(batch.iter().map(|completion| completion.fire_id.as_str()));
        self.recorded.raise();
        let mut frees = !recorded.let_go.is_empty() || !recorded.following.is_empty();
        for (completion, outcome) in batch.iter().zip(&recorded.outcomes) {
            match outcome {
                // The job has recorded the end of its fire itself.
                CompletionOutcome::Fenced if completion.by_job => self.tell_ended(completion),
                CompletionOutcome::Fenced => {
                    self.counters.fenced_writes.add(1);
                    log::fenced(&completion.fire_id);
                }
                CompletionOutcome::Held => {} // it is not over
                CompletionOutcome::Recorded => {
                    if completion.by_job {
                        log::rolled_back(&completion.fire_id);
                    }
                    self.tell_ended(completion);
                }
            }
            // What the job has recorded itself may have let a waiting fire go.
            frees |= completion.by_job || completion.nonconcurrent && *outcome == CompletionOutcome::Recorded;
        }
        self.note_skipped(&recorded.skipped);
        for key in &recorded.paused {
            self.counters.paused_on_failure.add(1);
            log::paused_after_failure(key);
            let key = key.clone();
            self.listeners.announce("trigger_paused", move |listener| listener.trigger_paused(&key));
        }
        self.note_finalized(&recorded.finalized);
        if frees {
            self.acquirer.signal.raise();
        }
    }

    fn tell_ended(&self, completion: &Completion) {
        if completion.last || completion.instruction == CompletionInstruction::SetTriggerComplete {
            self.note_finalized(std::slice::from_ref(&completion.trigger));
        }
    }
}
