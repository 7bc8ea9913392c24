//! Fire times of a recurrence: the times of its rule, found on the clocks of its zone.

use super::RecurrenceSchedule;
use super::rule::Until;
use crate::cron::zone::{Meaning, to_local, to_utc};
use crate::trigger::interval_unit::YEARS_AHEAD;
use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta};

/// The largest number of times of the rule that one search goes over.
const MAX_TIMES: usize = 20_000;

/// The largest move of a clock, ever: a day, when Samoa changed sides. A later time of the rule may
/// come before an earlier one by that much.
const MOST_MOVED: TimeDelta = TimeDelta::hours(25);

impl RecurrenceSchedule {
    /// Strictly after `after`, not before the start, and not after the end.
    pub(in crate::trigger) fn fire_time_after(
        &self,
        start: i64,
        end: Option<i64>,
        after: i64,
        now_year: i32,
    ) -> Option<i64> {
        let first = after.div_euclid(1000).checked_add(1)?.max(start.div_euclid(1000));
        let first = DateTime::from_timestamp(first, 0)?.naive_utc();
        let start = DateTime::from_timestamp(start.div_euclid(1000), 0)?.naive_utc();
        let found = self.at_or_after(start, first, now_year.saturating_add(YEARS_AHEAD))?;
        let found = found.and_utc().timestamp_millis();
        if end.is_some_and(|end| found > end) { None } else { Some(found) }
    }

    fn at_or_after(&self, start: NaiveDateTime, first: NaiveDateTime, last_year: i32) -> Option<NaiveDateTime> {
        let from = to_local(self.zone, first)?.checked_sub_signed(MOST_MOVED)?;
        let added = self.added.range(from..).filter_map(|shown| self.instant(*shown, first));
        let mut found = added.min();
        let last = self.last_shown();
        let times =
            self.rule.times(to_local(self.zone, start)?, from).skip_while(|shown| *shown < from).take(MAX_TIMES);
        for shown in times.take_while(|shown| shown.year() <= last_year) {
            let is_over = last.is_some_and(|last| shown > last + MOST_MOVED);
            let is_later = found.and_then(|found| to_local(self.zone, found)).is_some_and(|at| shown > at + MOST_MOVED);
            if is_over || is_later {
                break;
            }
            let instant = || self.instant(shown, first).filter(|instant| self.is_within(shown, *instant));
            if let Some(instant) = instant() {
                found = Some(found.map_or(instant, |found| found.min(instant)));
            }
        }
        found
    }

    /// The first instant from `first` on that is meant by a time on the clock.
    fn instant(&self, shown: NaiveDateTime, first: NaiveDateTime) -> Option<NaiveDateTime> {
        if self.left_out.contains(&shown) {
            return None;
        }
        let instant = match to_utc(self.zone, shown)? {
            Meaning::Twice { first: before, second } if self.rule.counts_hours() && before < first => second,
            Meaning::Twice { first, .. } => first,
            Meaning::Once(utc) | Meaning::InGap { by_old_offset: utc, .. } => utc,
        };
        Some(instant).filter(|instant| *instant >= first)
    }

    fn is_within(&self, shown: NaiveDateTime, instant: NaiveDateTime) -> bool {
        match self.rule.until {
            None => true,
            Some(Until::Shown(last)) => shown <= last,
            Some(Until::Moment(last)) => instant <= last,
        }
    }

    /// The time that the clock shows when the rule ends.
    fn last_shown(&self) -> Option<NaiveDateTime> {
        match self.rule.until? {
            Until::Shown(last) => Some(last),
            Until::Moment(last) => to_local(self.zone, last),
        }
    }
}

#[cfg(test)]
#[cfg(feature = "recurrence")]
mod tests {
    use super::*;
    use chrono_tz::America::{Havana, New_York};
    use chrono_tz::Australia::Lord_Howe;
    use chrono_tz::Europe::Berlin;
    use chrono_tz::Pacific::Apia;
    use chrono_tz::Tz;

    fn ms(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
    }

    fn shown(at: i64, zone: Tz) -> String {
        DateTime::from_timestamp_millis(at).unwrap().with_timezone(&zone).format("%y-%m-%d %H:%M%:z").to_string()
    }

    /// The times of a rule from its start, as clocks in the zone show them.
    fn times(rule: &str, zone: Tz, start: &str, count: usize) -> Vec<String> {
        let schedule = RecurrenceSchedule::new(rule).unwrap().in_zone(zone);
        let start = ms(start);
        let next = |after: &i64| schedule.fire_time_after(start, None, *after, 2027);
        let times: Vec<i64> = std::iter::successors(next(&(start - 1)), next).take(count).collect();
        // Any search between two times finds the second.
        for pair in times.windows(2) {
            for after in [pair[0] + 1, (pair[0] + pair[1]) / 2, pair[1] - 1] {
                assert_eq!(next(&after), Some(pair[1]), "{rule} after {after}");
            }
        }
        times.into_iter().map(|at| shown(at, zone)).collect()
    }

