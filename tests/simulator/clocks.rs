//! The clocks of a simulation: each follows from its true time, and none of them goes on by itself.

use super::world::{has_world, world};
use carnelian::clock::{Clock, Signal, Woken};
use chrono::{DateTime, Utc};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::Duration;

/// 2026-03-01T12:00:00Z, where every simulation begins.
const START_MS: i64 = 1_772_366_400_000;

/// The true time. The time stands still for threads beside the simulation: the pool of SQLite's
/// connections has some, and asks how long a connection has rested.
fn now() -> u64 {
    if has_world() { world().now() } else { 0 }
}

/// No simulation lasts so long.
const LONGEST: Duration = Duration::from_secs(1_000_000);

/// The clock of a node, or of the store.
#[derive(Debug, Default)]
pub struct SimClock {
    /// The number of the node; none for the store.
    node: Option<usize>,
    /// The true time at which its ticks began, in microseconds.
    origin: u64,
    /// The number of millionths by which it is too fast.
    drift: i64,
    /// The wall clock is ahead by so much.
    ahead_ms: AtomicI64,
    /// True if the owner of the clock is dead: no wait lasts.
    stopped: AtomicBool,
}

impl SimClock {
    pub fn of_store(drift: i64) -> Self {
        Self { drift, ..Self::default() }
    }

    pub fn of_node(node: usize, origin: u64, drift: i64, ahead_ms: i64) -> Self {
        Self { node: Some(node), origin, drift, ahead_ms: ahead_ms.into(), ..Self::default() }
    }

    /// Sets the wall clock forward, or back.
    pub fn shift(&self, ms: i64) {
        self.ahead_ms.fetch_add(ms, Ordering::SeqCst);
    }

    pub fn stop(&self) {
        self.stopped.store(true, Ordering::SeqCst);
    }

    /// The first true time at which the ticks have come so far; never for a time that no simulation
    /// lives to see.
    pub fn when(&self, ticks: Duration) -> u64 {
        if ticks > LONGEST {
            return u64::MAX;
        }
        let wanted = u64::try_from(ticks.as_nanos().div_ceil(1_000)).expect("a short time");
        let passed = i128::from(wanted) * 1_000_000 / i128::from(1_000_000 + self.drift);
        let mut at = self.origin + u64::try_from(passed).expect("time goes on");
        while self.ticks_at(at) < wanted {
            at += 1;
        }
        at
    }

    fn ticks_at(&self, now: u64) -> u64 {
        let passed = i128::from(now.saturating_sub(self.origin)) * i128::from(1_000_000 + self.drift) / 1_000_000;
        u64::try_from(passed).expect("time goes on")
    }
}

impl Clock for SimClock {
    fn wall_time(&self) -> DateTime<Utc> {
        let passed = self.origin + self.ticks_at(now());
        let passed_ms = i64::try_from(passed / 1_000).expect("a short time");
        let wall_ms = START_MS + passed_ms + self.ahead_ms.load(Ordering::SeqCst);
        DateTime::from_timestamp_millis(wall_ms).expect("a date")
    }

    fn ticks(&self) -> Duration {
        Duration::from_micros(self.ticks_at(now()))
    }

    /// The others go on meanwhile.
    fn wait(&self, signal: &Signal, until: Option<Duration>) -> Woken {
        let until = until.map_or(u64::MAX, |until| self.when(until));
        let world = world();
        loop {
            if let Some(woken) = signal.take_news() {
                return woken;
            }
            if self.stopped.load(Ordering::SeqCst) || world.now() >= until {
                return Woken::TimedOut;
            }
            assert!(self.node.is_some(), "the store waits for nothing");
            if !world.step(until) {
                world.advance_to(until);
            }
        }
    }
}
