//! `cron.jsonl` and `cron_invalid.jsonl`: which expressions there are, and when they fire.

use carnelian::cron::CronExpression;
use chrono_tz::Tz;
use serde_json::Value;

use crate::definitions::{millis, moment};
use crate::report::{Mismatch, Outcome, Verdict, check_file, mismatch, same};

/// The year of the frozen clock under which Quartz wrote the data.
const NOW_YEAR: i32 = 2026;

#[test]
fn cron() {
    check_file("cron.jsonl", |record| {
        let expression = parse(record)?;
        fires(record, &expression)
    });
}

#[test]
fn cron_invalid() {
    check_file("cron_invalid.jsonl", |record| {
        let text = text(record, "expr");
        if record["valid"] == Value::Bool(false) {
            return match CronExpression::parse(text) {
                Err(_) => Ok(Verdict::Equal),
                Ok(expression) => Err(mismatch(format!("`{text}` is accepted"), "an error", expression)),
            };
        }
        let expression = parse(record)?;
        same("stored_as", text_of(record, "stored_as"), Some(expression.text()))?;
        same("Display", expression.text().to_owned(), expression.to_string())?;
        fires(record, &expression)
    });
}

fn parse(record: &Value) -> Result<CronExpression, Mismatch> {
    let text = text(record, "expr");
    CronExpression::parse(text).map_err(|error| mismatch(format!("`{text}` is refused"), "an expression", error))
}

/// Compares the chain of fire times and the instants asked about.
fn fires(record: &Value, expression: &CronExpression) -> Outcome {
    let zone = zone(record);
    let mut time = record["start"].as_i64().expect("start");
    let next = |after| millis(expression.next_after(moment(after), zone, NOW_YEAR));
    let clock_dependent = record["clock_dependent"] == Value::Bool(true);
    if clock_dependent {
        let whole = time.div_euclid(1000) * 1000;
        same("next of a start without its milliseconds", next(whole), next(time))?;
        return Ok(Verdict::Deviating("wall-clock-milliseconds"));
    }
    for (step, expected) in list(record, "next").iter().enumerate() {
        let what = format!("`{expression}` {zone} next[{step}] after {time}");
        let got = next(time);
        same(what, expected.as_i64(), got)?;
        time = got.unwrap_or(time);
    }
    for pair in list(record, "satisfied") {
        let ms = pair[0].as_i64().expect("instant");
        let got = expression.is_satisfied_by(moment(ms), zone, NOW_YEAR);
        same(format!("`{expression}` {zone} satisfied by {ms}"), pair[1].as_bool(), Some(got))?;
    }
    match text_of(record, "eval_error") {
        None => Ok(Verdict::Equal),
        Some("hang") => match next(time) {
            Some(next) if next <= time => Err(mismatch("where Quartz hangs", "a later time or none", next)),
            _ => Ok(Verdict::Deviating("no-answer")),
        },
        Some(_) => {
            same("where Quartz throws", None, next(time))?;
            Ok(Verdict::Deviating("no-answer"))
        }
    }
}

fn zone(record: &Value) -> Tz {
    text(record, "tz").parse().expect("a zone that chrono-tz knows")
}

fn text<'a>(record: &'a Value, member: &str) -> &'a str {
    text_of(record, member).unwrap_or_else(|| panic!("{}: no `{member}`", record["id"]))
}

fn text_of<'a>(record: &'a Value, member: &str) -> Option<&'a str> {
    record[member].as_str()
}

fn list<'a>(record: &'a Value, member: &str) -> &'a [Value] {
    record[member].as_array().map_or(&[], Vec::as_slice)
}
