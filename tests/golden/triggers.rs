//! `triggers.jsonl` and `misfire.jsonl`: fire times one after the other, and the effects of
//! misfires on them.

use carnelian::{Schedule, Trigger};
use chrono::{MappedLocalTime, TimeZone};
use serde_json::Value;

use crate::definitions::{calendar, is_beyond_quartz, is_true, list, millis, moment, ms, trigger, zone};
use crate::report::{Mismatch, Outcome, Verdict, check_file, mismatch, same};

/// The frozen clock under which Quartz wrote the triggers: 2026-03-01T12:00:00Z.
const NOW_MS: i64 = 1_772_366_400_000;

#[test]
fn triggers() {
    check_file("triggers.jsonl", fires);
}

#[test]
fn misfire() {
    check_file("misfire.jsonl", misfires);
}

fn fires(record: &Value) -> Outcome {
    let mut trigger = built(record)?;
    let (calendar, now) = (calendar(record), moment(NOW_MS));
    let kept = ms(record, "start_kept").expect("start_kept");
    let mut verdict = Verdict::Equal;
    if let Some(whole) = in_first_pass(record, kept) {
        same("start", whole, trigger.start_time().timestamp_millis())?;
        verdict = Verdict::Deviating("start-in-a-repeated-hour");
        // The rest is checked for the start that Quartz made of the trigger's own.
        let mut moved = record.clone();
        moved["trigger"]["start"] = kept.into();
        trigger = built(&moved)?;
    }
    same("start_kept", kept, trigger.start_time().timestamp_millis())?;
    same("final", ms(record, "final"), millis(trigger.final_fire_time()))?;
    for pair in list(record, "fire_time_after") {
        let after = pair[0].as_i64().expect("instant");
        same(
            format!("fire time after {after}"),
            pair[1].as_i64(),
            millis(trigger.fire_time_after(moment(after), now)),
        )?;
    }
    let hangs = record["error"] == "hang";
    let first = millis(trigger.compute_first_fire_time(calendar.as_ref(), now));
    if hangs && ms(record, "first").is_none() {
        return no_answer(None, first);
    }
    same("first", ms(record, "first"), first)?;
    let default_zone = zone(record, "default_tz").expect("a default zone");
    if first.is_none() && ms(record, "next_after_first").is_some_and(|left| is_beyond_quartz(left, default_zone)) {
        same("next_after_first", None, next(&trigger))?;
        return Ok(Verdict::Deviating("after-a-century"));
    }
    same("next_after_first", ms(record, "next_after_first"), next(&trigger))?;
    same("may_fire_first", is_true(record, "may_fire_first"), trigger.may_fire_again())?;
    for (step, expected) in list(record, "chain").iter().enumerate() {
        trigger.triggered(calendar.as_ref(), now);
        same(format!("chain[{step}]"), expected.as_i64(), next(&trigger))?;
    }
    if hangs {
        let last = next(&trigger);
        trigger.triggered(calendar.as_ref(), now);
        return no_answer(last, next(&trigger));
    }
    if !is_true(record, "truncated") {
        same_state("state_last", &record["state_last"], &trigger)?;
        same("may_fire_last", is_true(record, "may_fire_last"), trigger.may_fire_again())?;
        same("final_last", ms(record, "final_last"), millis(trigger.final_fire_time()))?;
    }
    Ok(verdict)
}

/// The outcome of a search from which Quartz does not come back: a later time, or none.
fn no_answer(last: Option<i64>, next: Option<i64>) -> Outcome {
    match next {
        Some(_) if next <= last => Err(mismatch("where Quartz hangs", "a later time or none", next)),
        _ => Ok(Verdict::Deviating("no-answer")),
    }
}

/// The whole second of the start if that is in the first pass of an hour that comes twice in the
/// default zone, and the kept start is the equal time on the clock in the second pass.
fn in_first_pass(record: &Value, kept: i64) -> Option<i64> {
    let zone = zone(record, "default_tz")?;
    let clock = moment(kept).with_timezone(&zone).naive_local();
    let MappedLocalTime::Ambiguous(first, second) = zone.from_local_datetime(&clock) else {
        return None;
    };
    let whole = first.timestamp_millis();
    let given = ms(&record["trigger"], "start")?;
    (second.timestamp_millis() == kept && given.div_euclid(1000) * 1000 == whole).then_some(whole)
}

fn misfires(record: &Value) -> Outcome {
    let mut trigger = built(record)?;
    let (calendar, now_ms) = (calendar(record), ms(record, "now").expect("now"));
    let now = moment(now_ms);
    let before = &record["before"];
    let times_triggered = before["times_triggered"].as_u64().unwrap_or(0);
    trigger.set_history(ms(before, "next").map(moment), ms(before, "prev").map(moment), times_triggered);
    same_state("before", before, &trigger)?;
    trigger.apply_misfire(calendar.as_ref(), now);
    if record["error"] == "hang" {
        return no_answer(Some(now_ms), next(&trigger));
    }
    same_state("after", &record["after"], &trigger)?;
    same("may_fire_again", is_true(record, "may_fire_again"), trigger.may_fire_again())?;
    for (step, expected) in list(record, "chain_after").iter().enumerate() {
        trigger.triggered(calendar.as_ref(), now);
        same(format!("chain_after[{step}]"), expected.as_i64(), next(&trigger))?;
    }
    Ok(Verdict::Equal)
}

fn built(record: &Value) -> Result<Trigger, Mismatch> {
    let trigger = trigger(record).map_err(|error| mismatch("the trigger is refused", "a trigger", error))?;
    same("valid", None, record["valid"].as_str())?;
    Ok(trigger)
}

fn next(trigger: &Trigger) -> Option<i64> {
    millis(trigger.next_fire_time())
}

fn same_state(what: &str, expected: &Value, trigger: &Trigger) -> Result<(), Mismatch> {
    same(format!("{what}.start"), ms(expected, "start"), millis(Some(trigger.start_time())))?;
    same(format!("{what}.end"), ms(expected, "end"), millis(trigger.end_time()))?;
    same(format!("{what}.next"), ms(expected, "next"), millis(trigger.next_fire_time()))?;
    same(format!("{what}.prev"), ms(expected, "prev"), millis(trigger.previous_fire_time()))?;
    let (count, times) = match trigger.schedule() {
        Schedule::Simple(simple) => (Some(simple.repeat_count()), Some(simple.times_triggered())),
        Schedule::CalendarInterval(interval) => (None, Some(interval.times_triggered())),
        Schedule::DailyTimeInterval(daily) => (Some(daily.repeat_count()), Some(daily.times_triggered())),
        _ => (None, None),
    };
    let expected_count = expected["repeat_count"].as_i64().map(|count| u64::try_from(count).ok());
    same(format!("{what}.repeat_count"), expected_count, count)?;
    same(format!("{what}.times_triggered"), expected["times_triggered"].as_u64(), times)
}
