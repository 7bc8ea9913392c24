//! `explain`: why a trigger is not running right now, or when it will.

use crate::failure::Outcome;
use crate::follow;
use crate::output::{Output, fields, time};
use crate::value::epoch_ms;
use carnelian::store::JobStore;
use carnelian::{Continuation, Parent, TriggerKey};
use serde_json::json;

/// Says what holds the trigger back, or when it fires.
pub fn run(store: &JobStore, output: Output, key: &TriggerKey) -> Outcome {
    let told = store.diagnosis().explain(key)?;
    let trigger = &told.trigger;
    let (next_ms, previous_ms) = (trigger.next_fire_time.map(epoch_ms), trigger.previous_fire_time.map(epoch_ms));
    let document = json!({
        "trigger": key.to_string(),
        "job": trigger.job.to_string(),
        "state": trigger.state,
        "running": told.is_running,
        "schedule": told.schedule,
        "scheduler_zone": told.default_zone.name(),
        "scheduler_zone_from": told.default_zone_source.name(),
        "next_fire_ms": next_ms,
        "prev_fire_ms": previous_ms,
        "follows": told.follows.as_ref().map(|parent| json!({
            "fire_id": parent.fire_id, "job": parent.job.to_string(), "outcome": parent.outcome.name(),
        })),
        "children": follow::as_json(told.children.iter(), Continuation::child),
        "reasons": told.reasons,
        "nodes": told.nodes.iter().map(|node| json!({
            "instance": node.instance,
            "may_run": node.refusal.is_none(),
            "is_guess": node.is_guess,
            "why_not": node.refusal.as_ref().map(ToString::to_string),
        })).collect::<Vec<_>>(),
    });
    output.answer(document, || {
        let mut text = fields(&[
            ("trigger", Some(key.to_string())),
            ("job", Some(trigger.job.to_string())),
            ("type", told.job_type.clone()),
            ("state", Some(trigger.state.clone())),
            ("schedule", told.schedule.clone()),
            ("default zone", Some(format!("{}, from {}", told.default_zone, told.default_zone_source.name()))),
            ("next fire", Some(time(next_ms))),
            ("previous fire", Some(time(previous_ms))),
        ]);
        if let Some(Parent { fire_id, job, outcome, .. }) = &told.follows {
            text.push_str(&fields(&[("follows", Some(format!("{job}, whose fire {fire_id} has {outcome}")))]));
        }
        for one in &told.children {
            text.push_str(&fields(&[("followed by", Some(format!("{} on {}", one.child(), one.follows_on())))]));
        }
        told.reasons.iter().for_each(|reason| text.push_str(&format!("- {reason}\n")));
        text
    })
}
