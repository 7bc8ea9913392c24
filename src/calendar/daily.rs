//! `DailyRange`: a time of every day that is excluded, or that alone is included.

use crate::error::{Error, Result};
use crate::local::{self, DAY};
use chrono::{NaiveTime, TimeDelta, Timelike};
use chrono_tz::Tz;

/// Excludes a time of every day, or all of every day but that time.
///
/// Both ends belong to the range. As in Quartz the very first and the very last millisecond of a
/// day are never included, unless the range that alone is included has them.
///
/// ```
/// use carnelian::calendar::{Calendar, DailyRange};
/// use chrono::NaiveTime;
///
/// let (eight, six) = (NaiveTime::from_hms_opt(8, 0, 0), NaiveTime::from_hms_opt(18, 0, 0));
/// let (eight, six) = (eight.unwrap_or_default(), six.unwrap_or_default());
/// let office_hours = Calendar::new(DailyRange::including_only(eight, six)?);
/// assert!(office_hours.is_time_included("2026-03-01T12:00:00Z".parse()?));
/// let the_rest = Calendar::new(DailyRange::excluding(eight, six)?);
/// assert!(!the_rest.is_time_included("2026-03-01T12:00:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "org.quartz.impl.calendar.DailyCalendar")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyRange {
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
    inverted: bool,
}

/// The instants of one day that matter.
struct Bounds {
    start_of_day: i64,
    from: i64,
    to: i64,
    end_of_day: i64,
}

impl DailyRange {
    /// Excludes every day from `from` to `to`, in whole milliseconds, both included in what is left
    /// out.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `from` is not before `to`.
    pub fn excluding(from: NaiveTime, to: NaiveTime) -> Result<Self> {
        Self::new(from, to, false)
    }

    /// Excludes every day all but the time from `from` to `to`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if `from` is not before `to`.
    #[doc(alias = "invertTimeRange")]
    pub fn including_only(from: NaiveTime, to: NaiveTime) -> Result<Self> {
        Self::new(from, to, true)
    }

    fn new(from: NaiveTime, to: NaiveTime, inverted: bool) -> Result<Self> {
        let of_day = |time: NaiveTime| {
            let ms = i64::from(time.num_seconds_from_midnight()) * 1000 + i64::from(time.nanosecond() / 1_000_000);
            ms.min(DAY - 1)
        };
        let (from_ms, to_ms) = (of_day(from), of_day(to));
        if from_ms >= to_ms {
            return Err(Error::invalid(
                "daily range",
                format!("{from} to {to}"),
                "expected the end after the beginning",
            ));
        }
        Ok(Self { from_ms, to_ms, inverted })
    }

    /// The beginning of the range.
    pub fn start_time_of_day(&self) -> NaiveTime {
        time_of_day(self.from_ms)
    }

    /// The end of the range, which belongs to it.
    pub fn end_time_of_day(&self) -> NaiveTime {
        time_of_day(self.to_ms)
    }

    /// True if only the range is included.
    pub fn includes_only_range(&self) -> bool {
        self.inverted
    }

    pub(super) fn includes(&self, ms: i64, zone: Tz) -> Option<bool> {
        let day = self.bounds(ms, zone)?;
        Some(if self.inverted {
            day.from <= ms && ms <= day.to
        } else {
            (day.start_of_day < ms && ms < day.from) || (day.to < ms && ms < day.end_of_day)
        })
    }

    /// The end of the excluded span at an excluded instant.
    pub(super) fn skip(&self, ms: i64, zone: Tz) -> Option<i64> {
        let day = self.bounds(ms, zone)?;
        match self.inverted {
            true if ms < day.from => Some(day.from),
            true => local::next_day(ms, zone),
            // An end in a gap before midnight is the next day's, which has a span of its own.
            false if day.from <= ms && ms <= day.to => day.to.checked_add(1).min(local::next_day(ms, zone)),
            // In the first pass of a midnight that comes twice the day has not begun.
            false if ms < day.start_of_day => Some(day.start_of_day),
            false => ms.checked_add(1),
        }
    }

    fn bounds(&self, ms: i64, zone: Tz) -> Option<Bounds> {
        let date = local::date_at(ms, zone)?;
        Some(Bounds {
            start_of_day: local::instant(date, 0, zone)?,
            from: local::instant(date, self.from_ms, zone)?,
            to: local::instant(date, self.to_ms, zone)?,
            end_of_day: local::instant(date, DAY - 1, zone)?,
        })
    }
}

/// The time of day so many milliseconds after midnight.
fn time_of_day(ms: i64) -> NaiveTime {
    NaiveTime::MIN.overflowing_add_signed(TimeDelta::milliseconds(ms)).0
}
