//! `Clock`: the only place where time is read or waited for.
//!
//! Ticks go on while the machine is suspended: on Linux they are `CLOCK_BOOTTIME`. Elsewhere they
//! are the monotonic clock of the standard library, which may stand still meanwhile. A `Moment`
//! tells of such a pause, and of a virtual machine that was paused as a whole, as soon as the wall
//! clock is right again.

use crate::epoch::{millis, moment};
#[cfg(any(test, feature = "test-util"))]
use crate::signal::Nudge;
pub use crate::signal::{Signal, Woken};
#[cfg(any(test, feature = "test-util"))]
use chrono::TimeDelta;
use chrono::{DateTime, Utc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Wall time for rows and schedules, monotonic time for waiting and for judging how long something
/// took.
///
/// A clock that jumps shifts when things happen, never what is true: no waiting depends on wall
/// time.
pub trait Clock: Send + Sync {
    /// The wall clock.
    fn wall_time(&self) -> DateTime<Utc>;

    /// The monotonic clock, since some fixed moment of this process; it goes on while the machine
    /// is suspended, if the system has such a clock.
    fn ticks(&self) -> Duration;

    /// Waits until the signal is raised or stopped, or until the monotonic clock reaches `until`.
    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken;
}

/// The lead of the wall clock over the ticks beyond which the machine counts as paused. The lead is
/// shorter than the time by which a node distrusts itself before others may convict it.
const LARGEST_LEAD_MS: i64 = 1000;

/// One moment on both clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    /// The monotonic clock.
    pub ticks: Duration,
    /// The lead of the wall clock over the monotonic clock.
    pub lead_ms: i64,
}

impl Moment {
    /// Now.
    pub(crate) fn now(clock: &dyn Clock) -> Self {
        let ticks = clock.ticks();
        let ticks_ms = millis(ticks);
        Self { ticks, lead_ms: clock.wall_time().timestamp_millis().saturating_sub(ticks_ms) }
    }

    /// True if time has passed since `earlier` that the ticks do not know of: the wall clock has
    /// run ahead. A wall clock that was set forward looks the same.
    pub(crate) fn was_paused_since(&self, earlier: &Moment) -> bool {
        self.lead_ms.saturating_sub(earlier.lead_ms) > LARGEST_LEAD_MS
    }
}

/// The clocks of the machine.
#[derive(Debug)]
pub struct SystemClock {
    origin: Ticker,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { origin: Ticker::now() }
    }
}

impl Clock for SystemClock {
    fn wall_time(&self) -> DateTime<Utc> {
        #[expect(clippy::disallowed_methods, reason = "the clock module reads the clock")]
        let now = SystemTime::now();
        moment(match now.duration_since(UNIX_EPOCH) {
            Ok(since) => millis(since),
            Err(before) => i64::try_from(before.duration().as_millis()).map_or(i64::MIN, |ms| -ms),
        })
    }

    fn ticks(&self) -> Duration {
        self.origin.elapsed()
    }

    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken {
        // The ticks are read first, so that they have come as far when the wait is over.
        let left = until.map(|until| until.saturating_sub(self.ticks()));
        #[expect(clippy::disallowed_methods, reason = "the clock module reads the clock")]
        let deadline = left.and_then(|left| Instant::now().checked_add(left));
        signal.wait(deadline)
    }
}

/// A reading of the clock that ticks are counted from.
#[cfg(target_os = "linux")]
#[derive(Debug)]
struct Ticker(Duration);

#[cfg(target_os = "linux")]
impl Ticker {
    fn now() -> Self {
        let read = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let (seconds, nanos) = (u64::try_from(read.tv_sec), u32::try_from(read.tv_nsec));
        Self(Duration::new(seconds.unwrap_or_default(), nanos.unwrap_or_default()))
    }

    fn elapsed(&self) -> Duration {
        Self::now().0.saturating_sub(self.0)
    }
}

/// A reading of the clock that ticks are counted from.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
struct Ticker(Instant);

