//! `FrozenClock`: stands still until it is moved on, as the clock did under which Quartz wrote the
//! data.

use carnelian::clock::Clock;
use carnelian::clock::{Signal, Woken};
use std::sync::Mutex;
use std::time::Duration;

/// Both clocks of one machine.
pub struct FrozenClock {
    time: Mutex<(i64, Duration)>,
}

impl FrozenClock {
    pub fn at(wall_ms: i64) -> Self {
        Self { time: Mutex::new((wall_ms, Duration::ZERO)) }
    }

    /// Moves both on.
    pub fn advance(&self, by: Duration) {
        let mut time = self.time.lock().expect("nobody panics with it");
        time.0 += i64::try_from(by.as_millis()).expect("a span");
        time.1 += by;
    }
}

impl Clock for FrozenClock {
    fn wall_ms(&self) -> i64 {
        self.time.lock().expect("nobody panics with it").0
    }

    fn ticks(&self) -> Duration {
        self.time.lock().expect("nobody panics with it").1
    }

    fn wait(&self, _: &Signal, _: Option<Duration>) -> Woken {
        Woken::TimedOut
    }
}
