//! `Clock`: the only place where time is read or waited for.

#[cfg(any(test, feature = "test-util"))]
use crate::signal::Nudge;
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

/// A clock that stands still until it is told to go on; for tests of jobs and of this crate.
///
/// ```
/// use carnelian::clock::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::at(1_000);
/// clock.advance(Duration::from_secs(2));
/// assert_eq!((clock.wall_ms(), clock.ticks()), (3_000, Duration::from_secs(2)));
/// ```
#[cfg(any(test, feature = "test-util"))]
#[derive(Debug, Default)]
pub struct ManualClock {
    time: parking_lot::Mutex<(i64, Duration)>,
    waiters: parking_lot::Mutex<Vec<(Nudge, Option<Duration>)>>,
}

#[cfg(any(test, feature = "test-util"))]
impl ManualClock {
    /// A clock whose wall time is `wall_ms` and whose ticks begin at zero.
    pub fn at(wall_ms: i64) -> Self {
        Self { time: parking_lot::Mutex::new((wall_ms, Duration::ZERO)), ..Self::default() }
    }

    /// Moves both clocks on and wakes whoever waited for a time that is now past.
    pub fn advance(&self, by: Duration) {
        {
            let mut time = self.time.lock();
            time.0 = time.0.saturating_add(i64::try_from(by.as_millis()).unwrap_or(i64::MAX));
            time.1 = time.1.saturating_add(by);
        }
        self.wake();
    }

    /// Sets the wall clock alone, as an administrator or NTP would.
    pub fn set_wall_ms(&self, wall_ms: i64) {
        self.time.lock().0 = wall_ms;
    }

    /// The earliest time anybody waits for.
    pub fn next_deadline(&self) -> Option<Duration> {
        self.waiters.lock().iter().filter_map(|(_, until)| *until).min()
    }

    fn wake(&self) {
        let waiters = std::mem::take(&mut *self.waiters.lock());
        let now = self.ticks();
        let (due, later): (Vec<_>, Vec<_>) = waiters.into_iter().partition(|(_, u)| u.is_some_and(|u| u <= now));
        self.waiters.lock().extend(later);
        for (nudge, _) in due {
            nudge.push();
        }
    }
}

#[cfg(any(test, feature = "test-util"))]
impl Clock for ManualClock {
    fn wall_ms(&self) -> i64 {
        self.time.lock().0
    }

    fn ticks(&self) -> Duration {
        self.time.lock().1
    }

    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken {
        let nudge = signal.nudge();
        let mine = nudge.clone();
        self.waiters.lock().push((nudge, until));
        let woken = signal.wait_unless(|| until.is_some_and(|until| self.ticks() >= until));
        self.waiters.lock().retain(|(nudge, u)| !(nudge.is_same(&mine) && *u == until));
        woken
    }
}
