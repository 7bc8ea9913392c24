//! `FastPathBreaker`: whether new work is stored by one call of a function. No call is made where
//! there is no function, and for a while after calls have failed again and again: each failure is a
//! way to the server and back for nothing.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The number of lasting failures in a row that are no accident any more.
const MOST_FAILURES: u32 = 3;

/// The time for which calls are left alone after so many failures.
const PAUSE: Duration = Duration::from_secs(60);

/// Shared by all callers of a store; times are ticks.
#[derive(Debug, Default)]
pub(super) struct FastPathBreaker {
    lacks_function: AtomicBool,
    failures: AtomicU32,
    paused_until_ms: AtomicU64,
}

impl FastPathBreaker {
    /// Tells whether a call is worth a try.
    pub(super) fn is_taken(&self, now: Duration) -> bool {
        !self.lacks_function.load(Ordering::Relaxed)
            && now.as_millis() >= u128::from(self.paused_until_ms.load(Ordering::Relaxed))
    }

    /// Notes what a look for the function has found.
    pub(super) fn note_function(&self, is_there: bool) {
        self.lacks_function.store(!is_there, Ordering::Relaxed);
        self.failures.store(0, Ordering::Relaxed);
        self.paused_until_ms.store(0, Ordering::Relaxed);
    }

    pub(super) fn succeeded(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    /// A call has failed and will fail again; returns whether it is the one after which there are
    /// none for a while.
    pub(super) fn failed(&self, now: Duration) -> bool {
        let is_last = self.failures.fetch_add(1, Ordering::Relaxed) + 1 == MOST_FAILURES;
        if is_last {
            self.failures.store(0, Ordering::Relaxed);
            let until = now.saturating_add(PAUSE).as_millis();
            self.paused_until_ms.store(u64::try_from(until).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        is_last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_are_enough_for_a_while() {
        let (breaker, now) = (FastPathBreaker::default(), Duration::from_secs(5));
        assert!(breaker.is_taken(now));
        assert_eq!([breaker.failed(now), breaker.failed(now)], [false, false]);
        breaker.succeeded();
        assert_eq!([breaker.failed(now), breaker.failed(now), breaker.failed(now)], [false, false, true]);
        assert!(!breaker.is_taken(now + PAUSE - Duration::from_millis(1)));
        assert!(breaker.is_taken(now + PAUSE));
        assert_eq!([breaker.failed(now), breaker.failed(now), breaker.failed(now)], [false, false, true]);
        breaker.note_function(true);
        assert!(breaker.is_taken(now));
        breaker.note_function(false);
        assert!(!breaker.is_taken(now + PAUSE));
    }
}
