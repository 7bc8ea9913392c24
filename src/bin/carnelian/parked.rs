//! `parked`: work that is set aside until somebody has looked at it.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields, table, time};
use carnelian::TriggerKey;
use carnelian::recovery::Parked;
use carnelian::store::JobStore;
use clap::Subcommand;
use serde_json::{Value, json};

#[derive(Subcommand)]
pub enum ParkedCommand {
    /// All of it, the oldest first
    List,
    /// One parked work, and why it is parked; exit code 1 if it is not
    Show {
        /// The trigger that waits, `group.name`, as `list` shows it
        key: TriggerKey,
    },
    /// Lets it run again, with all its take-overs before it; exit code 1 if it is not parked
    Retry {
        /// The trigger that waits, `group.name`, as `list` shows it
        key: TriggerKey,
    },
    /// Deletes it with its trigger; exit code 1 if it is not parked
    Delete {
        /// The trigger that waits, `group.name`, as `list` shows it
        key: TriggerKey,
    },
}

/// Lists, shows, runs or deletes parked work.
pub fn run(store: &JobStore, output: Output, command: &ParkedCommand) -> Outcome {
    match command {
        ParkedCommand::List => list(&store.parked()?, output),
        ParkedCommand::Show { key } => show(store, output, key),
        ParkedCommand::Retry { key } => done(output, key, store.retry_parked(key)?, "retried", "runs again"),
        ParkedCommand::Delete { key } => done(output, key, store.delete_parked(key)?, "deleted", "is deleted"),
    }
}

fn list(parked: &[Parked], output: Output) -> Outcome {
    output.answer(Value::Array(parked.iter().map(document).collect()), || {
        if parked.is_empty() {
            return "no work is parked\n".to_owned();
        }
        let row = |work: &Parked| {
            vec![
                work.key.to_string(),
                work.job.to_string(),
                work.takeovers.to_string(),
                time(Some(work.since_ms)),
                work.reason.clone(),
            ]
        };
        table(&["KEY", "JOB", "TAKEOVERS", "SINCE", "WHY"], &parked.iter().map(row).collect::<Vec<_>>())
    })
}

fn show(store: &JobStore, output: Output, key: &TriggerKey) -> Outcome {
    let Some(work) = store.parked()?.into_iter().find(|work| work.key == *key) else {
        return done(output, key, false, "parked", "");
    };
    output.answer(document(&work), || {
        fields(&[
            ("key", Some(work.key.to_string())),
            ("job", Some(work.job.to_string())),
            ("fire", work.fire_id.clone()),
            ("takeovers", Some(work.takeovers.to_string())),
            ("since", Some(time(Some(work.since_ms)))),
            ("why", Some(work.reason.clone())),
        ])
    })
}

fn done(output: Output, key: &TriggerKey, is_done: bool, word: &str, says: &str) -> Outcome {
    let text = if is_done { format!("{key} {says}") } else { format!("{key} is not parked") };
    output.done(json!({"key": key.to_string(), word: is_done}), &text)?;
    if is_done { Ok(()) } else { Err(Failure::No) }
}

fn document(work: &Parked) -> Value {
    json!({
        "key": work.key.to_string(),
        "job": work.job.to_string(),
        "fire_id": work.fire_id,
        "reason": work.reason,
        "takeovers": work.takeovers,
        "since_ms": work.since_ms,
    })
}
