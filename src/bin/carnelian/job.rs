//! `job`: lists, shows, adds, pauses and resumes jobs, and changes their keys and types.

use crate::args::JobCommand;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields, time, yes_or_no};
use crate::page::{Paging, Part};
use crate::shown::count;
use crate::value::{With, epoch_ms, millis};
use crate::{follow, job_delete, job_run, marks, schedule, trigger};
use carnelian::history::{ActionQuery, ActionRow, LastRunRow};
use carnelian::listing::{JobQuery, TriggerQuery};
use carnelian::report::{self, continuations, job_data, job_flags};
use carnelian::store::{JobStore, JobTypeInfo};
use carnelian::{Continuation, Error, JobDetail, JobKey};
use clap::Args;
use serde_json::{Value, json};

/// The number of triggers with which a job is shown.
const TRIGGERS: usize = 500;

/// Runs one of the `job` commands.
pub fn run(store: &JobStore, output: Output, command: &JobCommand) -> Outcome {
    match command {
        JobCommand::List(options) => list(store, output, options),
        JobCommand::Show { job } => show(store, output, job),
        JobCommand::Add { job, job_type, flags, replace } => {
            // A job without a trigger is durable, or it is nothing.
            let detail = schedule::job(job.clone(), job_type, flags, true)?;
            store.job_types().learn(flags.force)?;
            store.catalogue().add_job(&detail, *replace)?;
            let warning = schedule::doubts(store, &detail)?;
            warning.iter().for_each(|warning| output.warn(warning));
            output.done(json!({"job": job.to_string(), "warning": warning}), &format!("added {job}"))
        }
        JobCommand::Delete(options) => job_delete::run(store, output, options),
        JobCommand::Run { job, data, wait } => job_run::run(store, output, job, data, *wait),
        JobCommand::Follow(args) => follow::follow(store, output, args),
        JobCommand::Unfollow { parent, child } => follow::unfollow(store, output, parent, child),
        JobCommand::Rename { old, new, dry_run } => rename(store, output, old, new, *dry_run),
        JobCommand::Migrate { types, dry_run } => migrate(store, output, types, *dry_run),
        JobCommand::Pause { job, stop } => {
            existing(store, job)?;
            let (triggers, asked) = match stop {
                false => (store.catalogue().pause_jobs(std::slice::from_ref(job))?, None),
                true => {
                    let (triggers, asked) = store.catalogue().pause_job_and_stop(job, store.actor())?;
                    (triggers, Some(asked))
                }
            };
            let document = json!({"job": job.to_string(), "triggers": triggers, "stopped": asked});
            let paused = count(triggers, "trigger");
            let text = match asked {
                None => format!("paused {paused} of {job}"),
                Some(runs) => format!(
                    "paused {paused} of {job}, and asked {} to stop: the nodes learn it at once, or with their next poll",
                    count(runs, "run")
                ),
            };
            output.done(document, &text)
        }
        JobCommand::Resume { job } => {
            existing(store, job)?;
            let triggers = store.catalogue().resume_jobs(std::slice::from_ref(job), true)?;
            let text = format!("resumed {} of {job}", count(triggers, "trigger"));
            output.done(json!({"job": job.to_string(), "triggers": triggers}), &text)
        }
    }
}

fn rename(store: &JobStore, output: Output, old: &JobKey, new: &JobKey, dry_run: bool) -> Outcome {
    let renamed = store.catalogue().rename_job(old, new, dry_run).map_err(|error| match error {
        Error::AlreadyExists { .. } => {
            Failure::Refused(format!("job `{new}` exists already: choose another name for `{old}`"))
        }
        other => Failure::of(store, other),
    })?;
    let done = if dry_run { "would rename" } else { "renamed" };
    output.done(
        json!({"old": old.to_string(), "new": new.to_string(), "triggers": renamed.triggers, "dry_run": dry_run}),
        &format!("{done} {old} to {new}, with {}", count(renamed.triggers, "trigger")),
    )
}

