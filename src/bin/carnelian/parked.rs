//! `parked`: work that is set aside until somebody has looked at it.

use crate::failure::Outcome;
use crate::output::{Output, fields, time};
use crate::page::{Paging, Part, ordered};
use crate::value::epoch_ms;
use carnelian::recovery::Parked;
use carnelian::report;
use carnelian::store::JobStore;
use carnelian::{JobKey, TriggerKey};
use clap::Subcommand;
use serde_json::json;

#[derive(Subcommand)]
pub enum ParkedCommand {
    /// All of it, the oldest first
    List {
        /// Only work of this job, `group.name`
        #[arg(long, value_name = "G.N")]
        job: Option<JobKey>,
        #[command(flatten)]
        paging: Paging,
    },
    /// One parked work, and why it is parked; exit code 1 if it is not
    Show {
        /// The trigger that waits, `group.name`, as `list` shows it
        key: TriggerKey,
    },
    /// Runs it again; the count of take-overs begins at zero; exit code 1 if it is not parked
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
        ParkedCommand::List { job, paging } => list(store, output, job.as_ref(), paging),
        ParkedCommand::Show { key } => show(store, output, key),
        ParkedCommand::Retry { key } => {
            done(output, key, store.catalogue().retry_parked(key)?, "retried", "runs again")
        }
        ParkedCommand::Delete { key } => {
            done(output, key, store.catalogue().delete_parked(key)?, "deleted", "is deleted")
        }
    }
}

fn list(store: &JobStore, output: Output, job: Option<&JobKey>, paging: &Paging) -> Outcome {
    let (since_ms, [group, name]) = paging.time_and_place()?;
    let place =
        |work: &Parked| [ordered(epoch_ms(work.since)), work.key.group().to_owned(), work.key.name().to_owned()];
    let part = Part::of(store.catalogue().parked_page(job, (since_ms, &group, &name), paging.most())?, place);
    let heading = ["KEY", "JOB", "TAKEOVERS", "SINCE", "WHY"];
    output.part("no work is parked", heading, &part, report::parked, |work| {
        let (takeovers, since) = (work.takeovers.to_string(), time(Some(epoch_ms(work.since))));
        [work.key.to_string(), work.job.to_string(), takeovers, since, work.reason.clone()]
    })
}

fn show(store: &JobStore, output: Output, key: &TriggerKey) -> Outcome {
    let Some(work) = store.catalogue().parked_work(key)? else {
        return done(output, key, false, "parked", "");
    };
    output.answer(report::parked(&work), || {
        fields(&[
            ("key", Some(work.key.to_string())),
            ("job", Some(work.job.to_string())),
            ("fire", work.fire_id.clone()),
            ("takeovers", Some(work.takeovers.to_string())),
            ("since", Some(time(Some(epoch_ms(work.since))))),
            ("why", Some(work.reason.clone())),
        ])
    })
}

fn done(output: Output, key: &TriggerKey, is_done: bool, word: &str, says: &str) -> Outcome {
    let text = if is_done { format!("{key} {says}") } else { format!("{key} is not parked") };
    output.verdict(json!({"key": key.to_string(), word: is_done}), &text, is_done)
}
