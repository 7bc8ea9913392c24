//! `retry`: runs a fire of the history again; and the retry policy that options describe.

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::value::{self, With};
use carnelian::RetryPolicy;
use carnelian::store::JobStore;
use clap::Args;
use serde_json::json;
use std::time::Duration;

// The policy by which the work of a failed run is tried again.
#[derive(Args, Default)]
#[command(next_help_heading = "Runs that go wrong")]
pub struct RetryFlags {
    /// The number of tries in all, the first one included [default: 3]
    #[arg(long, value_name = "N")]
    pub retry_max: Option<u32>,
    /// After how long the work of a run that failed is tried again [default: it is not]
    #[arg(long, value_name = "DUR", value_parser = value::duration)]
    pub retry_delay: Option<Duration>,
    /// With --retry-delay: each delay is so many times the last
    #[arg(long, value_name = "F", requires = "retry_delay")]
    pub retry_backoff: Option<f64>,
    /// With --retry-backoff: the longest delay [default: 1h]
    #[arg(long, value_name = "DUR", requires = "retry_backoff", value_parser = value::duration)]
    pub retry_cap: Option<Duration>,
}

/// Runs the fire again at once.
pub fn run(store: &JobStore, output: Output, fire_id: &str) -> Outcome {
    let trigger = store.firing().retry_fire(fire_id)?;
    output.done(
        json!({"fire_id": fire_id, "trigger": trigger.to_string()}),
        &format!("fire {fire_id} is run again as soon as a node takes {trigger}"),
    )
}

/// The policy that the options describe; none if none of them is given.
pub fn policy(flags: &RetryFlags) -> Outcome<Option<RetryPolicy>> {
    let Some(delay) = flags.retry_delay else {
        return match flags.retry_max {
            Some(_) => {
                Err(Failure::Usage("--retry-max needs --retry-delay: after how long is it tried again?".to_owned()))
            }
            None => Ok(None),
        };
    };
    let policy = match flags.retry_backoff {
        Some(factor) => RetryPolicy::exponential(delay, factor),
        None => RetryPolicy::fixed(delay),
    };
    let cap = flags.retry_cap.map(|cap| cap.max(Duration::from_millis(1)));
    Ok(Some(policy.with(cap, RetryPolicy::cap).with(flags.retry_max, RetryPolicy::max_attempts)))
}