/// Exit code 1 if some jobs had to be left as they are.
fn migrate(store: &JobStore, output: Output, types: &[String], dry_run: bool) -> Outcome {
    let [old, new] = types else { return Err(Failure::Usage("--type takes two names: OLD NEW".to_owned())) };
    // A deprecated type is no place to go to, and one that nobody has makes orphans.
    store.job_types().learn(false)?;
    let nodes = store.job_types().published()?;
    let may_have = |types: &Option<Vec<JobTypeInfo>>| types.as_ref().is_none_or(|t| t.iter().any(|t| t.name == *new));
    let migrated = store.job_types().migrate(old, new, None, dry_run)?;
    if migrated.changed.is_empty() && migrated.running.is_empty() && migrated.failed.is_empty() {
        return Err(Failure::Refused(format!("no job has type `{old}`")));
    }
    if !nodes.is_empty() && !nodes.iter().any(|(_, types)| may_have(types)) {
        output.warn(&format!("no live node has job type `{new}`: its jobs wait until one comes"));
    }
    let keys = |keys: &[JobKey]| keys.iter().map(ToString::to_string).collect::<Vec<_>>();
    let failed: Vec<Value> =
        migrated.failed.iter().map(|(job, why)| json!({"job": job.to_string(), "reason": why})).collect();
    let document = json!({
        "old": old, "new": new, "dry_run": dry_run,
        "changed": keys(&migrated.changed), "running": keys(&migrated.running), "failed": failed,
    });
    output.answer(document, || {
        let done = if dry_run { "would change" } else { "changed" };
        let mut text = String::new();
        migrated.changed.iter().for_each(|job| text.push_str(&format!("{done} {job}\n")));
        migrated.running.iter().for_each(|job| text.push_str(&format!("left {job}: it is running, try again later\n")));
        migrated.failed.iter().for_each(|(job, why)| text.push_str(&format!("left {job}: {why}\n")));
        text.push_str(&format!("{done} {} from type {old} to {new}\n", count(migrated.changed.len(), "job")));
        text
    })?;
    yes_or_no(migrated.running.is_empty() && migrated.failed.is_empty())
}

/// The error for a job that is not there.
pub fn missing(store: &JobStore, job: &JobKey) -> Failure {
    Failure::missing(store, "job", job)
}

fn existing(store: &JobStore, job: &JobKey) -> Outcome<JobDetail> {
    store.catalogue().job(job)?.ok_or_else(|| missing(store, job))
}

// The jobs that are shown; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct List {
    /// Only jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub job_type: Option<String>,
    #[command(flatten)]
    pub filter: marks::Filter,
    #[command(flatten)]
    pub paging: Paging,
}

fn list(store: &JobStore, output: Output, options: &List) -> Outcome {
    let all = JobQuery::new().filter(options.filter.filter()).with(options.job_type.as_ref(), JobQuery::job_type);
    let after = options.paging.place()?.map(|[group, name]| JobKey::new(group, name));
    let query = all.clone().with(options.paging.most(), JobQuery::limit).with(after, JobQuery::after);
    let page = store.catalogue().list_jobs(&query)?;
    let total = match page.has_more && !output.is_json() {
        true => Some(store.catalogue().count_jobs(&all)?),
        false => None,
    };
    let place = |job: &JobDetail| [job.key().group().to_owned(), job.key().name().to_owned()];
    let part = Part { total, ..Part::of(page, place) };
    let followed = if output.is_json() { follow::all(store)? } else { Vec::new() };
    let entry = |job: &JobDetail| {
        let mut entry = report::job(job);
        let its = followed.iter().filter(|one| one.parent() == job.key());
        entry.insert("children".to_owned(), continuations(its, Continuation::child));
        Value::Object(entry)
    };
    let heading = ["JOB", "TYPE", "FLAGS", "OWNER", "TAGS", "DESCRIPTION"];
    output.part("no such job is stored", heading, &part, entry, |job| {
        [
            job.key().to_string(),
            job.job_type().to_owned(),
            job_flags(job),
            job.marks().get_owner().unwrap_or_default().to_owned(),
            marks::tags(job),
            job.description().unwrap_or_default().to_owned(),
        ]
    })
}

