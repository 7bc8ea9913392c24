//! Cron times where clocks change, against a minute-by-minute look at what the clock of the zone
//! shows.

use std::collections::BTreeSet;

use chrono::{DateTime, Datelike, NaiveDateTime, TimeDelta, Timelike};
use chrono_tz::America::{Havana, New_York, Sao_Paulo};
use chrono_tz::Asia::Kathmandu;
use chrono_tz::Australia::Lord_Howe;
use chrono_tz::Europe::Berlin;
use chrono_tz::Pacific::Apia;
use chrono_tz::Tz;

use super::super::{CronExpression, TimeChange};

const QUARTZ: TimeChange = TimeChange { at_gap_end: false, both_passes: false };
const GAP_END: TimeChange = TimeChange { at_gap_end: true, both_passes: false };
const BOTH_PASSES: TimeChange = TimeChange { at_gap_end: false, both_passes: true };
const BOTH: TimeChange = TimeChange { at_gap_end: true, both_passes: true };

const MINUTE: i64 = 60_000;

/// Zones and the noon before a day on which their clocks change; in Kathmandu they do not.
const CHANGES: [(Tz, &str); 11] = [
    (Berlin, "2026-03-28T12:00:00Z"),
    (Berlin, "2026-10-24T12:00:00Z"),
    (New_York, "2026-03-07T12:00:00Z"),
    (New_York, "2026-10-31T12:00:00Z"),
    (Lord_Howe, "2026-10-03T00:00:00Z"),
    (Lord_Howe, "2026-04-04T00:00:00Z"),
    (Havana, "2026-03-07T12:00:00Z"),
    (Havana, "2026-10-31T12:00:00Z"),
    (Sao_Paulo, "2018-11-03T12:00:00Z"),
    (Sao_Paulo, "2018-02-17T12:00:00Z"),
    (Kathmandu, "2026-03-28T12:00:00Z"),
];

type Matches = fn(NaiveDateTime) -> bool;

/// Expressions and what they say, as a question to each minute of the clock.
const EXPRESSIONS: [(&str, Matches); 9] = [
    ("0 * * * * ?", |_| true),
    ("0 0/30 * * * ?", |t| t.minute() % 30 == 0),
    ("0 15,35 * * * ?", |t| [15, 35].contains(&t.minute())),
    ("0 30 2 * * ?", |t| (t.hour(), t.minute()) == (2, 30)),
    ("0 15 0,2,23 * * ?", |t| [0, 2, 23].contains(&t.hour()) && t.minute() == 15),
    ("0 0 0 * * ?", |t| (t.hour(), t.minute()) == (0, 0)),
    ("0 0 2 * * ?", |t| (t.hour(), t.minute()) == (2, 0)),
    ("0 10-50/20 1-2 ? * SUN", |t| {
        [10, 30, 50].contains(&t.minute()) && [1, 2].contains(&t.hour()) && t.weekday().number_from_sunday() == 1
    }),
    ("0 59 23 L * ?", |t| (t.hour(), t.minute()) == (23, 59) && (t + TimeDelta::days(1)).month() != t.month()),
];

fn ms(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
}

/// The times that a clock shows in two days, minute by minute, by chrono-tz itself.
struct Clock {
    zone: Tz,
    from: i64,
    shown: Vec<NaiveDateTime>,
    /// True if the clock shows the same time again later.
    comes_again: Vec<bool>,
}

impl Clock {
    fn new(zone: Tz, from: &str) -> Self {
        let from = ms(from);
        let show = |i| DateTime::from_timestamp_millis(from + i * MINUTE).unwrap().with_timezone(&zone).naive_local();
        let shown: Vec<NaiveDateTime> = (0..2 * 24 * 60).map(show).collect();
        let comes_again = (0..shown.len()).map(|i| shown[i + 1..].iter().take(120).any(|later| *later == shown[i]));
        Self { zone, from, comes_again: comes_again.collect(), shown }
    }

    fn until(&self) -> i64 {
        self.from + i64::try_from(self.shown.len()).unwrap() * MINUTE
    }

    /// The fire times, looked for.
    fn times(&self, matches: Matches, change: TimeChange) -> BTreeSet<i64> {
        let mut times = BTreeSet::new();
        for (i, now) in self.shown.iter().copied().enumerate() {
            let at = self.from + i64::try_from(i).unwrap() * MINUTE;
            let mut skipped = if i == 0 { now } else { self.shown[i - 1] + TimeDelta::minutes(1) };
            while skipped < now && change.at_gap_end {
                if matches(skipped) {
                    times.insert(at);
                }
                skipped += TimeDelta::minutes(1);
            }
            if matches(now) && (change.both_passes || !self.comes_again[i]) {
                times.insert(at);
            }
        }
        times
    }
}

#[test]
fn times_are_those_that_the_clock_shows() {
    for (zone, from) in CHANGES {
        let clock = Clock::new(zone, from);
        for (text, matches) in EXPRESSIONS {
            let expression = CronExpression::parse(text).unwrap();
            for change in [GAP_END, BOTH_PASSES, BOTH] {
                let next =
                    |after: &i64| expression.next_with(*after, zone, 2026, change).filter(|t| *t < clock.until());
                let found: Vec<i64> = std::iter::successors(next(&(clock.from - 1)), next).take(3_000).collect();
                assert!(found.is_sorted_by(|a, b| a < b), "{text} in {zone} {change:?}");
                let expected = clock.times(matches, change);
                assert_eq!(BTreeSet::from_iter(found), expected, "{text} in {zone} {change:?}");
            }
        }
    }
}

