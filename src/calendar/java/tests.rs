//! Calendars written and read again, and streams that Quartz never wrote.

use super::*;
use crate::calendar::{
    AnnualDays, CalendarRule, CronTimes, DailyRange, Holidays, MAX_CALENDAR_DEPTH, MonthDays, Weekdays,
};
use chrono::{NaiveDate, NaiveTime, Weekday};
use chrono_tz::Tz;

fn rules() -> Vec<CalendarRule> {
    let time = |hour, minute| NaiveTime::from_hms_milli_opt(hour, minute, 7, 8).expect("a time");
    vec![
        CalendarRule::Nothing,
        AnnualDays::excluding([(12, 25), (2, 29)]).expect("days").into(),
        CronTimes::excluding("* * 0-7 ? * MON-FRI").expect("an expression").into(),
        DailyRange::including_only(time(8, 0), time(17, 59)).expect("a range").into(),
        DailyRange::excluding(time(0, 0), time(0, 1)).expect("a range").into(),
        Holidays::beginning_at_ms([-1, 1_774_738_800_000]).into(),
        MonthDays::excluding(1..=31).expect("days").into(),
        MonthDays::default().into(),
        Weekdays::excluding([Weekday::Sun, Weekday::Wed]).into(),
    ]
}

/// One upon the other.
fn chain(zone: Tz) -> Calendar {
    let mut rules = rules().into_iter();
    let lowest = Calendar::new(rules.next().expect("a rule"));
    rules.fold(lowest, |base, rule| Calendar::new(rule).in_zone(zone).describe("näher am Ende").over(base))
}

/// `from` in a stream replaced by a text of the same length.
fn replaced(bytes: &[u8], from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|window| window == from.as_bytes()).expect("the text");
    [&bytes[..at], to.as_bytes(), &bytes[at + to.len()..]].concat()
}

#[test]
fn every_rule_comes_back() {
    for rule in rules() {
        for zone in [None, Some(Tz::UTC), Some(Tz::America__New_York)] {
            let mut calendar = Calendar::new(rule.clone());
            if let Some(zone) = zone {
                calendar = calendar.in_zone(zone).describe("");
            }
            let bytes = calendar.to_java_bytes().expect("a stream");
            assert_eq!(Calendar::from_java_bytes(&bytes).expect("a calendar"), calendar);
        }
    }
    let bytes = chain(Tz::Europe__Berlin).to_java_bytes().expect("a stream");
    assert_eq!(Calendar::decode(&bytes), Ok(chain(Tz::Europe__Berlin)));
}

#[test]
fn a_date_is_stored_as_the_beginning_of_the_day() {
    let easter = NaiveDate::from_ymd_opt(2026, 4, 5);
    let calendar = Calendar::new(Holidays::on(easter)).in_zone(Tz::Asia__Tokyo);
    let read = Calendar::decode(&calendar.to_java_bytes().expect("a stream")).expect("a calendar");
    assert_eq!(read.rule(), &Holidays::beginning_at_ms([1_775_314_800_000]).into());
}

#[test]
fn what_was_read_is_stored_as_it_was() {
    // As if by a JVM with other zone data: the table begins one offset later.
    let bytes = chain(Tz::Europe__Berlin).to_java_bytes().expect("a stream");
    let at = bytes.windows(4).position(|window| window == 7_200_000_i32.to_be_bytes()).expect("an offset");
    let mut other = bytes.clone();
    other[at + 3] ^= 1;
    let read = Calendar::decode(&other).expect("a calendar");
    assert_eq!(read.to_java_bytes().expect("a stream"), other);
    assert_eq!(read.clone().with_default_zone(Tz::Asia__Tokyo).to_java_bytes().expect("a stream"), other);
    let changed = read.describe("changed").to_java_bytes().expect("a stream");
    assert_eq!(changed, chain(Tz::Europe__Berlin).describe("changed").to_java_bytes().expect("a stream"));
}

#[test]
fn what_is_not_known_is_named() {
    let weekly = Calendar::new(Weekdays::weekend()).in_zone(Tz::Europe__Berlin);
    let bytes = weekly.to_java_bytes().expect("a stream");
    let reason = |bytes: &[u8]| Calendar::decode(bytes).expect_err("unreadable");
    let own = replaced(&bytes, "org.quartz.impl.calendar.WeeklyCalendar", "com.example.batch.MoonPhasesCalendar1--");
    assert!(reason(&own).contains("class com.example.batch.MoonPhasesCalendar1--"), "{}", reason(&own));
    let zone = replaced(&bytes, "Europe/Berlin", "Mars/Olympus!");
    assert!(reason(&zone).contains("`Mars/Olympus!`"), "{}", reason(&zone));
    let field = replaced(&bytes, "excludeDays", "includeDays");
    assert!(reason(&field).contains("no field excludeDays"), "{}", reason(&field));
    assert!(reason(b"#\n").contains("object stream"));
    let map = crate::JobDataMap::new().to_java_bytes().expect("a map");
    assert!(reason(&map).contains("class org.quartz.JobDataMap"));
    let error = Calendar::from_java_bytes(&own).expect_err("unreadable").to_string();
    assert!(error.contains("stored calendar"), "{error}");
}

#[test]
fn depth_and_size_have_limits() {
    let deep = |depth| {
        (1..depth).fold(Calendar::new(Weekdays::weekend()), |base, _| Calendar::new(Weekdays::weekend()).over(base))
    };
    let deepest = deep(MAX_CALENDAR_DEPTH);
    assert_eq!(Calendar::decode(&deepest.to_java_bytes().expect("a stream")), Ok(deepest));
    assert!(deep(MAX_CALENDAR_DEPTH + 1).to_java_bytes().is_err());
    let days = |count| Calendar::new(Holidays::beginning_at_ms(0..count));
    assert!(days(3000).to_java_bytes().is_ok());
    assert!(days(5000).to_java_bytes().expect_err("too long").to_string().contains("65535"));
    // A stream in which a calendar lies upon itself.
    let mut bytes = Calendar::new(CalendarRule::Nothing).to_java_bytes().expect("a stream");
    let null = bytes.len() - 3;
    bytes.splice(null..=null, [0x71, 0, 0x7E, 0, 4]);
    assert!(Calendar::decode(&bytes).expect_err("endless").contains("upon each other"));
}

/// Every stream cut short, and with every byte changed, is read or refused. A calendar that is read
/// can be written again.
#[test]
fn damaged_streams_do_no_harm() {
    let whole = chain(Tz::UTC).to_java_bytes().expect("a stream");
    for end in 0..whole.len() {
        assert!(Calendar::decode(&whole[..end]).is_err(), "cut at {end}");
    }
    let mut read = 0;
    for at in 0..whole.len() {
        for change in [1, 0x80] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            if let Ok(calendar) = Calendar::decode(&damaged) {
                read += 1;
                let again = calendar.describe("again").to_java_bytes().map(|bytes| Calendar::decode(&bytes).is_ok());
                assert!(again.unwrap_or(true), "byte {at} ^ {change}");
            }
        }
    }
    assert!(read > 100, "{read}");
}
