//! `stored_daily.jsonl`: what a daily trigger is after it was stored and read, and when it fires
//! from then on.

use crate::definitions::{list, millis, moment, ms, named_trigger};
use crate::report::{Outcome, Verdict, check_file, mismatch, same};
use crate::transitions::Script;
use carnelian::{JobDetail, JobKey, Schedule, TriggerKey};
use chrono::NaiveTime;
use serde_json::{Value, json};

#[test]
fn stored_daily() {
    check_file("stored_daily.jsonl", daily);
}

fn daily(record: &Value) -> Outcome {
    let mut script = Script::begin(record);
    let key = TriggerKey::new("T", "t");
    let job = JobDetail::builder(JobKey::new("J", "j"), "golden.jobs.PlainJob").build().expect("a job");
    let trigger =
        named_trigger(record, key.clone(), job.key().clone()).map_err(|e| mismatch("build", "a trigger", e))?;
    let stored = script.store.catalogue().schedule(vec![(job, vec![trigger])], false);
    if ms(record, "first").is_none() {
        same("refused", true, stored.is_err())?;
        return Ok(Verdict::Equal);
    }
    let first = stored.map_err(|error| mismatch("store", "a trigger", error))?[0].next_fire_time();
    same("first", ms(record, "first"), first.map(|time| time.timestamp_millis()))?;
    same("row", &record["row"], &script.sections()["triggers"][0])?;

    let read = script.store.catalogue().trigger(&key).map_err(|error| mismatch("read", "a trigger", error))?;
    let mut read = read.ok_or_else(|| mismatch("read", "a trigger", "none"))?;
    let Schedule::DailyTimeInterval(schedule) = read.schedule() else {
        return Err(mismatch("kind", "a daily trigger", read.schedule()));
    };
    let time = |time: Option<NaiveTime>| time.map(|time| time.format("%H:%M:%S").to_string());
    let ours = json!({
        "start_tod": time(Some(schedule.start_time_of_day())), "end_tod": time(schedule.end_time_of_day()),
        "start": read.start_time().timestamp_millis(), "end": millis(read.end_time()),
        "next": millis(read.next_fire_time()), "final": millis(read.final_fire_time()),
    });
    for (member, ours) in ours.as_object().expect("members") {
        same(member, &record["read"][member], ours)?;
    }
    for (step, expected) in list(record, "chain").iter().enumerate() {
        read.triggered(None, moment(ms(record, "now").expect("now")));
        same(format!("chain[{step}]"), expected.as_i64(), millis(read.next_fire_time()))?;
    }
    Ok(Verdict::Equal)
}
