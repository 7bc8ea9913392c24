//! `Fires`: what the measured jobs note when they begin.

use carnelian::clock::Signal;
use carnelian::clock::{Clock, SystemClock};
use carnelian::{JobContext, JobError};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

/// The times at which the fires of all nodes began. Without a lock: workers that queue here would
/// be measured as well.
pub struct Fires {
    clock: SystemClock,
    /// The time since the origin of the clock at which the fire that was expected last began, in
    /// nanoseconds.
    last_ns: AtomicU64,
    /// The number of fires that have begun.
    began: AtomicUsize,
    /// The lateness of each fire, in milliseconds, in the order in which they began.
    late_ms: Vec<AtomicI64>,
    /// No fire is later than since then, in epoch milliseconds: for what was due before the nodes
    /// were started.
    since_ms: AtomicI64,
    /// Raised by the fire that was expected last.
    all: Signal,
}

impl Fires {
    pub fn expecting(fires: usize) -> Arc<Self> {
        Arc::new(Self {
            clock: SystemClock::default(),
            last_ns: AtomicU64::new(0),
            began: AtomicUsize::new(0),
            late_ms: (0..fires).map(|_| AtomicI64::new(0)).collect(),
            since_ms: AtomicI64::new(i64::MIN),
            all: Signal::default(),
        })
    }

    /// The code of a job that notes its fires here, and how many have begun on its node.
    pub fn job(self: &Arc<Self>, here: &Arc<AtomicUsize>) -> impl Fn(&mut JobContext) -> Result<(), JobError> + use<> {
        let (fires, here) = (Arc::clone(self), Arc::clone(here));
        move |ctx| {
            here.fetch_add(1, Ordering::Relaxed);
            fires.note(ctx.scheduled_fire_time().timestamp_millis());
            Ok(())
        }
    }

    fn note(&self, scheduled_ms: i64) {
        let due_ms = scheduled_ms.max(self.since_ms.load(Ordering::Relaxed));
        let at = self.began.fetch_add(1, Ordering::Relaxed);
        if let Some(late_ms) = self.late_ms.get(at) {
            late_ms.store(self.clock.wall_time().timestamp_millis() - due_ms, Ordering::Relaxed);
        }
        if at + 1 == self.late_ms.len() {
            self.last_ns.store(u64::try_from(self.clock.ticks().as_nanos()).unwrap_or(u64::MAX), Ordering::Release);
            self.all.raise();
        }
    }

    /// Begins the measurement: fires that were due before this moment are late since then. Returns
    /// the moment, by the monotonic clock.
    pub fn begin(&self) -> Duration {
        self.since_ms.store(self.clock.wall_time().timestamp_millis(), Ordering::Relaxed);
        self.clock.ticks()
    }

    pub fn expected(&self) -> usize {
        self.late_ms.len()
    }

    pub fn began(&self) -> usize {
        self.began.load(Ordering::Relaxed)
    }

    pub fn now(&self) -> Duration {
        self.clock.ticks()
    }

    /// Waits until the last fire has begun, at most for so long; when it has, gives the moment.
    pub fn wait(&self, time: Duration) -> Option<Duration> {
        if self.last_ns.load(Ordering::Acquire) == 0 {
            self.clock.wait(&self.all, Some(self.clock.ticks() + time));
        }
        match self.last_ns.load(Ordering::Acquire) {
            0 => None,
            ns => Some(Duration::from_nanos(ns)),
        }
    }

    /// The lateness of the fires, in milliseconds.
    pub fn late_ms(&self) -> Vec<i64> {
        self.late_ms.iter().take(self.began()).map(|late| late.load(Ordering::Relaxed)).collect()
    }
}
