//! `PendingCompletions`: the fires that have ended and are not recorded, and who records them.

use crate::hash::HashMap;
use crate::scheduler::run::run_handle::RunHandle;
use crate::signal::Signal;
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The fires that have ended and are not recorded, and who records them.
pub(crate) struct PendingCompletions {
    /// The fires, by their ids. The heartbeats of a fire go on until its end is recorded, and its
    /// memory goes back then: workers that gave it back would wait for each other in the allocator.
    fires: Mutex<HashMap<Arc<str>, Arc<RunHandle>>>,
    /// Raised after each commit of completions.
    pub(crate) recorded: Signal,
    acquirer_completes: AtomicBool,
    /// The number of completions in the queue that are worth a pass of the completer.
    batch: AtomicUsize,
}

impl Default for PendingCompletions {
    fn default() -> Self {
        Self {
            fires: Mutex::default(),
            recorded: Signal::default(),
            acquirer_completes: AtomicBool::new(false),
            batch: AtomicUsize::new(1),
        }
    }
}

impl PendingCompletions {
    pub(crate) fn add(&self, fire: &Arc<RunHandle>) {
        self.fires.lock().insert(Arc::clone(&fire.fire_id), Arc::clone(fire));
    }

    /// The fires of which heartbeats are stored.
    pub(crate) fn with_heartbeats(&self) -> Vec<String> {
        self.fires.lock().values().filter(|fire| fire.has_heartbeats()).map(|fire| fire.fire_id().to_owned()).collect()
    }

    /// Notes that the ends of these fires were committed.
    pub(crate) fn remove_recorded<'a>(&self, fire_ids: impl Iterator<Item = &'a str>) {
        let mut fires = self.fires.lock();
        let over: Vec<_> = fire_ids.map(|id| fires.remove(id)).collect();
        drop(fires);
        drop(over);
        self.recorded.raise();
    }

    pub(crate) fn count(&self) -> usize {
        self.fires.lock().len()
    }

    pub(super) fn ids(&self) -> Vec<String> {
        self.fires.lock().keys().map(|id| id.to_string()).collect()
    }

    /// True if the acquirer records completions with its acquisitions; else the completer does.
    pub(crate) fn acquirer_completes(&self) -> bool {
        self.acquirer_completes.load(Ordering::SeqCst)
    }

    /// Notes who records completions; returns whether the completer has to begin again.
    pub(super) fn set_acquirer_completes(&self, acquirer_completes: bool) -> bool {
        self.acquirer_completes.swap(acquirer_completes, Ordering::SeqCst) && !acquirer_completes
    }

    /// Has workers wake the completer when so many completions are in the queue.
    pub(crate) fn await_batch(&self, count: usize) {
        self.batch.store(count.max(1), Ordering::SeqCst);
    }

    /// True if a queue of this length is worth a pass of the completer.
    pub(crate) fn is_batch(&self, queued: usize) -> bool {
        !self.acquirer_completes() && queued >= self.batch.load(Ordering::SeqCst)
    }
}
