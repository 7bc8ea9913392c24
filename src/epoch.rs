//! Epoch milliseconds, in which tables and rules have times, as the types of the API.

use chrono::{DateTime, Utc};
use std::time::Duration;

/// The moment of an epoch millisecond; the far ends of time for values beyond what a calendar can
/// show.
pub(crate) fn moment(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or(if ms < 0 {
        DateTime::<Utc>::MIN_UTC
    } else {
        DateTime::<Utc>::MAX_UTC
    })
}

/// The length of a number of milliseconds; zero for a negative one.
pub(crate) fn length(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

/// A duration in whole milliseconds without a sign; the largest number for one beyond it.
pub(crate) fn whole_millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in whole milliseconds; the largest number for one beyond it.
pub(crate) fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
