//! A run as surfaces show it, as JSON: the fire that is reserved or runs, its row of the
//! history, and all that is known of it.

use crate::history::{HistoryRow, LogLine, RunRecord};
use crate::key::TriggerKey;
use crate::store::FiredTrigger;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

/// The JSON form of a fire.
pub fn fire(fire: &FiredTrigger) -> Value {
    let beat = fire.heartbeat.as_ref();
    json!({
        "fire_id": fire.fire_id,
        "job": fire.job.as_ref().map(ToString::to_string),
        "trigger": fire.trigger.to_string(),
        "instance": fire.instance,
        "state": fire.state.name(),
        "scheduled_ms": fire.scheduled_fire_time.timestamp_millis(),
        "fired_ms": fire.fire_time.timestamp_millis(),
        "last_beat_ms": beat.map(|beat| beat.time.timestamp_millis()),
        "last_progress_ms": beat.and_then(|beat| beat.progress_time).map(|time| time.timestamp_millis()),
        "progress": beat.and_then(|beat| beat.progress.as_ref()).map(|progress| {
            json!({"done": progress.done, "total": progress.total, "note": progress.note})
        }),
    })
}

/// The progress of a run, `3 of 10: copying`; none if its job does not say.
pub fn progress_in_words(fire: &FiredTrigger) -> Option<String> {
    let progress = fire.heartbeat.as_ref()?.progress.as_ref()?;
    let total = progress.total.map_or(String::new(), |total| format!(" of {total}"));
    let note = progress.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
    Some(format!("{}{total}{note}", progress.done))
}

/// The JSON form of all that is known of a run.
pub fn run_record(record: &RunRecord) -> Value {
    let mut json = run(&record.run);
    let next = |(trigger, next): &(TriggerKey, Option<DateTime<Utc>>)| json!({"trigger": trigger.to_string(), "next_fire_ms": next.map(|time| time.timestamp_millis())});
    if let Some(object) = json.as_object_mut() {
        object.insert("description".to_owned(), json!(record.description));
        object.insert("chain".to_owned(), record.chain.iter().map(run).collect());
        object.insert("waiting".to_owned(), record.waiting.iter().map(next).collect());
        object.insert("log".to_owned(), record.log.iter().map(log_line).collect());
    }
    json
}

/// The time of the end; none if the fire runs.
pub fn ended_ms(row: &HistoryRow) -> Option<i64> {
    (!row.is_running()).then_some(row.ended_ms)
}

/// The JSON form of a row of the history.
pub fn run(row: &HistoryRow) -> Value {
    json!({
        "fire_id": row.fire_id,
        "job": row.job.as_ref().map(ToString::to_string),
        "type": row.job_type,
        "trigger": row.trigger.to_string(),
        "instance": row.instance,
        "address": row.address,
        "biz_key": row.marks.biz_key,
        "owner": row.marks.owner,
        "name": row.marks.name,
        "description": row.marks.description,
        "trace_id": row.marks.trace_id,
        "scheduled_ms": row.scheduled_ms,
        "fired_ms": row.fired_ms,
        "started_ms": row.start_time().map(|time| time.timestamp_millis()),
        "ended_ms": ended_ms(row),
        "run_ms": row.run_ms,
        "outcome": row.outcome.name(),
        "attempt": row.attempt,
        "origin_fire_id": row.root_fire_id,
        "error": row.error,
        "result": row.result,
    })
}

/// The JSON form of a line that a run has logged.
pub fn log_line(line: &LogLine) -> Value {
    let level = line.level.as_str().to_ascii_lowercase();
    json!({"ms": line.at.timestamp_millis(), "level": level, "target": line.target, "message": line.message})
}
