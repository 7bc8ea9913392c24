//! A fire that is reserved or running, as surfaces show it.

use crate::store::FiredTrigger;
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
