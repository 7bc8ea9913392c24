//! `schedule`: stores a job and a trigger in one transaction.

use crate::args::{JobFlags, Policy, Schedule};
use crate::calendar;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, time};
use crate::placement::placement;
use crate::value::{self, Moment, With, data_map};
use crate::{command, retry, when};
use carnelian::report;
use carnelian::store::{JobStore, MayRun, Request, Taken};
use carnelian::{JobDetail, JobDetailBuilder, JobKey, JobPolicy, Overlap, Trigger, TriggerBuilder};
use clap::Args;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;

// Options and policies of a trigger beyond Quartz; as a doc comment it would be the help of the
// command.
#[derive(Args)]
#[command(next_help_heading = "Late and overlapping fires")]
pub struct TriggerPolicies {
    /// The policy for a fire that comes due while an earlier one of the trigger runs; all but
    /// allow-all not beside nodes of Quartz
    #[arg(long, value_name = "NAME", default_value = "allow-all", value_parser = value::named(Overlap::ALL, Overlap::name))]
    pub overlap: Overlap,
    /// Fires that have been due for longer are left out, whatever --misfire says; not beside nodes
    /// of Quartz [default: --misfire alone decides]
    #[arg(long, value_name = "DUR", value_parser = value::duration)]
    pub catch_up: Option<Duration>,
    /// The trigger is paused when a run of it fails; not beside nodes of Quartz
    #[arg(long)]
    pub pause_on_failure: bool,
}

/// Stores what the options describe, and says when it fires first.
pub fn run(store: &JobStore, output: Output, options: &Schedule) -> Outcome {
    store.job_types().learn(options.flags.force)?;
    let detail = job(options.job.clone(), &options.job_type, &options.flags, options.flags.durable)?;
    let policy = policy(detail.policy().clone(), &options.policy)?;
    let detail = detail.to_builder().policy(policy).build()?;
    let trigger = trigger(store, options)?;
    if let Some(id) = &options.request_id {
        return once(store, output, id, detail, trigger);
    }
    let stored = store_both(store, &detail, &trigger, options.replace)?;
    let next = stored.next_fire_time().map(|time| time.timestamp_millis());
    let warning = doubts(store, &detail)?;
    let line = format!("scheduled {} for {}: fires at {}", stored.key(), detail.key(), time(next));
    warning.iter().for_each(|warning| output.warn(warning));
    output.done(
        json!({
            "job": detail.key().to_string(), "trigger": stored.key().to_string(), "next_fire_ms": next,
            "warning": warning,
        }),
        &line,
    )
}

/// A warning about a job that nobody runs as things are, or that fails with its data.
pub fn doubts(store: &JobStore, job: &JobDetail) -> Outcome<Option<String>> {
    let mut doubts: Vec<String> = nobody_has(store, &BTreeSet::from([job.job_type()]))?.into_iter().collect();
    if job.policy().placed().is_some() {
        let nodes = store.placement().who_may_run(job, store.now_ms()?)?;
        let no = |node: &MayRun| node.refusal.as_ref().filter(|why| !why.is_for_now() && !node.is_guess).cloned();
        let refusals: Vec<_> =
            nodes.iter().filter_map(|node| Some(format!("{}: {}", node.instance, no(node)?))).collect();
        if !nodes.is_empty() && refusals.len() == nodes.len() {
            doubts.push(format!("no live node may run it, which waits for one that may: {}", refusals.join("; ")));
        }
    }
    if job.job_type() == command::TYPE
        && let Some(why) = command::mistake(job.data())
    {
        doubts.push(why);
    }
    Ok((!doubts.is_empty()).then(|| doubts.join("; ")))
}

/// A warning about the job types that no living node has.
pub fn nobody_has(store: &JobStore, types: &BTreeSet<&str>) -> Outcome<Option<String>> {
    let missing: Vec<String> = store.job_types().missing(types)?.into_iter().collect();
    Ok(match missing.as_slice() {
        [] => None,
        [one] => Some(format!("no live node has job type `{one}`: it waits for a node that has")),
        several => {
            Some(format!("no live node has job types `{}`: they wait for a node that has", several.join("`, `")))
        }
    })
}

