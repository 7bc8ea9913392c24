//! A trigger as surfaces show it: in a list, and alone.

use super::job::job_data;
use crate::store::TriggerSummary;
use crate::trigger::{MisfireInstruction, Trigger, TriggerOption, TriggerState};
use serde_json::{Value, json};

/// The JSON form of a trigger alone, with its schedule and data.
pub fn trigger(trigger: &Trigger, state: TriggerState) -> Value {
    let options: Vec<_> = trigger.schedule().options().into_iter().map(TriggerOption::name).collect();
    json!({
        "trigger": trigger.key().to_string(),
        "job": trigger.job_key().to_string(),
        "type": trigger.schedule().kind(),
        "schedule": trigger.schedule().in_words(),
        "options": options,
        "description": trigger.description(),
        "state": state.name(),
        "next_fire_ms": trigger.next_fire_time().map(|time| time.timestamp_millis()),
        "prev_fire_ms": trigger.previous_fire_time().map(|time| time.timestamp_millis()),
        "start_ms": trigger.start_time().timestamp_millis(),
        "end_ms": trigger.end_time().map(|time| time.timestamp_millis()),
        "priority": trigger.priority(),
        "misfire": trigger.misfire_instruction().name(),
        "overlap": trigger.overlap().name(),
        "catch_up_ms": trigger.catch_up_window().map(|window| window.as_millis()),
        "pause_on_failure": trigger.pauses_on_failure(),
        "calendar": trigger.calendar_name(),
        "data": job_data(trigger.data()),
    })
}

/// The JSON form of a trigger in a list.
pub fn trigger_summary(trigger: &TriggerSummary) -> Value {
    json!({
        "trigger": trigger.key.to_string(),
        "job": trigger.job.to_string(),
        "type": trigger.kind,
        "state": trigger.state,
        "next_fire_ms": trigger.next_fire_time.map(|time| time.timestamp_millis()),
        "prev_fire_ms": trigger.previous_fire_time.map(|time| time.timestamp_millis()),
        "priority": trigger.priority,
        "misfire": misfire_in_words(trigger),
    })
}

/// The name of a trigger's misfire instruction; the number where nobody knows the instruction.
pub fn misfire_in_words(trigger: &TriggerSummary) -> String {
    MisfireInstruction::from_code(&trigger.kind, trigger.misfire)
        .map_or_else(|| trigger.misfire.to_string(), |instruction| instruction.name().to_owned())
}
