//! `explain`: why a trigger is not running right now, or when it will.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields, time};
use crate::value::epoch_ms;
use carnelian::report;
use carnelian::store::JobStore;
use carnelian::{Parent, TriggerKey};

/// Says what holds the trigger back, or when it fires.
pub fn run(store: &JobStore, output: Output, key: &TriggerKey) -> Outcome {
    let told = store.diagnosis().explain(key).map_err(|error| Failure::of(store, error))?;
    let trigger = &told.trigger;
    let (next_ms, previous_ms) = (trigger.next_fire_time.map(epoch_ms), trigger.previous_fire_time.map(epoch_ms));
    output.answer(report::explanation(&told), || {
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