/// Stores both unless a request of this id was taken before; says which job and trigger stand for
/// it.
fn once(store: &JobStore, output: Output, id: &str, job: JobDetail, trigger: Trigger) -> Outcome {
    let taken = match store.catalogue().taken(id)? {
        Some(taken) => taken,
        None => take(store, id, &job, &trigger)?,
    };
    let stored = store.catalogue().trigger(&taken.trigger)?;
    let next = stored.and_then(|trigger| trigger.next_fire_time()).map(|time| time.timestamp_millis());
    let warning = if taken.is_new { doubts(store, &job)? } else { None };
    let what = if taken.is_new { "scheduled" } else { "taken before:" };
    let line = format!("{what} {} for {}: fires at {}", taken.trigger, taken.job, time(next));
    warning.iter().for_each(|warning| output.warn(warning));
    output.done(
        json!({
            "job": taken.job.to_string(), "trigger": taken.trigger.to_string(), "next_fire_ms": next,
            "request_id": id, "is_new": taken.is_new, "warning": warning,
        }),
        &line,
    )
}

/// Stores both for a request, or only the trigger if its job is there and is the same.
fn take(store: &JobStore, id: &str, job: &JobDetail, trigger: &Trigger) -> Outcome<Taken> {
    let add = || -> Outcome<Option<Taken>> {
        let Some(stored) = store.catalogue().job(job.key())? else { return Ok(None) };
        refuse_a_difference(&stored, job)?;
        Ok(Some(store.catalogue().take_trigger(id, trigger)?))
    };
    if let Some(taken) = add()? {
        return Ok(taken);
    }
    let request =
        Request { request_id: Some(id.to_owned()), job: job.clone(), trigger: trigger.clone(), then: Vec::new() };
    match store.catalogue().take_requests(&[request]) {
        Ok(taken) => {
            taken.into_iter().next().ok_or_else(|| Failure::Refused("the request was not answered".to_owned()))
        }
        // The job may have appeared after we looked for it.
        Err(error) if error.is_already_exists() => add()?.ok_or_else(|| error.into()),
        Err(error) => Err(error.into()),
    }
}

/// The job that the options describe.
pub fn job(key: JobKey, job_type: &str, flags: &JobFlags, durable: bool) -> Outcome<JobDetail> {
    let builder = JobDetail::builder(key, job_type)
        .requests_recovery(flags.recover)
        .disallow_concurrent_execution(flags.non_concurrent)
        .persist_job_data_after_execution(flags.persist_data)
        .durable(durable)
        .marks(flags.marks.marks())
        .policy(JobPolicy::new().placement(placement(&flags.placement)).strategy(flags.placement.strategy.clone()))
        .data_map(data_map(&flags.data))
        .with(flags.description.as_ref(), JobDetailBuilder::description)
        .with(flags.data_version, JobDetailBuilder::version);
    Ok(if flags.force { builder.even_beside_quartz() } else { builder }.build()?)
}

fn policy(policy: JobPolicy, options: &Policy) -> Outcome<JobPolicy> {
    let stuck_after = |policy: JobPolicy, time| policy.stuck_after(time, options.on_stuck.unwrap_or_default());
    let policy = policy
        .with(options.timeout, JobPolicy::timeout)
        .with(options.stuck_after, stuck_after)
        .with(options.max_silence, JobPolicy::heartbeat_only_within)
        .with(options.missed_heartbeats, JobPolicy::missed_heartbeat_limit)
        .with(options.max_takeovers, JobPolicy::max_takeovers)
        .with(options.on_dead, JobPolicy::on_dead)
        .with(retry::policy(&options.retry)?, JobPolicy::retry);
    Ok(options.keep.add_to(policy))
}

