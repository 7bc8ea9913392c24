//! Triggers and calendars built from their definitions in the golden data.

use carnelian::calendar::{AnnualDays, Calendar, CalendarRule, CronTimes, DailyRange, Holidays, MonthDays, Weekdays};
use carnelian::{
    CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, JobKey, MisfireInstruction,
    Result, Schedule, SimpleSchedule, Trigger, TriggerKey,
};
use chrono::{DateTime, Datelike, NaiveTime, Utc, Weekday};
use chrono_tz::Tz;
use serde_json::Value;
use std::time::Duration;

pub fn moment(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).expect("an instant")
}

pub fn millis(time: Option<DateTime<Utc>>) -> Option<i64> {
    time.map(|time| time.timestamp_millis())
}

/// Tells whether a time is later than the last year in which Quartz looks for one: a hundred after
/// that of its frozen clock.
pub fn is_beyond_quartz(ms: i64, zone: Tz) -> bool {
    moment(ms).with_timezone(&zone).year() > 2126
}

/// A member that is a number of milliseconds, or null, or absent.
pub fn ms(record: &Value, member: &str) -> Option<i64> {
    record[member].as_i64()
}

pub fn is_true(record: &Value, member: &str) -> bool {
    record[member] == Value::Bool(true)
}

pub fn list<'a>(record: &'a Value, member: &str) -> &'a [Value] {
    record[member].as_array().map_or(&[], Vec::as_slice)
}

pub fn zone(definition: &Value, member: &str) -> Option<Tz> {
    definition[member].as_str().map(|name| name.parse().expect("a zone that chrono-tz knows"))
}

fn integer(definition: &Value, member: &str) -> i64 {
    definition[member].as_i64().unwrap_or_else(|| panic!("no `{member}` in {definition}"))
}

fn text<'a>(definition: &'a Value, member: &str) -> &'a str {
    definition[member].as_str().unwrap_or_else(|| panic!("no `{member}` in {definition}"))
}

/// The trigger of a record, or why it does not build.
pub fn trigger(record: &Value) -> Result<Trigger> {
    named_trigger(record, TriggerKey::named("t"), JobKey::named("j"))
}

/// The trigger of a record under another name, with what a stored one has besides.
pub fn named_trigger(record: &Value, key: TriggerKey, job: JobKey) -> Result<Trigger> {
    let definition = &record["trigger"];
    let kind = text(definition, "type");
    let default_zone = zone(record, "default_tz").expect("a default zone");
    let own_zone = zone(definition, "tz").unwrap_or(default_zone);
    let schedule: Schedule = match kind {
        "SIMPLE" => simple(definition).into(),
        "CRON" => CronSchedule::new(text(definition, "expr"))?.in_zone(own_zone).into(),
        "CAL_INT" => CalendarIntervalSchedule::every(interval(definition), unit(definition))
            .in_zone(own_zone)
            .preserve_hour(is_true(definition, "preserve_hour"))
            .skip_day_without_hour(is_true(definition, "skip_day"))
            .into(),
        "DAILY_I" => daily(definition).with_default_zone(default_zone).into(),
        other => panic!("trigger type {other}"),
    };
    let code = i32::try_from(integer(definition, "misfire")).expect("an instruction");
    let mut builder = Trigger::builder(key, job)
        .schedule(schedule)
        .misfire(MisfireInstruction::from_code(kind, code).expect("an instruction of that kind"))
        .start_at(moment(integer(definition, "start")));
    if let Some(priority) = ms(definition, "priority") {
        builder = builder.priority(i32::try_from(priority).expect("a priority"));
    }
    if let Some(name) = definition["calendar"].as_str() {
        builder = builder.calendar(name);
    }
    match ms(definition, "end") {
        Some(end) => builder.end_at(moment(end)).build(),
        None => builder.build(),
    }
}

fn simple(definition: &Value) -> SimpleSchedule {
    let interval = u64::try_from(integer(definition, "repeat_interval")).expect("an interval");
    let every = SimpleSchedule::every(Duration::from_millis(interval));
    u32::try_from(integer(definition, "repeat_count")).map_or(every.clone(), |count| every.repeat(count))
}

