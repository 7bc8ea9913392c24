//! `Clock`: the only place where time is read or waited for.

use crate::signal::{Signal, Woken};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Wall time for rows and schedules, monotonic time for waiting and for judging how long something took.
///
/// A clock that jumps shifts when things happen, never what is true: no waiting depends on wall time.
pub trait Clock: Send + Sync {
    /// The wall clock, in epoch milliseconds.
    fn wall_ms(&self) -> i64;

    /// The monotonic clock, since some fixed moment of this process.
    fn ticks(&self) -> Duration;

    /// Waits until the signal is raised or stopped, or until the monotonic clock reaches `until`.
    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken;
}

/// The clocks of the machine.
#[derive(Debug)]
pub struct SystemClock {
    origin: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the clock module reads the clock")]
        let origin = Instant::now();
        Self { origin }
    }
}

impl Clock for SystemClock {
    fn wall_ms(&self) -> i64 {
        #[expect(clippy::disallowed_methods, reason = "the clock module reads the clock")]
        let now = SystemTime::now();
        match now.duration_since(UNIX_EPOCH) {
            Ok(since) => i64::try_from(since.as_millis()).unwrap_or(i64::MAX),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        }
    }

    fn ticks(&self) -> Duration {
        self.origin.elapsed()
    }

    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken {
        signal.wait(until.map(|until| self.origin + until))
    }
}
