//! Fire times of a daily time interval: the grid of each day, and the way from one day to the next.

use super::daily_time_interval::of_day;
use super::{DailyTimeIntervalSchedule, FOREVER};
use crate::local;
use chrono::{Datelike, NaiveDate, NaiveTime};

impl DailyTimeIntervalSchedule {
    /// The first step of the grid of an allowed day that is a second or more after `after` and not
    /// before the start.
    ///
    /// As in Quartz, the end is compared with the second after `after` and with the beginning of a
    /// later day, but never with the step itself: on its last day the trigger goes on until the end
    /// of the day. Unless it respects its end.
    pub(super) fn fire_time_after(&self, start: i64, end: Option<i64>, after: i64) -> Option<i64> {
        let time = self.step_after(start, end, after)?;
        if self.is_over(end, time) { None } else { Some(time) }
    }

    /// True if a time is beyond an end that the trigger respects.
    pub(crate) fn is_over(&self, end: Option<i64>, time: i64) -> bool {
        self.respect_end && end.is_some_and(|end| time > end)
    }

    fn step_after(&self, start: i64, end: Option<i64>, after: i64) -> Option<i64> {
        if self.repeat_count != FOREVER && self.times_triggered > self.repeat_count {
            return None;
        }
        let from = after.checked_add(local::SECOND)?.max(start);
        let is_past_end_of_day = match self.to {
            Some(to) => from > self.at_on(from, to)?,
            None => false,
        };
        let from = self.on_an_allowed_day(from, end, is_past_end_of_day)?;
        let first = self.at_on(from, self.from)?;
        if from < first {
            return Some(first);
        }
        let span = self.span_ms()?;
        let seconds = (from - first) / local::SECOND;
        let steps = seconds.checked_mul(local::SECOND)?.checked_add(span - 1)?.checked_div(span)?;
        let time = first.checked_add(steps.checked_mul(span)?)?;
        let last = self.at_on(from, self.to.unwrap_or(Self::LAST_SECOND))?;
        if time <= last {
            return Some(time);
        }
        let is_same_day = self.date_at(time)? == self.date_at(last)?;
        let day = self.on_an_allowed_day(time, end, is_same_day)?;
        // Quartz may go back in time, and on for ever, in a zone that has left out the day.
        self.at_on(day, self.from).filter(|time| *time > after)
    }

    /// The time from which the search goes on after an excluded span: the time that single steps
    /// from `at` would reach. The time is further on the same day, but one step before the last,
    /// and not past the end. From day to day the search goes by single steps.
    pub(super) fn leave_behind(&self, at: i64, excluded_until: i64, end: Option<i64>) -> i64 {
        let most = || {
            let last_but_one = self.at_on(at, self.to.unwrap_or(Self::LAST_SECOND))?.checked_sub(self.span_ms()?)?;
            last_but_one.min(end.unwrap_or(i64::MAX)).checked_sub(local::SECOND)
        };
        let until = excluded_until.min(most().unwrap_or(at));
        at.max(until.div_euclid(local::SECOND).saturating_mul(local::SECOND))
    }

    /// As in Quartz: the end, or the end of its day if that is later and the end is not respected;
    /// none when it has fired for the last time.
    pub(super) fn final_fire_time(&self, end: Option<i64>, is_complete: bool) -> Option<i64> {
        let end = end.filter(|_| !is_complete)?;
        match self.to {
            Some(to) if !self.respect_end => Some(end.max(self.at_on(end, to)?)),
            _ => Some(end),
        }
    }

    /// The instant itself if its day is allowed and need not be left; otherwise the first time of
    /// the next day that is.
    fn on_an_allowed_day(&self, time: i64, end: Option<i64>, leave: bool) -> Option<i64> {
        let mut day = self.at_on(time, self.from)?;
        let mut found = time;
        if leave || !self.allows(day)? {
            for _ in 0..7 {
                day = local::add_day(day, self.default_zone)?;
                if self.allows(day)? {
                    found = day;
                    break;
                }
            }
        }
        Some(found).filter(|found| end.is_none_or(|end| *found <= end))
    }

    fn allows(&self, time: i64) -> Option<bool> {
        Some(self.days.contains(self.date_at(time)?.weekday()))
    }

    fn date_at(&self, time: i64) -> Option<NaiveDate> {
        local::date_at(time, self.default_zone)
    }

