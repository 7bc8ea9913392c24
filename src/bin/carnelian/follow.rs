//! `job follow`, `job unfollow`: which jobs follow the runs of others; and how that is shown.

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use crate::value;
use carnelian::store::JobStore;
use carnelian::{Continuation, Error, JobKey, On};
use clap::Args;
use serde_json::json;

#[derive(Args)]
pub struct Follow {
    /// The job whose runs are followed
    pub parent: JobKey,
    /// The job that runs after them; it must be durable
    pub child: JobKey,
    /// After which ends; `any` also after a run that was cancelled
    #[arg(long, value_name = "OUTCOME", default_value = "success", value_parser = value::named(On::ALL, On::name))]
    pub on: On,
    /// Once for a whole tick of a parent that is spread over nodes, not for each part
    #[arg(long)]
    pub per_tick: bool,
    /// One entry of data for the child's runs after this parent; may be repeated
    #[arg(long, value_name = "K=V", value_parser = value::entry)]
    pub data: Vec<(String, String)>,
    /// Also if the jobs then follow each other in a circle, and may run for ever
    #[arg(long)]
    pub allow_cycle: bool,
}

/// Lets the child follow the parent.
pub fn follow(store: &JobStore, output: Output, args: &Follow) -> Outcome {
    let Follow { parent, child, on, per_tick, data, allow_cycle } = args;
    let continuation = Continuation::new(parent.clone(), child.clone()).on(*on).data_map(value::data_map(data));
    let continuation = continuation.once_per_tick(*per_tick).allow_cycle(*allow_cycle);
    store.catalogue().follow(&continuation).map_err(|error| Failure::of(store, error))?;
    output.done(
        json!({"parent": parent.to_string(), "child": child.to_string(), "on": on.name(), "per_tick": per_tick}),
        &format!("{child} follows {parent} on {on}"),
    )
}

/// Lets the child follow the parent no longer.
pub fn unfollow(store: &JobStore, output: Output, parent: &JobKey, child: &JobKey) -> Outcome {
    if !store.catalogue().unfollow(parent, child)? {
        return Err(Failure::Refused(format!("job `{child}` does not follow `{parent}`")));
    }
    output.done(
        json!({"parent": parent.to_string(), "child": child.to_string(), "deleted": true}),
        &format!("{child} follows {parent} no longer"),
    )
}

/// The children of a job; none if they cannot be read, which is said where they are asked for
/// alone.
pub fn children(store: &JobStore, parent: &JobKey) -> Outcome<Vec<Continuation>> {
    readable(store.catalogue().children_of(parent))
}

/// The parents of a job, likewise.
pub fn parents(store: &JobStore, child: &JobKey) -> Outcome<Vec<Continuation>> {
    readable(store.catalogue().parents_of(child))
}

/// All continuations, likewise.
pub fn all(store: &JobStore) -> Outcome<Vec<Continuation>> {
    readable(store.catalogue().continuations())
}

fn readable(found: carnelian::Result<Vec<Continuation>>) -> Outcome<Vec<Continuation>> {
    match found {
        Err(error @ Error::Unreadable { .. }) => {
            crate::output::complain(&format!("warning: {error}"));
            Ok(Vec::new())
        }
        other => Ok(other?),
    }
}
