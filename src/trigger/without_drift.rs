//! Calendar intervals without drift: each time is counted from the start, not from the time before.

use super::CalendarIntervalSchedule;
use super::IntervalUnit::{Month, Week, Year};
use crate::local;
use chrono::{Datelike, Days, Months, NaiveDate};

/// More days in a row than are ever left out because their clock jumps over the hour.
const MAX_LEFT_OUT: i64 = 1_000;

impl CalendarIntervalSchedule {
    /// The first time after `after`, which is not before the start, in a year up to `last_year`.
    pub(super) fn counted_after(&self, start: i64, after: i64, last_year: i32) -> Option<i64> {
        let first = self.about_how_many(start, after)?.saturating_sub(1).max(1);
        for count in first..first.saturating_add(MAX_LEFT_OUT) {
            let date = self.date_of(start, count)?;
            if date.year() > last_year {
                return None;
            }
            if let Some(time) = self.time_on(start, date)?.filter(|time| *time > after) {
                return Some(time);
            }
        }
        None
    }

    /// The last time up to `end`, itself included.
    pub(super) fn counted_until(&self, start: i64, end: i64) -> Option<i64> {
        let last = self.about_how_many(start, end)?.saturating_add(1);
        for count in (1..=last).rev() {
            if let Some(time) = self.time_on(start, self.date_of(start, count)?)?.filter(|time| *time <= end) {
                return Some(time);
            }
        }
        Some(start)
    }

    /// The number of intervals between the dates of two instants, at most one more or less.
    fn about_how_many(&self, start: i64, until: i64) -> Option<i64> {
        let (start, until) = (local::date_at(start, self.zone)?, local::date_at(until, self.zone)?);
        let months = |date: NaiveDate| i64::from(date.year()) * 12 + i64::from(date.month0());
        let units = match self.unit {
            Month | Year => months(until) - months(start),
            _ => until.signed_duration_since(start).num_days(),
        };
        units.checked_div(self.interval.checked_mul(self.months_or_days())?)
    }

    /// The date so many intervals after the start: the same day, or the last of a shorter month.
    fn date_of(&self, start: i64, count: i64) -> Option<NaiveDate> {
        let date = local::date_at(start, self.zone)?;
        let amount = self.interval.checked_mul(count)?.checked_mul(self.months_or_days())?;
        match self.unit {
            Month | Year => date.checked_add_months(Months::new(u32::try_from(amount).ok()?)),
            _ => date.checked_add_days(Days::new(u64::try_from(amount).ok()?)),
        }
    }

    /// The time of day of the start on a date; none if that day is left out because its clock jumps
    /// over the hour.
    fn time_on(&self, start: i64, date: NaiveDate) -> Option<Option<i64>> {
        let of_day = local::time_of_day(start, self.zone)?;
        let time = local::instant(date, of_day, self.zone)?;
        let has_hour = local::time_of_day(time, self.zone)? / local::HOUR == of_day / local::HOUR;
        Some(Some(time).filter(|_| has_hour || !(self.preserve_hour && self.skip_day)))
    }