    /// A time of day on the day of an instant.
    fn at_on(&self, time: i64, clock: NaiveTime) -> Option<i64> {
        local::instant(self.date_at(time)?, of_day(clock), self.default_zone)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::IntervalUnit::{self, *};
    use chrono::DateTime;
    use chrono_tz::Europe::Berlin;

    fn clock(hour: u32, minute: u32) -> NaiveTime {
        NaiveTime::from_hms_opt(hour, minute, 0).unwrap()
    }

    fn ms(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
    }

    fn every(interval: u32, unit: IntervalUnit) -> DailyTimeIntervalSchedule {
        DailyTimeIntervalSchedule::every(interval, unit).with_default_zone(Berlin)
    }

    /// The times of a trigger that begins at `start`, as clocks in Berlin show them.
    fn times(schedule: &DailyTimeIntervalSchedule, start: &str, end: Option<&str>, count: usize) -> Vec<String> {
        let (start, end) = (ms(start), end.map(ms));
        let next = |after: &i64| schedule.fire_time_after(start, end, *after);
        let shown = |ms: i64| {
            let local = DateTime::from_timestamp_millis(ms).unwrap().with_timezone(&Berlin);
            local.format("%a %H:%M%:::z").to_string()
        };
        std::iter::successors(next(&(start - 1000)), next).take(count).map(shown).collect()
    }

    #[test]
    fn the_grid_of_each_day_begins_with_its_first_time() {
        let schedule = every(50, Minute).starting_daily_at(clock(8, 0)).ending_daily_at(clock(9, 40));
        let start = "2026-03-02T09:10:20.345+01:00";
        assert_eq!(times(&schedule, start, None, 3), ["Mon 09:40+01", "Tue 08:00+01", "Tue 08:50+01"]);
    }

    #[test]
    fn other_days_of_the_week_are_left_out() {
        let schedule = every(6, Hour).starting_daily_at(clock(9, 0)).on_saturday_and_sunday();
        let start = "2026-03-02T00:00:00+01:00";
        let expected = ["Sat 09:00+01", "Sat 15:00+01", "Sat 21:00+01", "Sun 09:00+01"];
        assert_eq!(times(&schedule, start, None, 4), expected);
    }

    #[test]
    fn on_the_day_of_its_end_it_goes_on_until_the_day_is_over() {
        let schedule = every(1, Hour).starting_daily_at(clock(9, 0)).ending_daily_at(clock(11, 0));
        let (start, end) = ("2026-03-02T09:30:00+01:00", "2026-03-02T10:30:00+01:00");
        assert_eq!(times(&schedule, start, Some(end), 9), ["Mon 10:00+01", "Mon 11:00+01"]);
        assert_eq!(schedule.final_fire_time(Some(ms(end)), false), Some(ms("2026-03-02T11:00:00+01:00")));
        assert_eq!(schedule.final_fire_time(Some(ms(end)), true), None);
    }

    #[test]
    fn an_end_that_is_respected_is_the_last_time() {
        let schedule =
            every(1, Hour).starting_daily_at(clock(9, 0)).ending_daily_at(clock(11, 0)).respect_end_time(true);
        let start = "2026-03-02T09:30:00+01:00";
        for (end, expected) in [
            ("2026-03-02T10:30:00+01:00", &["Mon 10:00+01"][..]),
            ("2026-03-02T11:00:00+01:00", &["Mon 10:00+01", "Mon 11:00+01"]),
            ("2026-03-02T09:59:59+01:00", &[]),
            ("2026-03-03T09:00:00+01:00", &["Mon 10:00+01", "Mon 11:00+01", "Tue 09:00+01"]),
        ] {
            assert_eq!(times(&schedule, start, Some(end), 9), expected, "{end}");
            assert_eq!(schedule.final_fire_time(Some(ms(end)), false), Some(ms(end)));
        }
    }

    #[test]
    fn the_count_is_for_its_whole_life() {
        let mut schedule = every(1, Hour).repeat(1);
        let (start, after) = (ms("2026-03-02T09:30:00+01:00"), ms("2026-03-07T00:00:00+01:00"));
        for (fired, goes_on) in [(0, true), (1, true), (2, false)] {
            schedule.times_triggered = fired;
            assert_eq!(schedule.fire_time_after(start, None, after).is_some(), goes_on, "{fired}");
        }
    }

    #[test]
    fn an_hour_that_is_left_out_or_comes_twice_counts_as_it_passes() {
        let schedule = every(1, Hour).starting_daily_at(clock(1, 0)).ending_daily_at(clock(4, 0));
        let spring = times(&schedule, "2026-03-29T00:00:00+01:00", None, 3);
        assert_eq!(spring, ["Sun 01:00+01", "Sun 03:00+02", "Sun 04:00+02"]);
        let autumn = times(&schedule, "2026-10-25T00:00:00+02:00", None, 4);
        assert_eq!(autumn, ["Sun 01:00+02", "Sun 02:00+02", "Sun 02:00+01", "Sun 03:00+01"]);
    }

    #[test]
    fn the_far_ends_of_time_have_no_next() {
        for (start, after) in [(0, i64::MAX), (i64::MIN, i64::MIN), (i64::MAX, 0)] {
            assert_eq!(every(1, Hour).fire_time_after(start, None, after), None);
        }
    }
}
