//! `Signal`: wakes a waiting service, also if it is raised before the wait begins; and `Flag`, a
//! switch that threads share.

use parking_lot::{Condvar, Mutex};
use std::sync::Arc;
#[cfg(any(test, feature = "test-util"))]
use std::sync::Weak;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// Raised by whoever has news for a service; one wait takes all raises before it.
#[derive(Debug, Default)]
pub struct Signal {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    raised: bool,
    stopped: bool,
    /// Wakes a waiter that waits for a socket as well.
    #[cfg(feature = "postgres")]
    waker: Option<Arc<mio::Waker>>,
}

impl State {
    #[cfg(feature = "postgres")]
    fn wake(&self) {
        // A waiter that cannot be woken looks at the signal after its time.
        self.waker.iter().for_each(|waker| drop(waker.wake()));
    }

    #[cfg(not(feature = "postgres"))]
    fn wake(&self) {}

    fn news(&mut self) -> Option<Woken> {
        if self.stopped {
            return Some(Woken::Stopped);
        }
        std::mem::take(&mut self.raised).then_some(Woken::Raised)
    }
}

/// A switch that threads share.
#[derive(Debug, Default)]
pub(crate) struct Flag(AtomicBool);

impl Flag {
    pub(crate) const fn new(is_set: bool) -> Self {
        Self(AtomicBool::new(is_set))
    }

    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }

    pub(crate) fn set(&self, is_set: bool) {
        self.0.store(is_set, Ordering::SeqCst);
    }

    /// Sets it, and returns how it was set before.
    pub(crate) fn swap(&self, is_set: bool) -> bool {
        self.0.swap(is_set, Ordering::SeqCst)
    }
}

/// Why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// The signal was raised.
    Raised,
    /// The time was reached.
    TimedOut,
    /// The service is to end; every further wait ends at once.
    Stopped,
}

impl Signal {
    /// Wakes the waiter, or the next one to wait.
    pub fn raise(&self) {
        let mut state = self.shared.state.lock();
        state.raised = true;
        state.wake();
        drop(state);
        self.shared.changed.notify_all();
    }

    /// Ends this and every further wait.
    pub fn stop(&self) {
        let mut state = self.shared.state.lock();
        state.stopped = true;
        state.wake();
        drop(state);
        self.shared.changed.notify_all();
    }

    /// True if [`Signal::stop`] was called.
    pub fn is_stopped(&self) -> bool {
        self.shared.state.lock().stopped
    }

    /// True if a wait would end at once.
    #[cfg(feature = "test-util")]
    pub(crate) fn has_news(&self) -> bool {
        let state = self.shared.state.lock();
        state.raised || state.stopped
    }

    /// The end of a wait that would end at once.
    // For clocks of this project's tests; carries no promise.
    #[cfg(any(feature = "test-util", feature = "postgres"))]
    #[doc(hidden)]
    pub fn take_news(&self) -> Option<Woken> {
        self.shared.state.lock().news()
    }

    /// Has every raise and the stop wake this one too: the waiter waits for a socket as well.
    #[cfg(feature = "postgres")]
    pub(crate) fn wake_too(&self, waker: &Arc<mio::Waker>) {
        self.shared.state.lock().waker = Some(Arc::clone(waker));
    }

    /// Waits for a raise, for the stop, or until `deadline`.
    pub(crate) fn wait(&self, deadline: Option<Instant>) -> Woken {
        let mut state = self.shared.state.lock();
        loop {
            if let Some(woken) = state.news() {
                return woken;
            }
            match deadline {
                None => self.shared.changed.wait(&mut state),
                Some(deadline) => {
                    if self.shared.changed.wait_until(&mut state, deadline).timed_out() {
                        return state.news().unwrap_or(Woken::TimedOut);
                    }
                }
            }
        }
    }

    /// Waits for a raise, for the stop, or until `is_over`, which is asked again after each
    /// [`Nudge`].
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn wait_unless(&self, is_over: impl Fn() -> bool) -> Woken {
        let mut state = self.shared.state.lock();
        loop {
            if let Some(woken) = state.news() {
                return woken;
            }
            if is_over() {
                return Woken::TimedOut;
            }
            self.shared.changed.wait(&mut state);
        }
    }

    /// A way to make a waiter look at its condition again.
    #[cfg(any(test, feature = "test-util"))]
    pub(crate) fn nudge(&self) -> Nudge {
        Nudge { shared: Arc::downgrade(&self.shared) }
    }
}

/// Makes the waiter of a signal look at its condition again.
#[cfg(any(test, feature = "test-util"))]
#[derive(Clone, Debug)]
pub(crate) struct Nudge {
    shared: Weak<Shared>,
}

#[cfg(any(test, feature = "test-util"))]
impl Nudge {
    /// Wakes the waiter, if the signal still exists.
    pub(crate) fn push(&self) {
        if let Some(shared) = self.shared.upgrade() {
            drop(shared.state.lock());
            shared.changed.notify_all();
        }
    }

    /// True if both are of one signal.
    pub(crate) fn is_same(&self, other: &Nudge) -> bool {
        self.shared.ptr_eq(&other.shared)
    }
}
