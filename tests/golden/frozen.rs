//! `FrozenClock`: stands still until it is moved on, as the clock did under which Quartz wrote the
//! data.

use carnelian::clock::Clock;
use carnelian::clock::{Signal, Woken};
use chrono::{DateTime, Utc};
use std::sync::Mutex;
use std::time::Duration;

/// Both clocks of one machine.
pub struct FrozenClock {
    time: Mutex<(DateTime<Utc>, Duration)>,
}

impl FrozenClock {
    pub fn at(wall_time: DateTime<Utc>) -> Self {
        Self { time: Mutex::new((wall_time, Duration::ZERO)) }
    }

    /// Moves both on.
    pub fn advance(&self, by: Duration) {
        let mut time = self.time.lock().expect("nobody panics with it");
        time.0 += by;
        time.1 += by;
    }
}

impl Clock for FrozenClock {
    fn wall_time(&self) -> DateTime<Utc> {
        self.time.lock().expect("nobody panics with it").0
    }

    fn ticks(&self) -> Duration {
        self.time.lock().expect("nobody panics with it").1
    }

    fn wait(&self, _: &Signal, _: Option<Duration>) -> Woken {
        Woken::TimedOut
    }
}
