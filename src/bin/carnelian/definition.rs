//! The definition of a calendar as JSON: what `calendar put` reads and `calendar show` prints.
//!
//! ```json
//! { "type": "holiday", "tz": "Europe/Berlin", "dates": ["2026-12-25"],
//!   "base": { "type": "weekly", "days": ["SAT", "SUN"] } }
//! ```

use carnelian::calendar::{
    AnnualDays, Calendar, CalendarRule, CronTimes, DailyRange, Holidays, MAX_CALENDAR_DEPTH, MonthDays, Weekdays,
};
use chrono::{DateTime, NaiveDate, NaiveTime, SecondsFormat, Timelike, Utc, Weekday};
use chrono_tz::Tz;
use serde_json::{Map, Value, json};

/// The accepted form; shown by `calendar put --help`.
pub const FORM: &str = "\
A definition is a JSON object:
  type         annual | base | cron | daily | holiday | monthly | weekly: what it leaves out
  days         annual: [\"12-25\", …] month and day; monthly: [1, 15, …]; weekly: [\"SAT\", \"SUN\", …]
  dates        holiday: [\"2026-12-25\", …]
  expression   cron: the times of this cron expression
  from, to     daily: \"08:00\", \"17:59:59.999\"; both belong to the range
  only         daily: true leaves out all but the range [default: false]
  tz           the time zone of all this [default: carnelian.scheduler.timeZone, else the machine's]
  description  a note for people
  base         another definition, whose times are left out too";

/// The shortest form in which a weekday is written.
const DAYS: [(&str, Weekday); 7] = [
    ("SUN", Weekday::Sun),
    ("MON", Weekday::Mon),
    ("TUE", Weekday::Tue),
    ("WED", Weekday::Wed),
    ("THU", Weekday::Thu),
    ("FRI", Weekday::Fri),
    ("SAT", Weekday::Sat),
];

/// The calendar that a definition describes. An error names the member, what it is, and what was
/// expected.
pub fn read(text: &str) -> Result<Calendar, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    calendar(&value, 0)
}

fn calendar(value: &Value, depth: usize) -> Result<Calendar, String> {
    if depth >= MAX_CALENDAR_DEPTH {
        return Err(format!("`base`: more than {MAX_CALENDAR_DEPTH} calendars upon each other"));
    }
    let Value::Object(members) = value else { return Err(format!("{value}: expected an object")) };
    let definition = Definition { members };
    let kind = definition.text("type")?.ok_or("`type` is missing: expected what the calendar leaves out")?;
    let (own, rule): (&[&str], CalendarRule) = match kind {
        "base" => (&[], CalendarRule::Nothing),
        "annual" => (&["days"], AnnualDays::excluding(definition.list("days", annual_day)?).map_err(said)?.into()),
        "monthly" => (&["days"], MonthDays::excluding(definition.list("days", month_day)?).map_err(said)?.into()),
        "weekly" => (&["days"], Weekdays::excluding(definition.list("days", weekday)?).into()),
        "holiday" => (&["dates"], holidays(definition.list("dates", date)?)?.into()),
        "cron" => (&["expression"], CronTimes::excluding(definition.needed("expression")?).map_err(said)?.into()),
        "daily" => (&["from", "to", "only"], definition.range()?.into()),
        other => {
            return Err(format!("`type` is `{other}`: expected annual, base, cron, daily, holiday, monthly or weekly"));
        }
    };
    definition.refuse_others(kind, own)?;
    let mut calendar = Calendar::new(rule);
    if let Some(name) = definition.text("tz")? {
        calendar = calendar.in_zone(crate::value::zone(name).map_err(|reason| format!("`tz` is `{name}`: {reason}"))?);
    }
    if let Some(text) = definition.text("description")? {
        calendar = calendar.describe(text);
    }
    match members.get("base") {
        None | Some(Value::Null) => Ok(calendar),
        Some(base) => Ok(calendar.over(self::calendar(base, depth + 1)?)),
    }
}

fn said(error: impl std::fmt::Display) -> String {
    error.to_string()
}

struct Definition<'a> {
    members: &'a Map<String, Value>,
}

impl<'a> Definition<'a> {
    fn text(&self, name: &str) -> Result<Option<&'a str>, String> {
        match self.members.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(format!("`{name}` is {other}: expected a text")),
        }
    }

    fn needed(&self, name: &str) -> Result<&'a str, String> {
        self.text(name)?.ok_or_else(|| format!("`{name}` is missing"))
    }

    fn list<T>(&self, name: &str, read: fn(&Value) -> Option<T>) -> Result<Vec<T>, String> {
        let list = match self.members.get(name) {
            Some(Value::Array(list)) => list,
            Some(other) => return Err(format!("`{name}` is {other}: expected a list")),
            None => return Err(format!("`{name}` is missing: expected a list")),
        };
        let expected = match name {
            "dates" => "dates such as \"2026-12-25\"",
            _ => "\"12-25\" (annual), 1 to 31 (monthly) or \"SAT\" (weekly)",
        };
        let element = |value| read(value).ok_or_else(|| format!("`{name}` holds {value}: expected {expected}"));
        list.iter().map(element).collect()
    }

    fn range(&self) -> Result<DailyRange, String> {
        let time = |name| {
            let text = self.needed(name)?;
            let forms = ["%H:%M", "%H:%M:%S", "%H:%M:%S%.3f"];
            let read = forms.iter().find_map(|form| NaiveTime::parse_from_str(text, form).ok());
            read.ok_or_else(|| format!("`{name}` is `{text}`: expected a time such as 08:00 or 17:59:59.999"))
        };
        let new = match self.members.get("only") {
            None | Some(Value::Null | Value::Bool(false)) => DailyRange::excluding,
            Some(Value::Bool(true)) => DailyRange::including_only,
            Some(other) => return Err(format!("`only` is {other}: expected true or false")),
        };
        new(time("from")?, time("to")?).map_err(said)
    }

    fn refuse_others(&self, kind: &str, own: &[&str]) -> Result<(), String> {
        let known = |name: &&String| {
            ["type", "tz", "description", "base"].contains(&name.as_str()) || own.contains(&name.as_str())
        };
        match self.members.keys().find(|name| !known(name)) {
            Some(name) => Err(format!(
                "`{name}` means nothing for type {kind}: expected {}tz, description or base",
                own.iter().map(|name| format!("{name}, ")).collect::<String>()
            )),
            None => Ok(()),
        }
    }
}

