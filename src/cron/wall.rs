//! Local time as `java.util.Calendar` keeps it: lenient, and with one answer in gaps and overlaps.
//!
//! A time that the clock jumps over keeps the offset from before the jump (02:30 becomes 03:30);
//! a time that comes twice means the second one, in standard time.

use chrono::{DateTime, Datelike, Days, NaiveDate, NaiveDateTime, TimeDelta, Timelike};
use chrono_tz::Tz;

use super::zone::{Meaning, to_local, to_utc};

/// Local time on a calendar and a clock in a zone. Every value exists: a time in a gap is moved on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Wall {
    zone: Tz,
    time: NaiveDateTime,
}

impl Wall {
    /// The time that the clock shows at an instant, without the fraction of its second.
    pub(super) fn at(instant_ms: i64, zone: Tz) -> Option<Self> {
        let utc = DateTime::from_timestamp(instant_ms.div_euclid(1000), 0)?.naive_utc();
        Some(Wall { zone, time: to_local(zone, utc)? })
    }

    /// The instant meant, in milliseconds.
    pub(super) fn instant(self) -> Option<i64> {
        Some(to_utc(self.zone, self.time)?.in_java().and_utc().timestamp_millis())
    }

    pub(super) fn date(self) -> NaiveDate {
        self.time.date()
    }

    pub(super) fn year(self) -> i32 {
        self.time.year()
    }

    pub(super) fn month(self) -> i32 {
        self.time.month().cast_signed()
    }

    pub(super) fn day(self) -> i32 {
        self.time.day().cast_signed()
    }

    pub(super) fn hour(self) -> i32 {
        self.time.hour().cast_signed()
    }

    pub(super) fn minute(self) -> i32 {
        self.time.minute().cast_signed()
    }

    pub(super) fn second(self) -> i32 {
        self.time.second().cast_signed()
    }

    /// Another date in the zone of this time, at `hour:minute:second`. Numbers may lie beyond their
    /// bounds.
    pub(super) fn on(self, year: i32, month: i32, day: i32, clock: [i32; 3]) -> Option<Self> {
        let date = lenient_date(year, month, day)?;
        self.on_date(date, clock)
    }

    /// The date of this time at `hour:minute:second`. Numbers may lie beyond their bounds.
    pub(super) fn at_clock(self, clock: [i32; 3]) -> Option<Self> {
        self.on_date(self.time.date(), clock)
    }

    fn on_date(self, date: NaiveDate, [hour, minute, second]: [i32; 3]) -> Option<Self> {
        let seconds = i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second);
        let time = date.and_hms_opt(0, 0, 0)?.checked_add_signed(TimeDelta::try_seconds(seconds)?)?;
        let time = match to_utc(self.zone, time)? {
            Meaning::Once(_) | Meaning::Twice { .. } => time,
            Meaning::InGap { by_old_offset, .. } => to_local(self.zone, by_old_offset)?,
        };
        Some(Wall { zone: self.zone, time })
    }
}

/// The date of a day counted from the first of a month counted from January; neither need be within
/// bounds.
pub(super) fn lenient_date(year: i32, month: i32, day: i32) -> Option<NaiveDate> {
    let year = year.checked_add((month - 1).div_euclid(12))?;
    let month = u32::try_from((month - 1).rem_euclid(12) + 1).ok()?;
    let first = NaiveDate::from_ymd_opt(year, month, 1)?;
    match u64::try_from(i64::from(day) - 1) {
        Ok(later) => first.checked_add_days(Days::new(later)),
        Err(_) => first.checked_sub_days(Days::new((i64::from(day) - 1).unsigned_abs())),
    }
}

/// The number of days of a month.
pub(super) fn days_in_month(year: i32, month: i32) -> i32 {
    match month {
        2 if (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::Europe::Berlin;

    fn wall(day: [i32; 3], clock: [i32; 3]) -> Wall {
        let [year, month, day] = day;
        Wall::at(0, Berlin).unwrap().on(year, month, day, clock).unwrap()
    }

    #[test]
    fn a_time_in_the_gap_is_moved_on() {
        let moved = wall([2026, 3, 29], [2, 30, 0]);
        assert_eq!((moved.hour(), moved.minute()), (3, 30));
        assert_eq!(moved.instant(), Some(1_774_747_800_000));
    }

    #[test]
    fn the_first_pass_of_a_repeated_hour_is_taken_for_the_second() {
        let second_pass = wall([2026, 10, 25], [2, 30, 0]);
        assert_eq!(second_pass.instant(), Some(1_792_891_800_000));
        assert_eq!(Wall::at(1_792_888_200_000, Berlin), Some(second_pass));
    }

    #[test]
    fn numbers_beyond_their_bounds_run_on() {
        assert_eq!(wall([2026, 13, 32], [24, 60, 60]), wall([2027, 2, 2], [1, 1, 0]));
        assert_eq!(wall([2026, 3, 0], [0, 0, 0]), wall([2026, 2, 28], [0, 0, 0]));
    }
}
