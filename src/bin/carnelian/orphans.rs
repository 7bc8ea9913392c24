//! `orphans`: jobs that no live node can run.

use crate::args;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, span, time};
use crate::value::{epoch_ms, millis};
use carnelian::definitions::Orphan;
use carnelian::store::JobStore;
use serde_json::json;
use std::time::Duration;

/// Lists them and notes since when they are orphans, or deletes them.
pub fn run(store: &JobStore, output: Output, options: &args::Orphans) -> Outcome {
    let found = store.job_types().note_orphans()?;
    if let Some(why) = found.blind_because() {
        return Err(Failure::Refused(format!("it cannot be told which jobs no node can run: {why}")));
    }
    let older_than = options.older_than.unwrap_or(Duration::ZERO);
    let jobs = match options.delete {
        true => store.job_types().delete_orphans(older_than)?,
        false => found.jobs.into_iter().filter(|orphan| orphan.age(found.now) >= older_than).collect(),
    };
    let document = |orphan: &Orphan| {
        json!({
            "job": orphan.job.to_string(),
            "type": orphan.job_type,
            "data_version": orphan.version,
            "triggers": orphan.triggers,
            "next_fire_ms": orphan.next_fire_time.map(epoch_ms),
            "since_ms": orphan.since.map(epoch_ms),
            "reason": orphan.reason(),
            "deleted": options.delete,
        })
    };
    let age = options.older_than.map_or(String::new(), |_| format!(" for {}", span(millis(older_than))));
    let none = format!("no job is without a node that can run it{age}");
    output.list(Some(&none), ["JOB", "TYPE", "TRIGGERS", "NEXT", "FOR", "WHY"], &jobs, document, |orphan| {
        [
            orphan.job.to_string(),
            orphan.job_type.clone(),
            orphan.triggers.to_string(),
            time(orphan.next_fire_time.map(epoch_ms)),
            span(millis(orphan.age(found.now))),
            if options.delete { "deleted".to_owned() } else { orphan.reason() },
        ]
    })
}