/// A search may begin anywhere: after a misfire, or where a calendar has excluded times.
#[test]
fn it_does_not_matter_where_a_search_begins() {
    for (zone, from) in CHANGES {
        let clock = Clock::new(zone, from);
        for (text, matches) in EXPRESSIONS {
            let expression = CronExpression::parse(text).unwrap();
            for change in [BOTH_PASSES, BOTH] {
                let expected = clock.times(matches, change);
                for begin in (clock.from..clock.until()).step_by(11 * 60_001) {
                    let Some(next) = expected.range(begin + 1..).next().copied() else { continue };
                    let found = expression.next_with(begin, clock.zone, 2026, change);
                    assert_eq!(found, Some(next), "{text} in {zone} {change:?} from {begin}");
                }
            }
        }
    }
}

/// Far from a clock change the options change nothing, and without them nothing differs from
/// Quartz.
#[test]
fn far_from_clock_changes_all_are_equal() {
    for (text, _) in
        EXPRESSIONS.into_iter().chain([("0 0 12 LW * ?", EXPRESSIONS[0].1), ("5 4 3 ? 2 6#5", EXPRESSIONS[0].1)])
    {
        let expression = CronExpression::parse(text).unwrap();
        let mut after = ms("2026-05-03T04:05:06Z");
        for _ in 0..50 {
            let quartz = expression.next_ms_after(after, Kathmandu, 2026);
            for change in [QUARTZ, GAP_END, BOTH_PASSES, BOTH] {
                assert_eq!(expression.next_with(after, Kathmandu, 2026, change), quartz, "{text} {change:?}");
            }
            let Some(next) = quartz else { break };
            after = next;
        }
    }
}

/// A search that begins in the last second before a gap finds what the gap would leave out.
#[test]
fn a_search_may_begin_right_before_a_gap() {
    let expression = CronExpression::parse("59 59 1,2 * * ?").unwrap();
    let before = ms("2026-03-29T01:59:59+01:00");
    for (change, expected) in [
        (GAP_END, "2026-03-29T03:00:00+02:00"),
        (BOTH, "2026-03-29T03:00:00+02:00"),
        (QUARTZ, "2026-03-30T01:59:59+02:00"),
    ] {
        assert_eq!(expression.next_with(before, Berlin, 2026, change), Some(ms(expected)), "{change:?}");
    }
}

#[test]
fn each_option_changes_one_thing() {
    let half_past_two = CronExpression::parse("0 30 2 * * ?").unwrap();
    let next = |after: &str, change| half_past_two.next_with(ms(after), Berlin, 2026, change);
    let spring = "2026-03-28T12:00:00+01:00";
    for (change, expected) in [
        (QUARTZ, "2026-03-30T02:30:00+02:00"),
        (GAP_END, "2026-03-29T03:00:00+02:00"),
        (BOTH_PASSES, "2026-03-30T02:30:00+02:00"),
    ] {
        assert_eq!(next(spring, change), Some(ms(expected)), "{change:?}");
    }
    // Beyond the end of chrono-tz's data.
    let later = next("2100-03-27T12:00:00+01:00", GAP_END);
    assert_eq!(later, Some(ms("2100-03-28T03:00:00+02:00")));
    let autumn = "2026-10-24T12:00:00+02:00";
    for (change, expected) in [
        (QUARTZ, "2026-10-25T02:30:00+01:00"),
        (GAP_END, "2026-10-25T02:30:00+01:00"),
        (BOTH_PASSES, "2026-10-25T02:30:00+02:00"),
    ] {
        assert_eq!(next(autumn, change), Some(ms(expected)), "{change:?}");
    }
}

/// Samoa left out the 30th of December 2011.
#[test]
fn a_day_that_never_was_ends_with_the_next_day() {
    let noon = CronExpression::parse("0 0 12 * * ?").unwrap();
    let after = ms("2011-12-29T13:00:00-10:00");
    let next = noon.next_with(after, Apia, 2011, GAP_END);
    assert_eq!(next, Some(ms("2011-12-31T00:00:00+14:00")));
    assert_eq!(noon.next_with(next.unwrap(), Apia, 2011, GAP_END), Some(ms("2011-12-31T12:00:00+14:00")));
}

/// Of times that only gaps have, all fire at the ends of gaps, and the search ends.
#[test]
fn a_time_that_never_comes_may_still_fire() {
    let only_then = CronExpression::parse("0 30 2 29 3 ? 2026").unwrap();
    let after = ms("2026-01-01T00:00:00Z");
    assert_eq!(only_then.next_with(after, Berlin, 2026, QUARTZ), None);
    assert_eq!(only_then.next_with(after, Berlin, 2026, BOTH_PASSES), None);
    let end = ms("2026-03-29T03:00:00+02:00");
    assert_eq!(only_then.next_with(after, Berlin, 2026, GAP_END), Some(end));
    assert_eq!(only_then.next_with(end, Berlin, 2026, GAP_END), None);
}

#[test]
fn the_far_ends_of_time_have_no_next() {
    let every_second = CronExpression::parse("* * * * * ?").unwrap();
    for after in [i64::MIN, i64::MAX, i64::MAX - 1000] {
        assert_eq!(every_second.next_with(after, Berlin, 2026, BOTH), None, "{after}");
    }
}
