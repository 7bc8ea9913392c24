//! `fail`: declares a running fire failed.

use crate::failure::Outcome;
use crate::output::Output;
use carnelian::store::JobStore;
use clap::Args;
use serde_json::json;

// The fire, and the reason; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Fail {
    /// The fire, as `running` shows it
    #[arg(value_name = "FIRE_ID")]
    pub fire_id: String,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", default_value = "declared failed by carnelian fail")]
    pub reason: String,
}

/// Ends the fire; its node learns with its next heartbeat that it holds it no longer.
pub fn run(store: &JobStore, output: Output, options: &Fail) -> Outcome {
    let failed = store.firing().fail_fire(&options.fire_id, &options.reason)?;
    let document = json!({
        "fire_id": options.fire_id,
        "failed": failed.is_some(),
        "job": failed.as_ref().map(|fire| fire.job.to_string()),
        "trigger": failed.as_ref().map(|fire| fire.trigger.to_string()),
        "instance": failed.as_ref().map(|fire| fire.instance.clone()),
        "retried_after_ms": failed.as_ref().and_then(|fire| fire.retried_after).map(|delay| delay.as_millis()),
        "paused": failed.as_ref().is_some_and(|fire| fire.paused),
    });
    let text = match &failed {
        None => format!("fire {} does not run", options.fire_id),
        Some(fire) => {
            let then = match (fire.retried_after, fire.paused) {
                (Some(delay), _) => format!("it is tried again after {delay:?}"),
                (None, true) => "its trigger is paused".to_owned(),
                (None, false) => "it is not tried again".to_owned(),
            };
            format!("fire {} of {} on {} has failed: {then}", fire.fire_id, fire.job, fire.instance)
        }
    };
    output.verdict(document, &text, failed.is_some())
}
