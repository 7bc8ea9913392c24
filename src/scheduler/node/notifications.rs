//! `Notifications`: what a node has learnt of changes that it, or another node, has made.

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The changes in the store of which a node has learnt.
#[derive(Default)]
pub(crate) struct Notifications {
    listening: AtomicBool,
    /// An order to stop was stored, perhaps for a run of this node.
    cancel: AtomicBool,
    /// A trigger was stored here that is due.
    due: AtomicBool,
    /// The counter of changes at the last poll.
    changes: AtomicI64,
}

impl Notifications {
    /// True if notifications of other nodes arrive at once.
    pub(crate) fn is_listening(&self) -> bool {
        self.listening.load(Ordering::SeqCst)
    }

    pub(crate) fn set_listening(&self, is_listening: bool) {
        self.listening.store(is_listening, Ordering::SeqCst);
    }

    pub(crate) fn note_cancel(&self) {
        self.cancel.store(true, Ordering::SeqCst);
    }

    /// True if an order to stop was stored since the last call.
    pub(crate) fn take_cancel(&self) -> bool {
        self.cancel.swap(false, Ordering::SeqCst)
    }

    pub(crate) fn note_due(&self) {
        self.due.store(true, Ordering::Relaxed);
    }

    /// True if a trigger was stored here that is due, since the last call: no poll is needed then.
    pub(crate) fn take_due(&self) -> bool {
        self.due.swap(false, Ordering::Relaxed)
    }

    /// The counter of changes at the last poll.
    pub(crate) fn changes(&self) -> i64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(crate) fn note_changes(&self, changes: i64) {
        self.changes.store(changes, Ordering::Relaxed);
    }
}