/// `12-25`.
fn annual_day(value: &Value) -> Option<(u32, u32)> {
    let (month, day) = value.as_str()?.split_once('-')?;
    Some((month.parse().ok()?, day.parse().ok()?))
}

fn month_day(value: &Value) -> Option<u32> {
    u32::try_from(value.as_u64()?).ok()
}

fn weekday(value: &Value) -> Option<Weekday> {
    let name = value.as_str()?.to_ascii_uppercase();
    DAYS.iter().find(|(short, _)| *short == name).map(|(_, day)| *day)
}

/// A date, or the moment at which somebody else's day begins.
enum Day {
    Date(NaiveDate),
    Start(DateTime<Utc>),
}

fn date(value: &Value) -> Option<Day> {
    let text = value.as_str()?;
    let date = NaiveDate::parse_from_str(text, "%Y-%m-%d").map(Day::Date);
    date.or_else(|_| DateTime::parse_from_rfc3339(text).map(|start| Day::Start(start.to_utc()))).ok()
}

fn holidays(days: Vec<Day>) -> Result<Holidays, String> {
    let (mut dates, mut starts) = (Vec::new(), Vec::new());
    for day in days {
        match day {
            Day::Date(date) => dates.push(date),
            Day::Start(start) => starts.push(start),
        }
    }
    match (dates.is_empty(), starts.is_empty()) {
        (_, true) => Ok(Holidays::on(dates)),
        (true, false) => Ok(Holidays::beginning_at(starts)),
        (false, false) => Err("`dates` holds both dates and moments: expected one of the two".to_owned()),
    }
}

