//! `job delete`: deletes a job, or all jobs of a type.

use crate::confirm::Confirm;
use crate::failure::{Failure, Outcome};
use crate::job::missing;
use crate::output::{Output, yes_or_no};
use crate::shown::count;
use carnelian::JobKey;
use carnelian::listing::TriggerQuery;
use carnelian::store::JobStore;
use clap::Args;
use serde_json::json;

// The jobs that are deleted; as a doc comment it would be the help of the command.
#[derive(Args)]
#[group(required = true, args = ["job", "job_type"])]
pub struct Delete {
    /// The job, `group.name`; its runs in progress end as usual
    pub job: Option<JobKey>,
    /// All jobs of this type, but for those that run, which are named; exit code 1 if there are
    /// such
    #[arg(long = "type", value_name = "TYPE", conflicts_with = "job")]
    pub job_type: Option<String>,
    /// Only says what would be deleted
    #[arg(long)]
    pub dry_run: bool,
    #[command(flatten)]
    pub confirm: Confirm,
}

/// Deletes what the options name, with its triggers.
pub fn run(store: &JobStore, output: Output, options: &Delete) -> Outcome {
    match (&options.job, &options.job_type) {
        (Some(job), _) => one(store, output, job, options),
        (None, Some(job_type)) => of_type(store, output, job_type, options),
        (None, None) => Err(Failure::Usage("which job? Give its key, or --type".to_owned())),
    }
}

fn one(store: &JobStore, output: Output, job: &JobKey, options: &Delete) -> Outcome {
    if !store.catalogue().job_exists(job)? {
        return Err(missing(store, job));
    }
    let triggers = store.catalogue().count_triggers(&TriggerQuery::new().job(job.clone()))?;
    if !options.dry_run {
        if triggers > 0 {
            options.confirm.ask(|| format!("delete {job} with {}", count(triggers, "trigger")))?;
        }
        if store.catalogue().delete_jobs(std::slice::from_ref(job))? == 0 {
            return Err(missing(store, job));
        }
    }
    let what = if options.dry_run { "would delete" } else { "deleted" };
    output.done(
        json!({
            "job": job.to_string(), "deleted": !options.dry_run, "dry_run": options.dry_run, "triggers": triggers,
        }),
        &format!("{what} {job} with {}", count(triggers, "trigger")),
    )
}

fn of_type(store: &JobStore, output: Output, job_type: &str, options: &Delete) -> Outcome {
    let mut found = store.job_types().delete_jobs_of_type(job_type, true)?;
    if found.deleted.is_empty() && found.running.is_empty() {
        return Err(Failure::Refused(format!("no job has type `{job_type}`")));
    }
    if !options.dry_run {
        let (jobs, triggers) = (count(found.deleted.len(), "job"), count(found.triggers, "trigger"));
        options.confirm.ask(|| format!("delete {jobs} of type {job_type} with {triggers}"))?;
        found = store.job_types().delete_jobs_of_type(job_type, false)?;
    }
    let keys = |keys: &[JobKey]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    let what = if options.dry_run { "would delete" } else { "deleted" };
    let document = json!({
        "type": job_type, "dry_run": options.dry_run, "deleted": keys(&found.deleted), "running": keys(&found.running),
        "triggers": found.triggers,
    });
    output.answer(document, || {
        let mut text = String::new();
        found.deleted.iter().for_each(|job| text.push_str(&format!("{what} {job}\n")));
        found.running.iter().for_each(|job| text.push_str(&format!("left {job}: it is running, try again later\n")));
        let (jobs, triggers) = (count(found.deleted.len(), "job"), count(found.triggers, "trigger"));
        text + &format!("{what} {jobs} of type {job_type} with {triggers}\n")
    })?;
    yes_or_no(found.running.is_empty())
}
