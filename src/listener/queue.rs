//! `Queue`: what the services have to tell the listeners, until the thread that tells it comes to
//! it.

use super::{Listeners, log};
use crate::signal::Signal;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::sync::Arc;

/// More than this is not kept: listeners that do not keep up cost no more memory than that.
const MOST_WAITING: usize = 10_000;

/// Something to be told.
pub(super) type News = Box<dyn FnOnce(&Listeners) + Send>;

/// News in the order in which they came.
#[derive(Default)]
pub(crate) struct Queue {
    state: Mutex<State>,
    /// Raised when there is something to tell.
    pub(crate) signal: Arc<Signal>,
}

#[derive(Default)]
struct State {
    /// Somebody tells what is put here.
    is_open: bool,
    waiting: VecDeque<News>,
    /// News for which there was no room, since that was last told, and in all.
    dropped: u64,
    untold: u64,
}

impl Queue {
    /// From now on there is a thread that tells what is put here.
    pub(super) fn open(&self) {
        self.state.lock().is_open = true;
    }

    /// From now on there is none. What waits is not told any more; returns how much that is.
    pub(super) fn close(&self) -> usize {
        let mut state = self.state.lock();
        state.is_open = false;
        let left = std::mem::take(&mut state.waiting);
        state.untold += left.len() as u64;
        left.len()
    }

    /// Puts news at the end; gives them back if nobody would tell them.
    pub(super) fn put(&self, news: News) -> Result<(), News> {
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
            log::listeners_are_behind(MOST_WAITING);
        }
        Ok(())
    }

    /// What is to be told next; none if nothing waits.
    pub(super) fn next(&self) -> Option<News> {
        self.state.lock().waiting.pop_front()
    }

    /// How much had no room since this was last asked.
    pub(super) fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.state.lock().dropped)
    }

    /// How much was never told.
    pub(crate) fn untold(&self) -> u64 {
        self.state.lock().untold
    }
}