    #[test]
    fn a_time_in_a_gap_is_later_by_its_length() {
        for (zone, start, expected) in [
            (
                Berlin,
                "2026-03-28T02:30:00+01:00",
                ["26-03-28 02:30+01:00", "26-03-29 03:30+02:00", "26-03-30 02:30+02:00"],
            ),
            (
                New_York,
                "2026-03-07T02:15:00-05:00",
                ["26-03-07 02:15-05:00", "26-03-08 03:15-04:00", "26-03-09 02:15-04:00"],
            ),
            (
                Lord_Howe,
                "2026-10-03T02:15:00+10:30",
                ["26-10-03 02:15+10:30", "26-10-04 02:45+11:00", "26-10-05 02:15+11:00"],
            ),
            (
                Havana,
                "2026-03-07T00:00:00-05:00",
                ["26-03-07 00:00-05:00", "26-03-08 01:00-04:00", "26-03-09 00:00-04:00"],
            ),
            (
                Apia,
                "2011-12-29T12:00:00-10:00",
                ["11-12-29 12:00-10:00", "11-12-31 12:00+14:00", "12-01-01 12:00+14:00"],
            ),
        ] {
            assert_eq!(times("FREQ=DAILY", zone, start, 3), expected, "{zone}");
        }
    }

    /// Two times of the rule may change their order, or fall together.
    #[test]
    fn times_around_a_gap_fire_in_the_order_of_time() {
        let times = times("FREQ=DAILY;BYHOUR=2,3;BYMINUTE=0,30", Berlin, "2026-03-29T00:00:00+01:00", 3);
        assert_eq!(times, ["26-03-29 03:00+02:00", "26-03-29 03:30+02:00", "26-03-30 02:00+02:00"]);
    }

    #[test]
    fn of_a_time_that_comes_twice_the_first_is_meant_but_hours_pass_twice() {
        let daily = times("FREQ=DAILY", Berlin, "2026-10-24T02:30:00+02:00", 3);
        assert_eq!(daily, ["26-10-24 02:30+02:00", "26-10-25 02:30+02:00", "26-10-26 02:30+01:00"]);
        let hourly = times("FREQ=HOURLY", Berlin, "2026-10-25T01:30:00+02:00", 4);
        assert_eq!(
            hourly,
            ["26-10-25 01:30+02:00", "26-10-25 02:30+02:00", "26-10-25 02:30+01:00", "26-10-25 03:30+01:00"]
        );
        let spring = times("FREQ=HOURLY", Berlin, "2026-03-29T00:30:00+01:00", 4);
        assert_eq!(
            spring,
            ["26-03-29 00:30+01:00", "26-03-29 01:30+01:00", "26-03-29 03:30+02:00", "26-03-29 04:30+02:00"]
        );
    }

    #[test]
    fn times_are_left_out_and_added() {
        let rule =
            "RRULE:FREQ=WEEKLY;COUNT=3\nEXDATE:20270108T090000,20270105T120000\nRDATE:20270105T120000,20270106T120000";
        let times = times(rule, Berlin, "2027-01-01T09:00:00+01:00", 9);
        assert_eq!(times, ["27-01-01 09:00+01:00", "27-01-06 12:00+01:00", "27-01-15 09:00+01:00"]);
    }

    #[test]
    fn a_rule_ends_with_its_day_its_time_or_its_moment() {
        let start = "2027-01-01T09:00:00+01:00";
        for (until, count) in [
            ("20270103", 3),
            ("20270103T090000", 3),
            ("20270103T085959", 2),
            ("20270103T080000Z", 3),
            ("20270103T075959Z", 2),
            ("20261231", 0),
        ] {
            assert_eq!(times(&format!("FREQ=DAILY;UNTIL={until}"), Berlin, start, 9).len(), count, "{until}");
        }
        let schedule = RecurrenceSchedule::new("FREQ=DAILY").unwrap();
        let next = |end: &str| schedule.fire_time_after(ms(start), Some(ms(end)), ms(start), 2027);
        assert_eq!(next("2027-01-02T09:00:00+01:00"), Some(ms("2027-01-02T09:00:00+01:00")), "the end itself");
        assert_eq!(next("2027-01-02T08:59:59+01:00"), None);
    }

    /// A century of hours is more than a search goes over, so it begins late; and none goes on for
    /// ever.
    #[test]
    fn a_search_is_bounded() {
        let hourly = RecurrenceSchedule::new("FREQ=HOURLY").unwrap();
        let (start, late) = (ms("1990-01-01T00:00:00Z"), ms("2089-12-31T23:30:00Z"));
        assert_eq!(hourly.fire_time_after(start, None, late, 2027), Some(ms("2090-01-01T00:00:00Z")));
        let never = RecurrenceSchedule::new("FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30").unwrap();
        assert_eq!(never.fire_time_after(start, None, start, 2027), None);
        // More than twenty thousand times in each year, of which the last are found too.
        let minutes: Vec<String> = (0..60).step_by(5).map(|minute| minute.to_string()).collect();
        let often = format!(
            "FREQ=YEARLY;BYDAY=MO,TU,WE,TH,FR;BYHOUR=8,9,10,11,12,13,14,15,16,17,18;BYMINUTE={}",
            minutes.join(",")
        );
        let often = RecurrenceSchedule::new(&often).unwrap();
        let november = ms("2027-11-02T09:02:00Z");
        assert_eq!(often.fire_time_after(start, None, november, 2027), Some(ms("2027-11-02T09:05:00Z")));
        let far = RecurrenceSchedule::new("FREQ=YEARLY;INTERVAL=500").unwrap();
        assert_eq!(far.fire_time_after(start, None, start, 2027), None);
        for (start, after) in [(0, i64::MAX), (i64::MIN, i64::MIN), (i64::MAX, 0)] {
            assert_eq!(hourly.fire_time_after(start, None, after, 2027), None);
        }
    }
}
