//! `Queue`: what the services have to tell the listeners, until the thread that tells it comes to
//! it.

use super::lifecycle_log;
use crate::signal::Signal;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// More than this is not kept: listeners that do not keep up cost no more memory than that.
const MOST_WAITING: usize = 10_000;

/// Something to be told.
pub(super) type News<L> = Box<dyn FnOnce(&L) + Send>;

/// News in the order in which they came.
pub(crate) struct Queue<L> {
    state: Mutex<State<L>>,
    /// Raised when there is something to tell.
    pub(crate) signal: Arc<Signal>,
}

struct State<L> {
    /// Somebody tells what is put here.
    is_open: bool,
    waiting: VecDeque<News<L>>,
    /// News for which there was no room, since that was last told, and in all.
    dropped: u64,
    untold: u64,
}

impl<L> Default for Queue<L> {
    fn default() -> Self {
        let state = State { is_open: false, waiting: VecDeque::new(), dropped: 0, untold: 0 };
        Self { state: Mutex::new(state), signal: Arc::default() }
    }
}

impl<L> Queue<L> {
    /// From now on there is a thread that tells what is put here.
    pub(super) fn open(&self) {
        self.state.lock().is_open = true;
    }

    /// From now on there is none. Waiting events are not told any more; returns how many those are.
    pub(super) fn close(&self) -> usize {
        let mut state = self.state.lock();
        state.is_open = false;
        let left = std::mem::take(&mut state.waiting);
        state.untold += left.len() as u64;
        // News hold values of the application, which are not to be dropped under the lock.
        drop(state);
        left.len()
    }

    /// Puts news at the end; gives them back if nobody would tell them.
    pub(super) fn put(&self, news: News<L>) -> Result<(), News<L>> {
        let mut state = self.state.lock();
        if !state.is_open {
            return Err(news);
        }
        if state.waiting.len() < MOST_WAITING {
            state.waiting.push_back(news);
            drop(state);
            self.signal.raise();
            return Ok(());
        }
        state.untold += 1;
        state.dropped += 1;
        let is_first = state.dropped == 1;
        drop(state);
        if is_first {
            lifecycle_log::listeners_are_behind(MOST_WAITING);
        }
        Ok(())
    }

    /// The next event to be told; none if nothing waits.
    pub(super) fn next(&self) -> Option<News<L>> {
        self.state.lock().waiting.pop_front()
    }

    /// The number of events that had no room since the last call.
    pub(super) fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.state.lock().dropped)
    }

    /// The number of events that were never told.
    pub(crate) fn untold(&self) -> u64 {
        self.state.lock().untold
    }
}
