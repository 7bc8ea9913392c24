//! `calendars.jsonl`: which times calendars include, and which they include next. What they look like in a table is
//! not looked at here.

use chrono_tz::Tz;
use serde_json::Value;

use crate::definitions::{calendar, is_beyond_quartz, list};
use crate::report::{Verdict, check_file, mismatch, same};

#[test]
fn calendars() {
    check_file("calendars.jsonl", |record| {
        let calendar = calendar(record).expect("a calendar");
        let mut verdict = Verdict::Equal;
        for query in list(record, "queries") {
            let at = query[0].as_i64().expect("an instant");
            let next = calendar.next_included_time(at);
            if is_error(&query[1]) {
                same("an instant that Quartz refuses", true, at <= 0)?;
                verdict = Verdict::Deviating("before-1970");
                continue;
            }
            if is_beyond_quartz(at, Tz::UTC) || query[2].as_i64().is_some_and(|then| is_beyond_quartz(then, Tz::UTC)) {
                let then = query[2].as_i64().expect("an instant");
                same(format!("{then} is included"), false, calendar.is_time_included(then))?;
                same(format!("next after {at}"), None, next)?;
                verdict = Verdict::Deviating("after-a-century");
                continue;
            }
            same(format!("{at} is included"), query[1].as_bool(), Some(calendar.is_time_included(at)))?;
            match &query[2] {
                Value::Number(expected) => {
                    // Quartz says 0 for "none".
                    let expected = expected.as_i64().filter(|expected| *expected != 0);
                    same(format!("next after {at}"), expected, next)?;
                }
                Value::String(text) if text == "hang" => {
                    if next.is_some_and(|next| next <= at || !calendar.is_time_included(next)) {
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

fn is_error(answer: &Value) -> bool {
    answer.as_str().is_some_and(|text| text.starts_with("error: "))
}