#[cfg(not(target_os = "linux"))]
impl Ticker {
    fn now() -> Self {
        #[expect(clippy::disallowed_methods, reason = "the clock module reads the clock")]
        let now = Instant::now();
        Self(now)
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A clock that stands still until it is told to go on; for tests of jobs and of this crate.
///
/// Everything that waits goes by this clock: a shutdown that waits for a job, and a lock that is
/// waited for, return only when the test moves the clock, or when the job ends. A jump over the
/// time of a trigger by more than the misfire threshold is a misfire, as on a node that stood
/// still. [`SimulatedCluster`](crate::testing::SimulatedCluster) fires at the times between.
///
/// ```
/// use carnelian::clock::{Clock, ManualClock};
/// use std::time::Duration;
///
/// let clock = ManualClock::at("2026-03-01T12:00:00Z".parse()?);
/// clock.advance(Duration::from_secs(2));
/// assert_eq!(clock.wall_time().to_rfc3339(), "2026-03-01T12:00:02+00:00");
/// assert_eq!(clock.ticks(), Duration::from_secs(2));
/// # Ok::<(), chrono::ParseError>(())
/// ```
#[cfg(any(test, feature = "test-util"))]
#[derive(Debug, Default)]
pub struct ManualClock {
    time: parking_lot::Mutex<(DateTime<Utc>, Duration)>,
    waiters: parking_lot::Mutex<Vec<(Nudge, Option<Duration>)>>,
}

#[cfg(any(test, feature = "test-util"))]
impl ManualClock {
    /// A clock whose ticks begin at zero at this time.
    pub fn at(wall_time: DateTime<Utc>) -> Self {
        Self { time: parking_lot::Mutex::new((wall_time, Duration::ZERO)), ..Self::default() }
    }

    /// Moves both clocks on and wakes whoever waited for a time that is now past.
    pub fn advance(&self, by: Duration) {
        {
            let mut time = self.time.lock();
            time.0 = time
                .0
                .checked_add_signed(TimeDelta::from_std(by).unwrap_or(TimeDelta::MAX))
                .unwrap_or(DateTime::<Utc>::MAX_UTC);
            time.1 = time.1.saturating_add(by);
        }
        self.wake();
    }

    /// Sets the wall clock alone, as an administrator or NTP would.
    pub fn set_wall_time(&self, wall_time: DateTime<Utc>) {
        self.time.lock().0 = wall_time;
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
    fn wall_time(&self) -> DateTime<Utc> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_ends_when_the_ticks_have_come_so_far() {
        let clock = SystemClock::default();
        let until = clock.ticks() + Duration::from_millis(20);
        assert_eq!(clock.wait(&Signal::default(), Some(until)), Woken::TimedOut);
        assert!(clock.ticks() >= until);
        assert_eq!(clock.wait(&Signal::default(), Some(Duration::ZERO)), Woken::TimedOut);
    }

    /// A wait until a time that no deadline of the system can hold ends only by a raise.
    #[test]
    fn a_wait_without_an_end_ends_with_news() {
        let signal = Signal::default();
        signal.raise();
        assert_eq!(SystemClock::default().wait(&signal, Some(Duration::MAX)), Woken::Raised);
    }

    #[test]
    fn a_pause_is_time_that_the_ticks_do_not_know_of() {
        let clock = ManualClock::at(moment(1_000_000));
        let before = Moment::now(&clock);
        clock.advance(Duration::from_secs(3600));
        assert!(!Moment::now(&clock).was_paused_since(&before), "both clocks went on");
        clock.set_wall_time(clock.wall_time() + TimeDelta::seconds(1));
        assert!(!Moment::now(&clock).was_paused_since(&before));
        clock.set_wall_time(clock.wall_time() + TimeDelta::milliseconds(1));
        assert!(Moment::now(&clock).was_paused_since(&before));
        clock.set_wall_time(moment(0));
        assert!(!Moment::now(&clock).was_paused_since(&before), "a clock that was set back tells of no pause");
    }
}