/// The definition of a calendar.
pub fn show(calendar: &Calendar) -> Value {
    let own = match calendar.rule() {
        CalendarRule::Annual(days) => {
            json!({"days": days.days().map(|(month, day)| format!("{month:02}-{day:02}")).collect::<Vec<_>>()})
        }
        CalendarRule::Monthly(days) => json!({"days": days.days().collect::<Vec<_>>()}),
        CalendarRule::Weekly(days) => {
            let name = |day: Weekday| DAYS.iter().find(|(_, known)| *known == day).map(|(name, _)| *name);
            json!({"days": days.days().filter_map(name).collect::<Vec<_>>()})
        }
        CalendarRule::Cron(times) => json!({"expression": times.expression().text()}),
        CalendarRule::Daily(range) => {
            json!({"from": time(range.start_time_of_day()), "to": time(range.end_time_of_day()), "only": range.includes_only_range()})
        }
        CalendarRule::Holiday(days) => {
            json!({"dates": dates(days, calendar.zone().unwrap_or(calendar.default_zone()))})
        }
        _ => Value::Null,
    };
    let mut members = match own {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let common = [
        ("type", Some(json!(calendar.rule().name()))),
        ("tz", calendar.zone().map(|zone| json!(zone.name()))),
        ("description", calendar.description().map(Value::from)),
        ("base", calendar.base().map(show)),
    ];
    members.extend(common.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    Value::Object(members)
}

fn time(time: NaiveTime) -> String {
    let form = match (time.second(), time.nanosecond()) {
        (0, 0) => "%H:%M",
        (_, 0) => "%H:%M:%S",
        _ => "%H:%M:%S%.3f",
    };
    time.format(form).to_string()
}

/// Dates, if all days begin when days of this zone do; otherwise the moments.
fn dates(days: &Holidays, zone: Tz) -> Vec<String> {
    let starts = days.starts(zone);
    let dates: Vec<NaiveDate> = starts.iter().map(|start| start.with_timezone(&zone).date_naive()).collect();
    if Holidays::on(dates.iter().copied()).starts(zone) == starts {
        return dates.iter().map(|date| date.format("%Y-%m-%d").to_string()).collect();
    }
    starts.iter().map(|start| start.to_rfc3339_opts(SecondsFormat::AutoSi, true)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_read() {
        for text in [
            r#"{"type": "base"}"#,
            r#"{"type": "annual", "days": ["12-25", "01-01"], "tz": "Asia/Tokyo", "description": "ü"}"#,
            r#"{"type": "monthly", "days": [1, 31]}"#,
            r#"{"type": "weekly", "days": ["SUN", "SAT"], "base": {"type": "weekly", "days": []}}"#,
            r#"{"type": "holiday", "dates": ["2026-10-25", "2026-12-25"], "tz": "Europe/Berlin"}"#,
            r#"{"type": "holiday", "dates": ["2026-12-24T17:00:00Z"]}"#,
            r#"{"type": "cron", "expression": "* * 0-7 ? * MON-FRI"}"#,
            r#"{"type": "daily", "from": "08:00", "to": "17:59:59.999", "only": true}"#,
            r#"{"type": "daily", "from": "00:00:01", "to": "08:00", "only": false}"#,
        ] {
            let calendar = read(text).unwrap();
            assert_eq!(show(&calendar), serde_json::from_str::<Value>(text).unwrap());
            let stored = Calendar::from_java_bytes(&calendar.to_java_bytes().unwrap()).unwrap();
            assert_eq!(show(&stored), show(&calendar), "after it was stored");
        }
    }

    #[test]
    fn mistakes_are_named_with_what_was_expected() {
        for (text, hint) in [
            ("", "no JSON"),
            ("[]", "an object"),
            ("{}", "`type` is missing"),
            (r#"{"type": "lunar"}"#, "`lunar`: expected annual"),
            (r#"{"type": "weekly"}"#, "`days` is missing"),
            (r#"{"type": "weekly", "days": ["SAM"]}"#, r#""SAM""#),
            (r#"{"type": "weekly", "days": [], "dates": []}"#, "`dates` means nothing for type weekly: expected days"),
            (r#"{"type": "monthly", "days": [32]}"#, "32"),
            (r#"{"type": "annual", "days": ["02-30"]}"#, "2-30"),
            (r#"{"type": "holiday", "dates": ["25.12.2026"]}"#, "2026-12-25"),
            (r#"{"type": "holiday", "dates": ["2026-12-25", "2026-12-25T00:00:00Z"]}"#, "one of the two"),
            (r#"{"type": "daily", "from": "8 am", "to": "18:00"}"#, "`8 am`"),
            (r#"{"type": "daily", "from": "18:00", "to": "08:00"}"#, "after the beginning"),
            (r#"{"type": "cron", "expression": "* * *"}"#, "* * *"),
            (r#"{"type": "base", "tz": "Mars"}"#, "`Mars`"),
            (r#"{"type": "base", "base": {"type": 1}}"#, "`type` is 1"),
        ] {
            let error = read(text).expect_err(text);
            assert!(error.contains(hint), "{text}: {error}");
        }
        let deep =
            (0..40).fold(r#"{"type": "base"}"#.to_owned(), |base, _| format!(r#"{{"type": "base", "base": {base}}}"#));
        assert!(read(&deep).expect_err("too deep").contains("upon each other"));
    }
}
