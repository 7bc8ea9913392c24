//! `Notifications`: what a node has learnt of changes that it, or another node, has made.

use crate::signal::Flag;
use std::sync::atomic::{AtomicI64, Ordering};

/// The changes in the store of which a node has learnt.
#[derive(Default)]
pub(crate) struct Notifications {
    /// True if notifications of other nodes arrive at once.
    pub(crate) listening: Flag,
    /// An order to stop was stored, perhaps for a run of this node.
    pub(crate) cancel: Flag,
    /// A trigger was stored here that is due: no poll is needed then.
    pub(crate) due: Flag,
    /// The counter of changes at the last poll.
    changes: AtomicI64,
}

impl Notifications {
    /// The counter of changes at the last poll.
    pub(crate) fn changes(&self) -> i64 {
        self.changes.load(Ordering::Relaxed)
    }

    pub(crate) fn set_changes(&self, changes: i64) {
        self.changes.store(changes, Ordering::Relaxed);
    }
}
