//! Calendars as a whole: what they exclude together, and that no question takes for ever.

use super::*;
use chrono::{DateTime, NaiveDate, NaiveTime, Weekday};
use chrono_tz::Europe::Berlin;

fn at(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
}

fn time(hour: u32, minute: u32) -> NaiveTime {
    NaiveTime::from_hms_opt(hour, minute, 0).unwrap()
}

fn every_second() -> Calendar {
    Calendar::new(CronTimes::excluding("* * * * * ?").unwrap())
}

#[test]
fn a_time_is_included_only_if_every_calendar_of_the_chain_includes_it() {
    let chain = Calendar::new(Weekdays::weekend())
        .over(Calendar::new(AnnualDays::excluding([(3, 2)]).unwrap()).over(Calendar::new(MonthDays::default())));
    assert!(!chain.includes(at("2026-03-01T12:00:00Z")));
    assert!(!chain.includes(at("2026-03-02T12:00:00Z")));
    assert!(chain.includes(at("2026-03-03T12:00:00Z")));
}

#[test]
fn the_default_zone_counts_only_where_a_calendar_has_none() {
    let sunday = |zone: Option<Tz>| match zone {
        Some(zone) => Calendar::new(Weekdays::excluding([Weekday::Sun])).in_zone(zone),
        None => Calendar::new(Weekdays::excluding([Weekday::Sun])),
    };
    let just_sunday_in_berlin = at("2026-02-28T23:30:00Z");
    assert!(sunday(None).includes(just_sunday_in_berlin));
    assert!(!sunday(None).with_default_zone(Berlin).includes(just_sunday_in_berlin));
    assert!(sunday(Some(Tz::UTC)).with_default_zone(Berlin).includes(just_sunday_in_berlin));
    let below = Calendar::new(CalendarRule::Nothing).over(sunday(None)).with_default_zone(Berlin);
    assert!(!below.includes(just_sunday_in_berlin));
    assert_eq!(sunday(Some(Tz::UTC)).with_default_zone(Berlin), sunday(Some(Tz::UTC)));
    assert_ne!(sunday(None).with_default_zone(Berlin), sunday(None));
    assert_ne!(below, Calendar::new(CalendarRule::Nothing).over(sunday(None)).with_default_zone(Tz::UTC));
}

#[test]
fn both_ends_of_a_daily_range_belong_to_it() {
    let range = Calendar::new(DailyRange::excluding(time(8, 0), time(9, 0)).unwrap());
    assert!(range.includes(at("2026-03-01T07:59:59.999Z")));
    assert!(!range.includes(at("2026-03-01T08:00:00Z")));
    assert!(!range.includes(at("2026-03-01T09:00:00Z")));
    assert!(range.includes(at("2026-03-01T09:00:00.001Z")));
}

#[test]
fn the_first_and_last_millisecond_of_a_day_are_never_in_a_daily_calendar() {
    let range = Calendar::new(DailyRange::excluding(time(8, 0), time(9, 0)).unwrap());
    assert!(!range.includes(at("2026-03-01T00:00:00Z")));
    assert!(!range.includes(at("2026-03-01T23:59:59.999Z")));
}

#[test]
fn a_range_that_ends_before_it_begins_is_refused() {
    assert!(DailyRange::excluding(time(9, 0), time(8, 0)).is_err());
    assert!(DailyRange::including_only(time(8, 0), time(8, 0)).is_err());
}

#[test]
fn a_stored_holiday_excludes_the_day_that_begins_at_that_instant() {
    let begins = at("2026-12-25T00:00:00+01:00");
    let stored = Calendar::new(Holidays::beginning_at_ms([begins]));
    let noon = at("2026-12-25T12:00:00+01:00");
    assert!(!stored.clone().in_zone(Berlin).includes(noon));
    assert!(stored.includes(noon));
    assert_eq!(Holidays::on(NaiveDate::from_ymd_opt(2026, 12, 25)).starts_ms(Berlin), [begins].into());
}

