//! `Holidays`: dates that are excluded.

use crate::local;
use chrono::NaiveDate;
use chrono_tz::Tz;
use std::collections::BTreeSet;

/// Excludes dates.
///
/// Quartz keeps a date as the instant at which it begins in the zone it was added in. Instants read
/// from a table are kept as they are: they exclude a day only if it begins at just that instant in
/// the calendar's zone.
///
/// ```
/// use carnelian::calendar::{Calendar, Holidays};
/// use chrono::NaiveDate;
///
/// let calendar = Calendar::new(Holidays::on(NaiveDate::from_ymd_opt(2026, 3, 1)));
/// assert!(!calendar.is_time_included(1_772_366_400_000)); // 1 March 2026, noon
/// assert_eq!(calendar.next_included_time(1_772_366_400_000), Some(1_772_409_600_000));
/// ```
#[doc(alias = "org.quartz.impl.calendar.HolidayCalendar")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holidays {
    dates: BTreeSet<NaiveDate>,
    starts: BTreeSet<i64>,
}

impl Holidays {
    /// Excludes these dates, in whatever zone the calendar is read.
    pub fn on(dates: impl IntoIterator<Item = NaiveDate>) -> Self {
        Self { dates: dates.into_iter().collect(), starts: BTreeSet::new() }
    }

    /// Excludes the days that begin at these instants, in epoch milliseconds: the form that Quartz
    /// stores.
    pub fn beginning_at(starts: impl IntoIterator<Item = i64>) -> Self {
        Self { dates: BTreeSet::new(), starts: starts.into_iter().collect() }
    }

    /// The instants at which the excluded days begin in a zone, ascending: the form that Quartz
    /// stores.
    pub fn starts(&self, zone: Tz) -> BTreeSet<i64> {
        let of_dates = self.dates.iter().filter_map(|date| local::instant(*date, 0, zone));
        of_dates.chain(self.starts.iter().copied()).collect()
    }

    pub(super) fn includes(&self, ms: i64, zone: Tz) -> Option<bool> {
        let date = local::date_at(ms, zone)?;
        let excluded = self.dates.contains(&date)
            || (!self.starts.is_empty() && self.starts.contains(&local::instant(date, 0, zone)?));
        Some(!excluded)
    }
}
