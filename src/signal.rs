//! `Signal`: wakes a waiting service, also if it is raised before the wait begins.

use parking_lot::{Condvar, Mutex};
use std::time::Instant;

/// Raised by whoever has news for a service; one wait takes all raises before it.
#[derive(Debug, Default)]
pub struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    raised: bool,
    stopped: bool,
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There is news.
    Raised,
    /// The time was reached.
    TimedOut,
    /// The service is to end; every further wait ends at once.
    Stopped,
}

impl Signal {
    /// Wakes the waiter, or the next one to wait.
    pub fn raise(&self) {
        self.state.lock().raised = true;
        self.changed.notify_all();
    }

    /// Ends this and every further wait.
    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_all();
    }

    /// Whether [`Signal::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.state.lock().stopped
    }

    /// Waits for a raise, for the stop, or until `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Woken {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return Woken::Stopped;
            }
            if std::mem::take(&mut state.raised) {
                return Woken::Raised;
            }
            match deadline {
                None => self.changed.wait(&mut state),
                Some(deadline) => {
                    if self.changed.wait_until(&mut state, deadline).timed_out() && !state.raised && !state.stopped {
                        return Woken::TimedOut;
                    }
                }
            }
        }
    }
}
