//! `orphans`: jobs that no live node can run.

use crate::confirm::Confirm;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, span, time};
use crate::page::{Paging, Part, token};
use crate::shown::count;
use crate::value::{self, epoch_ms, millis};
use carnelian::JobKey;
use carnelian::definitions::Orphan;
use carnelian::store::{JobStore, OrphanQuery};
use clap::Args;
use serde_json::json;
use std::time::Duration;

// The orphans that are meant; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Orphans {
    /// Only those that have been orphans for so long: `500ms 30s 5m 2h 1d` [default: 0s, and 1h
    /// with --delete]
    #[arg(long, value_name = "DUR", value_parser = value::duration)]
    pub older_than: Option<Duration>,
    /// Only jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub job_type: Option<String>,
    /// Deletes them, with their triggers; those that run stay. A node that is just being started
    /// again leaves orphans for a while: those of the last hour stay too, unless --older-than says
    /// otherwise
    #[arg(long, conflicts_with_all = ["limit", "after"])]
    pub delete: bool,
    /// With --delete: only says what would be deleted
    #[arg(long, requires = "delete")]
    pub dry_run: bool,
    #[command(flatten)]
    pub confirm: Confirm,
    #[command(flatten)]
    pub paging: Paging,
}

/// The time for which a job that is deleted has been an orphan, unless the options say otherwise.
const LEAST_AGE_TO_DELETE: Duration = Duration::from_secs(3_600);

/// Lists them and notes since when they are orphans, or deletes them.
pub fn run(store: &JobStore, output: Output, options: &Orphans) -> Outcome {
    let least_age = if options.delete { LEAST_AGE_TO_DELETE } else { Duration::ZERO };
    let (older_than, after) = (options.older_than.unwrap_or(least_age), options.paging.place()?);
    let query = OrphanQuery {
        job_type: options.job_type.clone(),
        older_than,
        after: after.map(|[group, name]| JobKey::new(group, name)),
        limit: options.paging.most().filter(|_| !options.delete),
    };
    let (found, has_more) = store.job_types().orphan_page(&query)?;
    if let Some(why) = found.blind_because() {
        return Err(Failure::Refused(format!("it cannot be told which jobs no node can run: {why}")));
    }
    let (now, job_type) = (found.now, options.job_type.as_deref());
    let deletes = options.delete && !options.dry_run;
    let part = match deletes {
        true => {
            if !found.jobs.is_empty() {
                options.confirm.ask(|| format!("delete {} with their triggers", count(found.jobs.len(), "job")))?;
            }
            let items = store.job_types().delete_orphans_of(job_type, older_than)?;
            Part { items, next: None, total: None }
        }
        false => {
            let place = |orphan: &Orphan| [orphan.job.group().to_owned(), orphan.job.name().to_owned()];
            let next = found.jobs.last().filter(|_| has_more).map(|last| token(&place(last)));
            Part { items: found.jobs, next, total: None }
        }
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
            "deleted": deletes,
        })
    };
    let age = if older_than.is_zero() { String::new() } else { format!(" for {}", span(millis(older_than))) };
    let none = format!("no job is without a node that can run it{age}");
    output.part(&none, ["JOB", "TYPE", "TRIGGERS", "NEXT", "FOR", "WHY"], &part, document, |orphan| {
        [
            orphan.job.to_string(),
            orphan.job_type.clone(),
            orphan.triggers.to_string(),
            time(orphan.next_fire_time.map(epoch_ms)),
            span(millis(orphan.age(now))),
            match (options.delete, options.dry_run) {
                (true, false) => "deleted".to_owned(),
                (true, true) => "would be deleted".to_owned(),
                (false, _) => orphan.reason(),
            },
        ]
    })
}
