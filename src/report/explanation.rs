//! An explanation of a trigger as surfaces show it.

use super::job::continuations;
use crate::job::Continuation;
use crate::store::Explanation;
use serde_json::{Value, json};

/// The JSON form of an explanation.
pub fn explanation(told: &Explanation) -> Value {
    let trigger = &told.trigger;
    json!({
        "trigger": trigger.key.to_string(),
        "job": trigger.job.to_string(),
        "state": trigger.state,
        "running": told.is_running,
        "schedule": told.schedule,
        "scheduler_zone": told.default_zone.name(),
        "scheduler_zone_from": told.default_zone_source.name(),
        "next_fire_ms": trigger.next_fire_time.map(|time| time.timestamp_millis()),
        "prev_fire_ms": trigger.previous_fire_time.map(|time| time.timestamp_millis()),
        "follows": told.follows.as_ref().map(|parent| json!({
            "fire_id": parent.fire_id, "job": parent.job.to_string(), "outcome": parent.outcome.name(),
        })),
        "children": continuations(told.children.iter(), Continuation::child),
        "reasons": told.reasons,
        "checks": told.checks.iter().map(|check| json!({"fine": check.is_fine, "text": check.text})).collect::<Vec<_>>(),
        "nodes": told.nodes.iter().map(|node| json!({
            "instance": node.instance,
            "may_run": node.refusal.is_none(),
            "is_guess": node.is_guess,
            "why_not": node.refusal.as_ref().map(ToString::to_string),
        })).collect::<Vec<_>>(),
    })
}