fn show(store: &JobStore, output: Output, key: &JobKey) -> Outcome {
    let job = existing(store, key)?;
    let its = store.catalogue().list_triggers(&TriggerQuery::new().job(key.clone()).limit(TRIGGERS))?;
    let last = its.items.last().filter(|_| its.has_more);
    let next = last.map(|last| trigger::place("key", String::new(), &last.key));
    let mut triggers = its.items;
    triggers.sort_by(|a, b| (a.key.group(), a.key.name()).cmp(&(b.key.group(), b.key.name())));
    let last_runs = store.history().last_runs(key)?;
    let changes = store.history().actions(&ActionQuery::new().subject(key.to_string()).kind("job").limit(1))?;
    let (children, parents) = (follow::children(store, key)?, follow::parents(store, key)?);
    let mut document = report::job(&job);
    document.insert("data".to_owned(), job_data(job.data()));
    document.insert("data_version".to_owned(), job.version().unwrap_or(1).into());
    let keys = triggers.iter().map(|trigger| trigger.key.to_string().into()).collect();
    document.insert("triggers".to_owned(), Value::Array(keys));
    document.insert("triggers_next".to_owned(), json!(next));
    document.insert("children".to_owned(), continuations(children.iter(), Continuation::child));
    document.insert("parents".to_owned(), continuations(parents.iter(), Continuation::parent));
    document.insert("last_runs".to_owned(), last_runs.iter().map(last_run).collect());
    document.insert("last_action".to_owned(), changes.first().map_or(Value::Null, report::action));
    output.answer(Value::Object(document), || {
        let mut shown = vec![
            ("job", Some(key.to_string())),
            ("type", Some(job.job_type().to_owned())),
            ("description", job.description().map(str::to_owned)),
            ("flags", Some(job_flags(&job)).filter(|flags| !flags.is_empty())),
        ];
        shown.extend(marks::lines(&job));
        if !job.policy().is_default() {
            shown.push(("policy", Some(json!(job.policy()).to_string())));
        }
        for (name, value) in job.data().iter() {
            shown.push(("data", Some(format!("{name} = {value}"))));
        }
        for trigger in &triggers {
            let next = time(trigger.next_fire_time.map(|time| time.timestamp_millis()));
            shown.push(("trigger", Some(format!("{}, next {next}", trigger.key))));
        }
        if let Some(next) = &next {
            let rest = format!("{TRIGGERS} are shown; `trigger list --job {key} --after {next}` shows what follows");
            shown.push(("triggers", Some(rest)));
        }
        for one in &children {
            shown.push(("followed by", Some(format!("{} on {}", one.child(), one.follows_on()))));
        }
        for one in &parents {
            shown.push(("follows", Some(format!("{} on {}", one.parent(), one.follows_on()))));
        }
        for run in &last_runs {
            let ended = time(Some(epoch_ms(run.end_time())));
            shown.push(("last run", Some(format!("on {}: {} at {ended}", run.instance, run.outcome))));
        }
        if let Some(ActionRow { action, actor, .. }) = changes.first() {
            let at = changes.first().map(|change| epoch_ms(change.time()));
            shown.push(("last action", Some(format!("{action} by {actor} at {}", time(at)))));
        }
        fields(&shown)
    })
}

fn last_run(run: &LastRunRow) -> Value {
    json!({
        "instance": run.instance,
        "fire_id": run.fire_id,
        "outcome": run.outcome.name(),
        "ended_ms": epoch_ms(run.end_time()),
        "run_ms": run.run_time().map(millis),
        "error": run.error,
    })
}
