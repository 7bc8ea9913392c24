//! `Holidays`: dates that are excluded.

use crate::local;
use chrono::{DateTime, NaiveDate, Utc};
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
/// let noon = "2026-03-01T12:00:00Z".parse()?;
/// assert!(!calendar.is_time_included(noon));
/// assert_eq!(calendar.next_included_time(noon), Some("2026-03-02T00:00:00Z".parse()?));
/// # Ok::<(), chrono::ParseError>(())
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

    /// Excludes the days that begin at these instants: the form that Quartz stores.
    pub fn beginning_at(starts: impl IntoIterator<Item = DateTime<Utc>>) -> Self {
        Self::beginning_at_ms(starts.into_iter().map(|start| start.timestamp_millis()))
    }

    /// As [`Holidays::beginning_at`], in epoch milliseconds.
    pub(super) fn beginning_at_ms(starts: impl IntoIterator<Item = i64>) -> Self {
        Self { dates: BTreeSet::new(), starts: starts.into_iter().collect() }
    }

    /// The instants at which the excluded days begin in a zone, ascending: the form that Quartz
    /// stores. A stored instant beyond all dates excludes nothing, and is left out.
    pub fn starts(&self, zone: Tz) -> BTreeSet<DateTime<Utc>> {
        self.starts_ms(zone).into_iter().filter_map(DateTime::from_timestamp_millis).collect()
    }

    /// As [`Holidays::starts`], in epoch milliseconds.
    pub(super) fn starts_ms(&self, zone: Tz) -> BTreeSet<i64> {
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