fn daily(definition: &Value) -> DailyTimeIntervalSchedule {
    let days = list(definition, "days_of_week").iter().map(number).map(weekday_of_java);
    let mut daily = DailyTimeIntervalSchedule::every(interval(definition), unit(definition)).on_days(days);
    daily = match definition["start_tod"].as_str() {
        Some(time) => daily.starting_daily_at(time_of_day(time)),
        None => daily,
    };
    daily = match definition["end_tod"].as_str() {
        Some(time) => daily.ending_daily_at(time_of_day(time)),
        None => daily.without_end_of_day(),
    };
    match u32::try_from(integer(definition, "repeat_count")) {
        Ok(count) => daily.repeat(count),
        Err(_) => daily,
    }
}

fn interval(definition: &Value) -> u32 {
    number(&definition["interval"])
}

fn unit(definition: &Value) -> IntervalUnit {
    IntervalUnit::from_name(text(definition, "unit")).expect("a unit")
}

/// The calendar of a record, if it has one.
pub fn calendar(record: &Value) -> Option<Calendar> {
    let default_zone = zone(record, "default_tz").expect("a default zone");
    let definition = record.get("calendar").filter(|definition| !definition.is_null())?;
    Some(calendar_of_definition(definition, default_zone).with_default_zone(default_zone))
}

pub fn calendar_of_definition(definition: &Value, default_zone: Tz) -> Calendar {
    let own_zone = zone(definition, "tz");
    let mut calendar = Calendar::new(rule(definition, own_zone.unwrap_or(default_zone)));
    if let Some(zone) = own_zone {
        calendar = calendar.in_zone(zone);
    }
    if let Some(text) = definition["description"].as_str() {
        calendar = calendar.describe(text);
    }
    if !definition["base"].is_null() {
        calendar = calendar.over(calendar_of_definition(&definition["base"], default_zone));
    }
    calendar
}

fn rule(definition: &Value, zone: Tz) -> CalendarRule {
    let numbers = |member| list(definition, member).iter().map(number);
    match text(definition, "type") {
        "base" => CalendarRule::Nothing,
        "annual" => {
            let days = list(definition, "days").iter().map(|day| (number(&day[0]), number(&day[1])));
            AnnualDays::excluding(days).expect("days of a year").into()
        }
        "monthly" => MonthDays::excluding(numbers("days")).expect("days of a month").into(),
        "weekly" => Weekdays::excluding(numbers("days").map(weekday_of_java)).into(),
        "cron" => CronTimes::excluding(text(definition, "expr")).expect("an expression").into(),
        "daily" => {
            let (from, to) = (time_of_day(text(definition, "from")), time_of_day(text(definition, "to")));
            let new = if is_true(definition, "invert") { DailyRange::including_only } else { DailyRange::excluding };
            new(from, to).expect("a range").into()
        }
        "holiday" => {
            let instants = |member| list(definition, member).iter().map(|ms| ms.as_i64().expect("an instant"));
            let dates = instants("dates_added").map(|ms| moment(ms).with_timezone(&zone).date_naive());
            let (of_dates, stored) =
                (Holidays::on(dates), Holidays::beginning_at(instants("dates_stored").map(moment)));
            assert_eq!(of_dates.starts(zone), stored.starts(zone), "what Quartz stores for {definition}");
            // Both forms exclude the same days; each is taken for half of the records.
            if list(definition, "dates_added").len().is_multiple_of(2) { of_dates.into() } else { stored.into() }
        }
        other => panic!("calendar type {other}"),
    }
}

fn number(value: &Value) -> u32 {
    value.as_u64().and_then(|n| u32::try_from(n).ok()).expect("a small number")
}

/// 1 is Sunday.
fn weekday_of_java(number: u32) -> Weekday {
    Weekday::try_from(u8::try_from((number + 5) % 7).expect("a weekday")).expect("a weekday")
}

/// `HH:MM:SS`, with `:mmm` or without.
fn time_of_day(text: &str) -> NaiveTime {
    let parts: Vec<u32> = text.split(':').map(|part| part.parse().expect("a number")).collect();
    let ms = parts.get(3).copied().unwrap_or(0);
    NaiveTime::from_hms_milli_opt(parts[0], parts[1], parts[2], ms).expect("a time of day")
}
