//! Local time to the millisecond, with the answers of `java.util.Calendar` in gaps and overlaps.
//!
//! A time that the clock jumps over keeps the offset from before the jump (02:30 becomes 03:30);
//! a time that comes twice means the second one.

use crate::cron::zone::{to_local, to_utc};
use chrono::{DateTime, Days, Months, NaiveDate, NaiveTime};
use chrono_tz::Tz;

pub(crate) const SECOND: i64 = 1000;
pub(crate) const MINUTE: i64 = 60 * SECOND;
pub(crate) const HOUR: i64 = 60 * MINUTE;
pub(crate) const DAY: i64 = 24 * HOUR;

/// The offset of local time from UTC at an instant, in milliseconds; positive if local time is
/// ahead.
pub(crate) fn offset_at(ms: i64, zone: Tz) -> Option<i64> {
    let utc = DateTime::from_timestamp_millis(ms)?.naive_utc();
    Some(to_local(zone, utc)?.signed_duration_since(utc).num_milliseconds())
}

/// The date on which an instant falls.
pub(crate) fn date_at(ms: i64, zone: Tz) -> Option<NaiveDate> {
    let local = DateTime::from_timestamp_millis(ms.checked_add(offset_at(ms, zone)?)?)?;
    Some(local.date_naive())
}

/// The instant at which the clock shows `of_day` milliseconds after midnight on a date.
pub(crate) fn instant(date: NaiveDate, of_day: i64, zone: Tz) -> Option<i64> {
    let local = DateTime::from_timestamp_millis(midnight(date).checked_add(of_day)?)?.naive_utc();
    Some(to_utc(zone, local)?.in_java().and_utc().timestamp_millis())
}

/// Midnight of the day on which an instant falls, which is after that instant in the first pass of
/// a repeated midnight.
pub(crate) fn start_of_day(ms: i64, zone: Tz) -> Option<i64> {
    instant(date_at(ms, zone)?, 0, zone)
}

/// The first instant of the day after the one on which an instant falls.
pub(crate) fn next_day(ms: i64, zone: Tz) -> Option<i64> {
    let date = date_at(ms, zone)?.checked_add_days(Days::new(1))?;
    let begins = instant(date, 0, zone)?;
    // The first of two midnights still has the offset of the day before.
    let by_old_offset = midnight(date).checked_sub(offset_at(ms, zone)?)?;
    Some(if date_at(by_old_offset, zone)? == date { begins.min(by_old_offset) } else { begins })
}

/// One calendar day later, see [`add_days`].
pub(crate) fn add_day(ms: i64, zone: Tz) -> Option<i64> {
    add_days(ms, 1, zone)
}

/// Calendar days later as `GregorianCalendar.add` has it: the first pass of a time that comes
/// twice; for a time that the clock jumps over the one an hour before it or, where that is on
/// another day, an hour after it.
pub(crate) fn add_days(ms: i64, days: i64, zone: Tz) -> Option<i64> {
    let before = offset_at(ms, zone)?;
    let later = ms.checked_add(days.checked_mul(DAY)?)?;
    let wanted = DateTime::from_timestamp_millis(later.checked_add(before)?)?.date_naive();
    let adjusted = later.checked_add(before - offset_at(later, zone)?)?;
    Some(if date_at(adjusted, zone)? == wanted { adjusted } else { later })
}

/// Calendar months later as `GregorianCalendar.add` has it: the same day, or the last of a shorter
/// month, at the same time on the clock.
pub(crate) fn add_months(ms: i64, months: i32, zone: Tz) -> Option<i64> {
    let date = date_at(ms, zone)?;
    let by = Months::new(months.unsigned_abs());
    let date = if months < 0 { date.checked_sub_months(by)? } else { date.checked_add_months(by)? };
    instant(date, time_of_day(ms, zone)?, zone)
}

/// The milliseconds after midnight that the clock shows at an instant.
pub(crate) fn time_of_day(ms: i64, zone: Tz) -> Option<i64> {
    Some(ms.checked_add(offset_at(ms, zone)?)?.rem_euclid(DAY))
}

/// True if an instant is in the first pass of an hour that comes twice: the time on its clock means
/// a later instant.
pub(crate) fn is_first_pass(ms: i64, zone: Tz) -> bool {
    let meant = || instant(date_at(ms, zone)?, time_of_day(ms, zone)?, zone);
    meant().is_some_and(|meant| meant > ms)
}