    fn months_or_days(&self) -> i64 {
        match self.unit {
            Year => 12,
            Week => 7,
            _ => 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::IntervalUnit::{self, *};
    use chrono::DateTime;
    use chrono_tz::America::{Havana, New_York, Sao_Paulo};
    use chrono_tz::Asia::Kathmandu;
    use chrono_tz::Australia::Lord_Howe;
    use chrono_tz::Europe::Berlin;
    use chrono_tz::Pacific::Apia;
    use chrono_tz::Tz;

    fn ms(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
    }

    fn every(interval: u32, unit: IntervalUnit, zone: Tz) -> CalendarIntervalSchedule {
        CalendarIntervalSchedule::every(interval, unit).in_zone(zone).without_drift(true)
    }

    /// The first times after the start, as clocks in the zone show them.
    fn times(schedule: &CalendarIntervalSchedule, start: &str, count: usize) -> Vec<String> {
        let start = ms(start);
        let next = |after: &i64| schedule.fire_time_after(start, None, *after, 2026);
        let shown = |ms: i64| {
            let local = DateTime::from_timestamp_millis(ms).unwrap().with_timezone(&schedule.zone);
            local.format("%y-%m-%d %H:%M%:z").to_string()
        };
        std::iter::successors(next(&start), next).take(count).map(shown).collect()
    }

    #[test]
    fn monthly_from_the_last_day_returns_to_it() {
        let start = "2027-12-31T09:00:00+01:00";
        let monthly = times(&every(1, Month, Berlin), start, 5);
        let expected = [
            "28-01-31 09:00+01:00",
            "28-02-29 09:00+01:00",
            "28-03-31 09:00+02:00",
            "28-04-30 09:00+02:00",
            "28-05-31 09:00+02:00",
        ];
        assert_eq!(monthly, expected);
        let yearly = times(&every(1, Year, Berlin), "2024-02-29T09:00:00+01:00", 4);
        assert_eq!(yearly[2..], ["27-02-28 09:00+01:00", "28-02-29 09:00+01:00"]);
        assert_eq!(times(&every(2, Week, Berlin), start, 1), ["28-01-14 09:00+01:00"]);
    }

    #[test]
    fn a_time_moved_by_a_gap_is_back_the_next_day() {
        for (zone, start, expected) in [
            (Berlin, "2026-03-28T02:30:00+01:00", ["26-03-29 03:30+02:00", "26-03-30 02:30+02:00"]),
            (New_York, "2026-03-07T02:15:00-05:00", ["26-03-08 03:15-04:00", "26-03-09 02:15-04:00"]),
            (Lord_Howe, "2026-10-03T02:15:00+10:30", ["26-10-04 02:45+11:00", "26-10-05 02:15+11:00"]),
            (Havana, "2026-03-07T00:00:00-05:00", ["26-03-08 01:00-04:00", "26-03-09 00:00-04:00"]),
            (Sao_Paulo, "2018-11-03T00:00:00-03:00", ["18-11-04 01:00-02:00", "18-11-05 00:00-02:00"]),
            (Kathmandu, "2026-03-28T02:30:00+05:45", ["26-03-29 02:30+05:45", "26-03-30 02:30+05:45"]),
            // Samoa had no 30th of December: what it would have had falls on the same time of the
            // 31st.
            (Apia, "2011-12-29T12:00:00-10:00", ["11-12-31 12:00+14:00", "12-01-01 12:00+14:00"]),
        ] {
            assert_eq!(times(&every(1, Day, zone), start, 2), expected, "{zone}");
        }
    }

    #[test]
    fn of_a_time_that_comes_twice_the_second_is_meant() {
        for (zone, start, expected) in [
            (Berlin, "2026-10-24T02:30:00+02:00", ["26-10-25 02:30+01:00", "26-10-26 02:30+01:00"]),
            (Havana, "2026-10-31T00:30:00-04:00", ["26-11-01 00:30-05:00", "26-11-02 00:30-05:00"]),
        ] {
            assert_eq!(times(&every(1, Day, zone), start, 2), expected, "{zone}");
        }
    }

    #[test]
    fn days_without_the_hour_may_be_left_out() {
        let skips = every(1, Day, Berlin).preserve_hour(true).skip_day_without_hour(true);
        assert_eq!(times(&skips, "2026-03-28T02:30:00+01:00", 1), ["26-03-30 02:30+02:00"]);
        // Half an hour's gap leaves the hour.
        let skips = every(1, Day, Lord_Howe).preserve_hour(true).skip_day_without_hour(true);
        assert_eq!(times(&skips, "2026-10-03T02:15:00+10:30", 1), ["26-10-04 02:45+11:00"]);
    }

    /// From the start alone, whatever lies between: as one finds who goes from each time to the
    /// next.
    #[test]
    fn it_does_not_matter_where_a_search_begins() {
        let start = ms("2023-12-31T02:30:00+01:00");
        for (interval, unit) in [(1, Day), (3, Day), (1, Week), (1, Month), (5, Month), (1, Year)] {
            let schedule = every(interval, unit, Berlin);
            let next = |after: &i64| schedule.fire_time_after(start, None, *after, 2026);
            let all: Vec<i64> = std::iter::successors(Some(start), next).take(500).collect();
            for pair in all.windows(2) {
                let (before, time) = (pair[0], pair[1]);
                assert!(before < time, "{interval} {unit}");
                for after in [before, before + 1, (before + time) / 2, time - 1] {
                    assert_eq!(next(&after), Some(time), "{interval} {unit} after {after}");
                }
                for (end, last) in [(time, time), (time - 1, before), (time + 1, time)] {
                    assert_eq!(schedule.final_fire_time(start, Some(end)), Some(last), "{interval} {unit} until {end}");
                }
            }
        }
    }

    #[test]
    fn a_search_ends() {
        let start = ms("2026-01-31T09:00:00+01:00");
        for unit in [Day, Week, Month, Year] {
            for interval in [1, 7, u32::MAX] {
                let schedule = every(interval, unit, Berlin);
                assert_eq!(schedule.fire_time_after(start, None, ms("2190-01-01T00:00:00Z"), 2026), None);
                for (start, after) in [(start, i64::MAX), (i64::MIN, start), (i64::MAX, i64::MAX), (i64::MIN, i64::MAX)]
                {
                    assert_eq!(schedule.fire_time_after(start, None, after, 2026), None, "{schedule:?}");
                    schedule.final_fire_time(start, Some(after));
                }
            }
        }
    }

    #[test]
    fn units_that_do_not_drift_have_no_such_option() {
        assert!(every(1, Day, Berlin).check().is_ok());
        let error = every(1, Hour, Berlin).check().unwrap_err().to_string();
        assert!(error.contains("without-drift") && error.contains("hours do not drift"), "{error}");
    }
}
