//! `Fences`: the largest fence that this process knows of. The stored one is never smaller, unless
//! the store has lost commits.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicI64, Ordering};

/// The store has lost commits that it had answered: an asynchronous replica took its place, a
/// backup was put back, or it wrote its log later than it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostCommits {
    /// The last fence that is stored.
    pub stored: i64,
    /// The largest that this node has drawn or seen.
    pub largest: i64,
}

impl LostCommits {
    /// The loss that shows where the stored fence is smaller than the largest that was known before
    /// the stored one was read.
    pub(crate) fn between(stored: i64, largest: i64) -> Option<Self> {
        (stored < largest).then_some(Self { stored, largest })
    }
}

/// The fences of a scheduler that a process knows of.
#[derive(Debug, Default)]
pub struct Fences {
    largest: AtomicI64,
    found: Mutex<Option<LostCommits>>,
}

impl Fences {
    /// No fence may be drawn that is not larger.
    pub(crate) fn largest(&self) -> i64 {
        self.largest.load(Ordering::SeqCst)
    }

    /// This one was drawn, and its commit was answered; or it was seen in a commit.
    pub(crate) fn note(&self, fence: i64) {
        self.largest.fetch_max(fence, Ordering::SeqCst);
    }

    /// Tells whether this fence, the last that is stored, is smaller than it can be; kept until it
    /// is [taken](Self::take_found). `largest` was known before `stored` was read: other threads
    /// draw fences meanwhile, which is no loss.
    pub(crate) fn are_behind(&self, stored: i64, largest: i64) -> bool {
        let lost = LostCommits::between(stored, largest);
        self.note_lost(lost);
        lost.is_some()
    }

    /// The transaction that has found this was committed.
    pub(crate) fn note_lost(&self, lost: Option<LostCommits>) {
        if let Some(lost) = lost {
            self.found.lock().get_or_insert(lost);
        }
    }

    /// The loss of commits, once for each time.
    pub(crate) fn take_found(&self) -> Option<LostCommits> {
        self.found.lock().take()
    }

    /// The scheduler is forgotten, and its fences with it.
    pub(crate) fn forget(&self) {
        self.largest.store(0, Ordering::SeqCst);
        *self.found.lock() = None;
    }
}
