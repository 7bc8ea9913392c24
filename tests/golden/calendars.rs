//! `calendars.jsonl` and `calendars_at_clock_changes.jsonl`: which times calendars include, which
//! they include next, and what they look like in a table.

use chrono_tz::Tz;
use serde_json::Value;

use carnelian::Calendar;

use crate::definitions::{calendar, is_beyond_quartz, list, millis, moment, zone};
use crate::jobdata::base64;
use crate::report::{Mismatch, Verdict, check_file, mismatch, same};

#[test]
fn calendars() {
    check_calendars("calendars.jsonl");
}

/// Cron calendars passed over the repeated hour otherwise than Quartz, and no record asked for it.
#[test]
fn calendars_at_clock_changes() {
    check_calendars("calendars_at_clock_changes.jsonl");
}

fn check_calendars(file: &str) {
    check_file(file, |record| {
        let calendar = calendar(record).expect("a calendar");
        let calendar = stored_as_in_quartz(record, calendar)?;
        let mut verdict = Verdict::Equal;
        for query in list(record, "queries") {
            let at = query[0].as_i64().expect("an instant");
            let next = millis(calendar.next_included_time(moment(at)));
            if is_error(&query[1]) {
                same("an instant that Quartz refuses", true, at <= 0)?;
                verdict = Verdict::Deviating("before-1970");
                continue;
            }
            if is_error(&query[2]) {
                same("an answer that Quartz refuses", true, next.is_some_and(|next| next <= 0))?;
                verdict = Verdict::Deviating("before-1970");
                continue;
            }
            if is_beyond_quartz(at, Tz::UTC) || query[2].as_i64().is_some_and(|then| is_beyond_quartz(then, Tz::UTC)) {
                let then = query[2].as_i64().expect("an instant");
                same(format!("{then} is included"), false, calendar.is_time_included(moment(then)))?;
                same(format!("next after {at}"), None, next)?;
                verdict = Verdict::Deviating("after-a-century");
                continue;
            }
            same(format!("{at} is included"), query[1].as_bool(), Some(calendar.is_time_included(moment(at))))?;
            match &query[2] {
                Value::Number(expected) => {
                    // Quartz says 0 for "none", and for the first instant of 1970.
                    let expected = expected.as_i64().filter(|expected| *expected != 0 || next == Some(0));
                    same(format!("next after {at}"), expected, next)?;
                }
                Value::String(text) if text == "hang" => {
                    if next.is_some_and(|next| next <= at || !calendar.is_time_included(moment(next))) {
                        let what = format!("next after {at}, where Quartz hangs");
                        return Err(mismatch(what, "a later included time or none", next));
                    }
                    verdict = Verdict::Deviating("no-answer");
                }
                other => return Err(mismatch(format!("next after {at}"), other, next)),
            }
        }
        Ok(verdict)
    });
}

/// Checks what is stored for a calendar against the record; returns the calendar that the record's
/// bytes are read as.
fn stored_as_in_quartz(record: &Value, calendar: Calendar) -> Result<Calendar, Mismatch> {
    let stored = base64(record["bytes"].as_str().expect("base64"));
    let write = |what: &str, calendar: &Calendar| {
        let bytes = calendar.to_java_bytes().map_err(|error| mismatch(what, "a stream", error.to_string()))?;
        if bytes == stored { Ok(()) } else { Err(mismatch(what, shown(&stored), shown(&bytes))) }
    };
    write("bytes", &calendar)?;
    let read = Calendar::from_java_bytes(&stored);
    let read = read.map_err(|error| mismatch("reading", "a calendar", error.to_string()))?;
    write("bytes of what was read", &read)?;
    let read = read.with_default_zone(zone(record, "default_tz").expect("a default zone"));
    write("bytes of what was read, made anew", &anew(&read))?;
    Ok(read)
}

/// An equal calendar, made of the parts of this one.
fn anew(calendar: &Calendar) -> Calendar {
    let mut made = Calendar::new(calendar.rule().clone()).with_default_zone(calendar.default_zone());
    if let Some(zone) = calendar.zone() {
        made = made.in_zone(zone);
    }
    if let Some(text) = calendar.description() {
        made = made.describe(text);
    }
    if let Some(base) = calendar.base() {
        made = made.over(anew(base));
    }
    made
}

/// The texts among the bytes.
fn shown(bytes: &[u8]) -> String {
    format!("{} bytes: {}", bytes.len(), bytes.escape_ascii())
}

fn is_error(answer: &Value) -> bool {
    answer.as_str().is_some_and(|text| text.starts_with("error: "))
}
