//! `Counter` and `Histogram`: numbers that only grow, counted without locks and without allocation.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A number that only grows.
#[derive(Debug, Default)]
pub(crate) struct Counter(AtomicU64);

impl Counter {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The upper bounds of the buckets of every histogram, in milliseconds, and as Prometheus writes
/// them, in seconds. Durations longer than the last bound have a bucket of their own.
pub(crate) const BOUNDS: [(u64, &str); 18] = [
    (1, "0.001"),
    (2, "0.002"),
    (5, "0.005"),
    (10, "0.01"),
    (25, "0.025"),
    (50, "0.05"),
    (100, "0.1"),
    (250, "0.25"),
    (500, "0.5"),
    (1_000, "1"),
    (2_500, "2.5"),
    (5_000, "5"),
    (10_000, "10"),
    (30_000, "30"),
    (60_000, "60"),
    (300_000, "300"),
    (1_800_000, "1800"),
    (3_600_000, "3600"),
];

/// The number of buckets.
pub(crate) const BUCKETS: usize = BOUNDS.len() + 1;

/// Counts of durations by length: two additions for each duration.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [Bucket; BUCKETS],
}

/// The sum of each bucket is kept, so that its true mean can be shown later.
#[derive(Debug, Default)]
struct Bucket {
    count: AtomicU64,
    nanos: AtomicU64,
}

impl Histogram {
    pub(crate) fn observe(&self, duration: Duration) {
        let at = BOUNDS.partition_point(|(most_ms, _)| Duration::from_millis(*most_ms) < duration);
        let Some(bucket) = self.buckets.get(at) else { return };
        bucket.nanos.fetch_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        // Afterwards: who has seen the count sees the sum.
        bucket.count.fetch_add(1, Ordering::Release);
    }

    pub(crate) fn values(&self) -> HistogramValues {
        let bucket = |bucket: &Bucket| BucketValues {
            count: bucket.count.load(Ordering::Acquire),
            nanos: bucket.nanos.load(Ordering::Relaxed),
        };
        HistogramValues { buckets: std::array::from_fn(|i| self.buckets.get(i).map_or_else(Default::default, bucket)) }
    }
}

/// The counts of a histogram so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct HistogramValues {
    pub(crate) buckets: [BucketValues; BUCKETS],
}

/// The count of one bucket so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BucketValues {
    pub(crate) count: u64,
    pub(crate) nanos: u64,
}

impl HistogramValues {
    pub(crate) fn seconds(&self) -> f64 {
        self.buckets.iter().map(|bucket| bucket.nanos as f64 / 1e9).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_bucket_whose_bound_it_does_not_exceed() {
        let histogram = Histogram::default();
        for ms in [0, 1, 2, 3, 3_600_000, 3_600_001, 90_000_000] {
            histogram.observe(Duration::from_millis(ms));
        }
        let values = histogram.values();
        let counts: Vec<u64> = values.buckets.iter().map(|bucket| bucket.count).collect();
        assert_eq!((counts[0], counts[1], counts[2], counts[17], counts[18]), (2, 1, 1, 1, 2), "{counts:?}");
        assert_eq!((counts.iter().sum::<u64>(), values.seconds()), (7, 97_200.007));
    }

    #[test]
    fn the_bounds_say_the_same_in_both_units_and_grow() {
        for (ms, seconds) in BOUNDS {
            assert_eq!(seconds.parse::<f64>().expect("a number") * 1000.0, ms as f64);
        }
        assert!(BOUNDS.is_sorted_by_key(|(ms, _)| *ms));
    }
}
