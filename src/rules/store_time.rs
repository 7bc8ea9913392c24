//! Store time: when a moment of the store's clock is by the clock of this process.

use std::time::Duration;

/// For so long a reading counts; then the clocks may have drifted, or been set.
const BUCKET: Duration = Duration::from_secs(2);

/// The distance between the store's clock and this one, from readings of both.
///
/// A reading of the store's clock is as old as its way here took, and in whole milliseconds. The
/// age makes this clock look too far ahead, never too little. The least of the last readings is
/// therefore nearest, and a moment of the store never comes here too early.
#[derive(Debug, Default)]
pub(crate) struct StoreTime {
    /// The least distance of the readings since this time, in microseconds.
    current: Option<(Duration, i64)>,
    /// The least of those before.
    before: Option<i64>,
}

impl StoreTime {
    /// The store's clock said `store_ms`, and after that this one `ticks`.
    pub(crate) fn note(&mut self, ticks: Duration, store_ms: i64) {
        let apart = micros(ticks).saturating_sub(store_ms.saturating_mul(1000));
        match &mut self.current {
            Some((since, least)) if ticks < since.saturating_add(BUCKET) => *least = apart.min(*least),
            current => {
                // After a pause, readings of before it are too old.
                let is_recent = |since: &Duration| ticks < since.saturating_add(BUCKET * 2);
                self.before = current.take().filter(|(since, _)| is_recent(since)).map(|(_, least)| least);
                *current = Some((ticks, apart));
            }
        }
    }

    /// The moment at which the store's clock shows `store_ms`, in ticks; at once if nothing was
    /// ever read.
    pub(crate) fn ticks_at(&self, store_ms: i64) -> Duration {
        let apart = self.current.map(|(_, least)| least).into_iter().chain(self.before).min();
        let at = apart.map_or(0, |apart| store_ms.saturating_mul(1000).saturating_add(apart));
        Duration::from_micros(u64::try_from(at).unwrap_or(0))
    }
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_quickest_reading_counts_and_for_a_while_only() {
        let mut time = StoreTime::default();
        assert_eq!(time.ticks_at(5_000), Duration::ZERO);
        // The store began 1,000 ms before this clock; the answers took 7, 2 and 4 ms.
        for (store_ms, took) in [(2_000, 7), (2_100, 2), (2_200, 4)] {
            time.note(MS * (store_ms - 1_000 + took), store_ms.into());
        }
        assert_eq!(time.ticks_at(3_000), MS * 2_002);
        // The store's clock is set back by 100 ms: the old readings are forgotten after a while.
        for store_ms in [4_000_u32, 6_000, 8_000] {
            time.note(MS * (store_ms - 900 + 1), store_ms.into());
        }
        assert_eq!(time.ticks_at(9_000), MS * 8_101);
        // And forward again: that is seen at once.
        time.note(MS * (8_100 - 1_000 + 3), 8_100);
        assert_eq!(time.ticks_at(9_000), MS * 8_003);
    }

    /// A process stood still for 17 s, while its clock lost a thousandth.
    #[test]
    fn readings_of_before_a_pause_do_not_count() {
        let mut time = StoreTime::default();
        time.note(MS * 1_001, 1_000);
        time.note(MS * 18_018, 18_000);
        assert_eq!(time.ticks_at(18_000), MS * 18_018);
    }
}
