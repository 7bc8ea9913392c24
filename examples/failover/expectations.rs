//! The expectations: what must have happened, checked against the event log and the tables.

use super::timeline::Event;
use super::{CHECKIN_MS, GRID_FIRES, GRID_LATEST_MS, GRID_MS, TOLERANCE_MS};
use carnelian::TriggerSummary;
use std::collections::BTreeMap;

/// The time after the verdict within which the recovered job begins.
const START_MS: i64 = 1_000;

/// Everything that is known at the end.
pub struct Facts {
    pub events: Vec<Event>,
    pub first_grid_ms: i64,
    pub last_checkin_ms: i64,
    pub killed_ms: i64,
    pub triggers_left: Vec<TriggerSummary>,
    pub fires_left: usize,
}

/// Holds, perhaps with a detail worth telling, or why not.
type Verdict = Result<String, String>;

/// Prints each expectation with whether it held; true if all did.
pub fn check(facts: &Facts) -> bool {
    println!("\nWhat was expected, and whether it held:");
    let verdicts = [
        ("the interrupted `work.report` ran again, once, on a survivor", rerun(facts)),
        ("it was told what it recovers: the four data keys", data_keys(facts)),
        ("the interrupted `work.mail`, which did not ask for it, did not run again", not_rerun(facts)),
        ("recovery began within check-in interval + 7.5 s + 1 s of the last check-in", in_time(facts)),
        ("every fire of the grid was seen, once", grid(facts)),
        ("each began within 500 ms of its time throughout, also what the dead node had reserved", grid_in_time(facts)),
        ("nothing is stuck: no trigger, no fire", nothing_stuck(facts)),
    ];
    for (what, verdict) in &verdicts {
        match verdict {
            Ok(detail) if detail.is_empty() => println!("  ok    {what}"),
            Ok(detail) => println!("  ok    {what} ({detail})"),
            Err(problem) => println!("  FAIL  {what}: {problem}"),
        }
    }
    verdicts.iter().all(|(_, verdict)| verdict.is_ok())
}

fn starts<'a>(facts: &'a Facts, job: &'a str) -> Vec<&'a Event> {
    facts.events.iter().filter(|event| event.is("START") && event.job == job).collect()
}

/// The first run of the report, and the one that recovers it.
fn two_runs(facts: &Facts) -> Result<(&Event, &Event), String> {
    match starts(facts, "work.report").as_slice() {
        [first, again] if !first.recovering && again.recovering => Ok((first, again)),
        [_, _] => Err("of its two runs the second is not a recovery of the first".to_owned()),
        runs => Err(format!("it ran {} times", runs.len())),
    }
}

fn rerun(facts: &Facts) -> Verdict {
    let (first, again) = two_runs(facts)?;
    let ended = |fire: &str| facts.events.iter().find(|event| event.is("END") && event.fire_id == fire);
    if first.instance != "node-a" || again.instance == "node-a" {
        return Err(format!("it ran on {} and then on {}", first.instance, again.instance));
    }
    if again.origin_fire_id.as_ref() != Some(&first.fire_id) {
        return Err(format!("it is said to come from fire {:?}, not {}", again.origin_fire_id, first.fire_id));
    }
    match ended(&first.fire_id) {
        None => {}
        Some(end) => return Err(format!("its first run ended by itself, {} ms before", facts.killed_ms - end.wall_ms)),
    }
    match ended(&again.fire_id).and_then(|end| end.outcome.as_deref()) {
        Some("succeeded") => Ok(format!("on {}", again.instance)),
        outcome => Err(format!("its second run came to {outcome:?}")),
    }
}

fn data_keys(facts: &Facts) -> Verdict {
    let (first, again) = two_runs(facts)?;
    let value = |key: &str| again.data.get(&format!("QRTZ_FAILED_JOB_ORIG_TRIGGER_{key}")).map(String::as_str);
    let fired_ms = value("FIRETIME_IN_MILLISECONDS_AS_STRING").and_then(|ms| ms.parse::<i64>().ok());
    let expected_ms = first.scheduled_ms..=first.wall_ms;
    let scheduled = first.scheduled_ms.to_string();
    let wrong = [
        ("NAME", value("NAME") == Some("report")),
        ("GROUP", value("GROUP") == Some("work")),
        ("FIRETIME", fired_ms.is_some_and(|ms| expected_ms.contains(&ms))),
        ("SCHEDULED_FIRETIME", value("SCHEDULED_FIRETIME_IN_MILLISECONDS_AS_STRING") == Some(scheduled.as_str())),
    ];
    match wrong.iter().find(|(_, right)| !right) {
        None => Ok(String::new()),
        Some((key, _)) => Err(format!("{key} is wrong in {:?}", again.data)),
    }
}

fn not_rerun(facts: &Facts) -> Verdict {
    match starts(facts, "work.mail").len() {
        1 => Ok(String::new()),
        count => Err(format!("it ran {count} times")),
    }
}

fn in_time(facts: &Facts) -> Verdict {
    let (_, again) = two_runs(facts)?;
    let took_ms = again.wall_ms - facts.last_checkin_ms;
    if took_ms < TOLERANCE_MS {
        return Err(format!("after {took_ms} ms, before a node may be declared dead"));
    }
    if took_ms > CHECKIN_MS + TOLERANCE_MS + START_MS {
        return Err(format!("after {took_ms} ms"));
    }
    Ok(format!("after {took_ms} ms"))
}

fn grid(facts: &Facts) -> Verdict {
    let mut seen: BTreeMap<i64, usize> = BTreeMap::new();
    for event in starts(facts, "grid.tick") {
        *seen.entry(event.scheduled_ms).or_default() += 1;
    }
    let expected: BTreeMap<i64, usize> =
        (0..GRID_FIRES).map(|number| (facts.first_grid_ms + number * GRID_MS, 1)).collect();
    match expected.iter().find(|(time, once)| seen.get(time) != Some(once)) {
        Some((time, _)) => Err(format!("the one of {time} was seen {} times", seen.get(time).unwrap_or(&0))),
        None if seen.len() == expected.len() => Ok(format!("{} of them", expected.len())),
        None => Err(format!("{} fires were seen, {} were expected", seen.len(), expected.len())),
    }
}

fn grid_in_time(facts: &Facts) -> Verdict {
    let late = |event: &&Event| event.wall_ms - event.scheduled_ms;
    let starts = starts(facts, "grid.tick");
    let Some(latest) = starts.iter().max_by_key(|event| late(event)) else { return Err("there is none".to_owned()) };
    let seconds = (latest.scheduled_ms - facts.first_grid_ms) / GRID_MS;
    match late(latest) {
        ms if ms <= GRID_LATEST_MS => Ok(format!("the latest {ms} ms after its time")),
        ms => Err(format!("the one of second {seconds} on {} began {ms} ms after its time", latest.instance)),
    }
}

fn nothing_stuck(facts: &Facts) -> Verdict {
    if let Some(trigger) = facts.triggers_left.first() {
        return Err(format!("trigger {} is left in state {}", trigger.key, trigger.state));
    }
    if facts.fires_left > 0 {
        return Err(format!("{} fires are left", facts.fires_left));
    }
    Ok(String::new())
}