fn midnight(date: NaiveDate) -> i64 {
    date.and_time(NaiveTime::MIN).and_utc().timestamp_millis()
}

#[cfg(test)]
mod tests {
    use super::*;
    use chrono_tz::America::Havana;
    use chrono_tz::Europe::Berlin;

    fn date(year: i32, month: u32, day: u32) -> NaiveDate {
        NaiveDate::from_ymd_opt(year, month, day).unwrap()
    }

    fn utc(text: &str) -> Option<i64> {
        Some(DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis())
    }

    #[test]
    fn a_time_in_the_gap_keeps_the_old_offset() {
        assert_eq!(instant(date(2026, 3, 29), 150 * MINUTE, Berlin), utc("2026-03-29T03:30:00+02:00"));
    }

    #[test]
    fn a_time_that_comes_twice_is_the_second() {
        assert_eq!(instant(date(2026, 10, 25), 150 * MINUTE, Berlin), utc("2026-10-25T02:30:00+01:00"));
    }

    #[test]
    fn a_day_whose_midnight_comes_twice_begins_with_the_first() {
        let before = utc("2026-10-31T12:00:00-04:00").unwrap();
        assert_eq!(next_day(before, Havana), utc("2026-11-01T00:00:00-04:00"));
        let first_pass = utc("2026-11-01T00:30:00-04:00").unwrap();
        assert_eq!(start_of_day(first_pass, Havana), utc("2026-11-01T00:00:00-05:00"));
    }

    #[test]
    fn only_the_first_pass_of_a_repeated_hour_is_the_first() {
        let pass = |text: &str| is_first_pass(utc(text).unwrap(), Berlin);
        assert!(!pass("2026-10-25T01:59:59.999+02:00"));
        assert!(pass("2026-10-25T02:00:00+02:00"));
        assert!(pass("2026-10-25T02:59:59.999+02:00"));
        assert!(!pass("2026-10-25T02:00:00+01:00"));
        assert!(!pass("2026-03-29T03:00:00+02:00"));
    }

    #[test]
    fn clocks_still_change_after_the_data_end() {
        let summer = utc("2150-07-01T00:00:00+02:00").unwrap();
        assert_eq!(start_of_day(summer + HOUR, Berlin), Some(summer));
        assert_eq!(next_day(summer - HOUR, Berlin), Some(summer));
    }

    #[test]
    fn a_day_added_keeps_the_time_of_day_where_there_is_one() {
        let noon = utc("2026-03-28T12:00:00+01:00").unwrap();
        assert_eq!(add_day(noon, Berlin), utc("2026-03-29T12:00:00+02:00"));
        let midnight = utc("2026-03-07T00:00:00-05:00").unwrap();
        assert_eq!(add_day(midnight, Havana), utc("2026-03-08T01:00:00-04:00"));
    }

    #[test]
    fn a_day_added_into_a_gap_is_an_hour_early_and_stays_there() {
        let half_past_two = utc("2026-03-28T02:30:00+01:00").unwrap();
        let early = add_day(half_past_two, Berlin);
        assert_eq!(early, utc("2026-03-29T01:30:00+01:00"));
        assert_eq!(add_day(early.unwrap(), Berlin), utc("2026-03-30T01:30:00+02:00"));
        assert_eq!(add_days(half_past_two, 2, Berlin), utc("2026-03-30T02:30:00+02:00"));
    }

    #[test]
    fn a_month_added_ends_with_a_shorter_month() {
        let last = utc("2026-01-31T09:00:00+01:00").unwrap();
        assert_eq!(add_months(last, 1, Berlin), utc("2026-02-28T09:00:00+01:00"));
        assert_eq!(add_months(last, -2, Berlin), utc("2025-11-30T09:00:00+01:00"));
        assert_eq!(add_months(utc("2026-09-25T02:30:00+02:00").unwrap(), 1, Berlin), utc("2026-10-25T02:30:00+01:00"));
    }

    #[test]
    fn the_far_ends_of_time_have_no_local_time() {
        assert_eq!(start_of_day(i64::MAX, Berlin), None);
        assert_eq!(next_day(i64::MIN, Berlin), None);
        assert_eq!(add_day(i64::MAX, Berlin), None);
    }
}