#[test]
fn a_calendar_that_excludes_everything_has_no_next_time() {
    let now = at("2026-03-01T12:00:00Z");
    let all_days = Calendar::new(MonthDays::excluding(1..=31).unwrap());
    let all_weekdays = Calendar::new(Weekdays::excluding((0..7).map(|n| Weekday::try_from(n).unwrap())));
    for calendar in [all_days, all_weekdays, every_second()] {
        assert_eq!(calendar.next_included_ms(now), None);
        assert_eq!(Calendar::new(CalendarRule::Nothing).over(calendar.clone()).next_included_ms(now), None);
        let daily = Calendar::new(DailyRange::excluding(time(8, 0), time(9, 0)).unwrap());
        assert_eq!(daily.over(calendar.clone()).next_included_ms(now), None);
        assert_eq!(Calendar::new(Holidays::default()).over(calendar).next_included_ms(now), None);
    }
}

#[test]
fn what_sends_quartz_into_an_endless_loop_has_an_answer() {
    let daily = Calendar::new(DailyRange::excluding(time(8, 0), time(9, 0)).unwrap());
    let annual = Calendar::new(AnnualDays::default()).over(daily);
    assert_eq!(annual.next_included_ms(at("2026-03-01T12:00:00Z")), None);
}

#[test]
fn the_skip_leads_to_the_first_included_instant() {
    let calendars = [
        Calendar::new(Weekdays::weekend()).in_zone(Berlin),
        Calendar::new(CronTimes::excluding("* * 0-7,18-23 ? * *").unwrap()).in_zone(Berlin),
        Calendar::new(CronTimes::excluding("* 0-29 * ? * SUN").unwrap()).in_zone(Berlin),
        Calendar::new(DailyRange::including_only(time(3, 10), time(9, 0)).unwrap()).in_zone(Berlin),
        Calendar::new(AnnualDays::excluding([(3, 29), (10, 25)]).unwrap()).in_zone(Berlin),
    ];
    // Around both changes of the clock, against a walk minute by minute.
    for from in [at("2026-03-28T20:00:00Z"), at("2026-10-24T20:00:00Z")] {
        for calendar in &calendars {
            let minutes: Vec<i64> = (0..48 * 60).map(|n| from + n * 60_000).collect();
            for (n, start) in minutes.iter().enumerate().step_by(7) {
                let walked = minutes.iter().skip(n).find(|minute| calendar.includes(**minute));
                let mut skipped = *start;
                while !calendar.includes(skipped) {
                    skipped = calendar.skip(skipped).unwrap();
                }
                if let Some(walked) = walked {
                    assert!(skipped <= *walked && skipped > walked - 60_000, "{calendar:?} from {start}");
                }
            }
        }
    }
}

#[test]
fn a_chain_that_is_too_long_is_refused() {
    let chain = |length: usize| {
        (1..length)
            .fold(Calendar::new(CalendarRule::Nothing), |base, _| Calendar::new(CalendarRule::Nothing).over(base))
    };
    assert!(chain(MAX_CALENDAR_DEPTH).check().is_ok());
    assert!(chain(MAX_CALENDAR_DEPTH + 1).check().is_err());
}

#[test]
fn instants_beyond_all_dates_are_excluded_and_lead_nowhere() {
    for ms in [i64::MAX, i64::MIN] {
        let calendar = Calendar::new(Weekdays::weekend());
        assert!(!calendar.includes(ms));
        assert_eq!(calendar.next_included_ms(ms), None);
        assert_eq!(calendar.skip(ms), None);
    }
}

/// In Greenland the clocks go from 23:00 to midnight: an excluded span that ends within that hour
/// has its end on the next day, and left out what Sunday has before it.
#[test]
fn a_span_whose_end_is_in_a_gap_before_midnight_ends_with_the_day() {
    let calendar = Calendar::new(DailyRange::excluding(time(19, 15), time(23, 9)).unwrap())
        .in_zone(chrono_tz::America::Scoresbysund);
    let midnight = at("2037-03-29T01:00:00Z");
    // Quartz leaves out midnight itself.
    assert!(!calendar.includes(midnight - 1) && calendar.includes(midnight + 1));
    assert_eq!(calendar.skip(midnight - 60_000), Some(midnight));
}
