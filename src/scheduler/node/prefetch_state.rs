//! `PrefetchState`: the prefetched fires of a node, and what it has measured to bound them.

use crate::rules::begun::UnbegunFences;
use crate::rules::prefetch::RunTimes;
use parking_lot::{Mutex, MutexGuard};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The prefetched fires of a node, and what it has measured to bound them.
#[derive(Default)]
pub(crate) struct PrefetchState {
    /// The fences of prefetched fires that have not begun.
    unbegun: Mutex<UnbegunFences>,
    run_times: Mutex<RunTimes>,
    /// The longest wait for a worker since the acquirer last asked, in microseconds and one more; 0
    /// if no fire has begun.
    longest_wait: AtomicU64,
}

impl PrefetchState {
    pub(crate) fn unbegun(&self) -> MutexGuard<'_, UnbegunFences> {
        self.unbegun.lock()
    }

    pub(crate) fn run_times(&self) -> MutexGuard<'_, RunTimes> {
        self.run_times.lock()
    }

    /// Notes that a fire has begun, so long after it was handed to the workers.
    pub(crate) fn observe_wait(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.longest_wait.fetch_max(micros.saturating_add(1), Ordering::Relaxed);
    }

    /// The longest wait of a fire that has begun since the last call.
    pub(crate) fn take_longest_wait(&self) -> Option<Duration> {
        self.longest_wait.swap(0, Ordering::Relaxed).checked_sub(1).map(Duration::from_micros)
    }
}