fn trigger(store: &JobStore, options: &Schedule) -> Outcome<Trigger> {
    let now = || store.now_ms();
    let end = match options.end.map(|end| end.resolve(now)).transpose()? {
        Some(None) => return Err(Failure::Usage("--end now: a trigger must end later than now".to_owned())),
        end => end.flatten(),
    };
    // A store would take an unknown calendar, and the trigger would wait for somebody to store it.
    if let Some(name) = &options.calendar
        && !store.catalogue().calendar_names()?.contains(name)
    {
        return Err(calendar::missing(name));
    }
    let builder = Trigger::builder(options.trigger.clone(), options.job.clone())
        .schedule(when::schedule(options)?)
        .misfire(options.misfire)
        .overlap(options.policies.overlap)
        .pause_on_failure(options.policies.pause_on_failure)
        .priority(options.priority)
        .with(options.when.at.or(options.start).unwrap_or(Moment::Now).resolve(now)?, TriggerBuilder::start_at)
        .with(end, TriggerBuilder::end_at)
        .with(options.policies.catch_up, TriggerBuilder::catch_up_window)
        .with(options.calendar.as_ref(), TriggerBuilder::calendar);
    Ok(builder.build()?)
}

/// Stores both, or adds the trigger to a job that is there and is the same.
fn store_both(store: &JobStore, detail: &JobDetail, trigger: &Trigger, replace: bool) -> Outcome<Trigger> {
    if !replace && let Some(stored) = add_to_existing(store, detail, trigger)? {
        return Ok(stored);
    }
    match store.catalogue().schedule(vec![(detail.clone(), vec![trigger.clone()])], replace) {
        Ok(stored) => stored
            .into_iter()
            .next()
            .ok_or_else(|| Failure::Refused(format!("trigger `{}` was not stored", trigger.key()))),
        // The job may have appeared after we looked for it.
        Err(error) if error.is_already_exists() && !replace => {
            add_to_existing(store, detail, trigger)?.ok_or_else(|| error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Adds the trigger to its job if that is stored, and is the same.
fn add_to_existing(store: &JobStore, detail: &JobDetail, trigger: &Trigger) -> Outcome<Option<Trigger>> {
    let Some(stored) = store.catalogue().job(detail.key())? else { return Ok(None) };
    refuse_a_difference(&stored, detail)?;
    Ok(Some(store.catalogue().add_trigger(trigger.clone(), false)?))
}

/// An error that names what differs; the data of a job that keeps it belongs to its runs, and does
/// not count.
fn refuse_a_difference(stored: &JobDetail, wanted: &JobDetail) -> Outcome {
    let flag = |yes: bool| yes.to_string();
    let data = |job: &JobDetail| report::job_data(job.data()).to_string();
    let version = |job: &JobDetail, or: &JobDetail| job.version().or(or.version()).unwrap_or(1).to_string();
    let keeps_data = stored.persists_job_data_after_execution() && wanted.persists_job_data_after_execution();
    let compared = [
        ("type", stored.job_type().to_owned(), wanted.job_type().to_owned()),
        (
            "description",
            stored.description().unwrap_or_default().to_owned(),
            wanted.description().unwrap_or_default().to_owned(),
        ),
        ("recover", flag(stored.requests_recovery()), flag(wanted.requests_recovery())),
        (
            "non-concurrent",
            flag(stored.disallows_concurrent_execution()),
            flag(wanted.disallows_concurrent_execution()),
        ),
        (
            "persist-data",
            flag(stored.persists_job_data_after_execution()),
            flag(wanted.persists_job_data_after_execution()),
        ),
        ("durable", flag(stored.is_durable()), flag(wanted.is_durable())),
        ("policy", format!("{:?}", stored.policy()), format!("{:?}", wanted.policy())),
        ("marks", format!("{:?}", stored.marks()), format!("{:?}", wanted.marks())),
        // Without the option the job keeps its version.
        ("data-version", version(stored, stored), version(wanted, stored)),
        ("data", data(stored), if keeps_data { data(stored) } else { data(wanted) }),
    ];
    let differing: Vec<&str> =
        compared.iter().filter(|(_, stored, wanted)| stored != wanted).map(|(name, ..)| *name).collect();
    if differing.is_empty() {
        return Ok(());
    }
    Err(Failure::Refused(format!(
        "job `{}` exists already, and differs in: {}; give the same definition, or --replace",
        stored.key(),
        differing.join(", ")
    )))
}
