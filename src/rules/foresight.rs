//! Foresight: the time before the end of a silent peer's window at which the members are read, on a
//! slow way to the store.

use std::time::Duration;

/// A reading that takes longer says nothing about the next: the store was away.
const LONGEST_READ: Duration = Duration::from_secs(3);

/// The largest lateness of a check-in of a node that lives, beyond its interval; with a small
/// tolerance half of that is enough.
const LARGEST_LATENESS_MS: i64 = 2000;

/// The largest lateness of a check-in of a node that lives, beyond its interval.
pub(super) fn lateness_ms(tolerance_ms: i64) -> i64 {
    LARGEST_LATENESS_MS.min(tolerance_ms / 2)
}

/// The time before the end of a peer's window at which the observer reads the members to foresee
/// that end, so that the recovery can begin at the end. The time is that of a read and a recovery,
/// by the slowest of the last reads. By then the peer is later already than a node that lives ever
/// is.
pub(crate) fn foresight_ms(slowest_read_ms: i64, own_interval_ms: i64, tolerance_ms: i64) -> i64 {
    slowest_read_ms.saturating_mul(2).min(own_interval_ms).min(tolerance_ms.saturating_sub(lateness_ms(tolerance_ms)))
}

/// The slowest of the last readings, after one more: an older one counts for less, and none for
/// more than `LONGEST_READ`.
pub(crate) fn slowest_read(before: Duration, read: Duration) -> Duration {
    read.min(LONGEST_READ).max(before * 15 / 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::epoch::millis;

    #[test]
    fn a_slow_way_to_the_store_is_foreseen() {
        let reads = [10, 900, 20, 20].map(Duration::from_millis);
        let slowest = reads.into_iter().fold(Duration::ZERO, slowest_read);
        assert_eq!(millis(slowest), 791, "two sixteenths less than the slow one");
        assert_eq!(foresight_ms(791, 15_000, 7_500), 1_582);
        assert_eq!(foresight_ms(791, 1_000, 7_500), 1_000, "the next look comes before");
        // A minute without an answer is an outage, and a peer that may live is not suspected.
        let away = slowest_read(slowest, Duration::from_secs(60));
        assert_eq!((millis(away), foresight_ms(millis(away), 15_000, 7_500)), (3_000, 5_500));
        assert_eq!(foresight_ms(0, 15_000, 7_500), 0);
    }
}
