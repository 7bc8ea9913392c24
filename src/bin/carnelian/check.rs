//! `check`: the cluster's answer for a monitor, from the database alone.

use crate::failure::Outcome;
use crate::output::{Output, fields, span, yes_or_no};
use crate::value;
use carnelian::FiredTrigger;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::store::JobStore;
use carnelian::store::row::FiredState;
use chrono::{DateTime, Utc};
use clap::Args;
use clap::builder::RangedU64ValueParser;
use serde_json::{Value, json};
use std::time::Duration;

/// Overdue triggers beyond so many are not counted, unless the bound is higher.
const ENOUGH: usize = 10_000;

// The bounds of `check`; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Check {
    /// At most so many triggers may be overdue
    #[arg(long, value_name = "N")]
    pub max_overdue: Option<usize>,
    /// At least so many nodes must be alive and take work: observers and nodes that are drained or
    /// stand by do not count
    #[arg(long, value_name = "M")]
    pub min_nodes: Option<usize>,
    /// The newest check-in of all nodes that take work may be so old at most
    #[arg(long, value_name = "DUR", value_parser = value::duration)]
    pub max_age: Option<Duration>,
    /// At most so many running fires may have missed all their heartbeats, or be without progress
    /// for longer than they may
    #[arg(long, value_name = "N")]
    pub max_stuck: Option<usize>,
    /// At most so many jobs may be without a living node that can run them; reads all jobs
    #[arg(long, value_name = "N")]
    pub max_orphans: Option<usize>,
    /// At most so many fires may have failed, timed out or been lost lately, up to 9999
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(0..10_000))]
    pub max_failed: Option<usize>,
    /// The time before now that `--max-failed` counts
    #[arg(long, value_name = "DUR", default_value = "1h", value_parser = value::duration)]
    pub failed_within: Duration,
    /// The lateness from which a waiting trigger counts as overdue
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = value::duration)]
    pub overdue_after: Duration,
}

/// Looks at what the bounds are for, and says no if one of them is broken.
pub fn run(store: &JobStore, output: Output, bounds: &Check) -> Outcome {
    let most = bounds.max_overdue.map_or(ENOUGH, |most| most.saturating_add(1).max(ENOUGH));
    let load = store.upkeep().cluster_load(bounds.overdue_after, most)?;
    let now = DateTime::from_timestamp_millis(load.now_ms).unwrap_or_default();
    let oldest_ms = load.oldest_overdue_ms.map(|at_ms| load.now_ms.saturating_sub(at_ms));
    let alive = load.instances.iter().filter(|node| node.alive).count();
    let working = load.instances.iter().filter(|node| node.is_working()).count();
    let newest = load.instances.iter().filter(|node| node.takes_work).map(|node| node.last_checkin).max();
    let age_ms = newest.map(|at| (load.now_ms - value::epoch_ms(at)).max(0));
    let mut problems = Vec::new();
    let mut above = |most: Option<usize>, n: usize, what: &str| {
        if let Some(most) = most.filter(|most| n > *most) {
            problems.push(format!("{n} {what}, at most {most} are allowed"));
        }
    };
    above(bounds.max_overdue, load.overdue, "triggers are overdue");
    let stuck = match bounds.max_stuck {
        Some(_) => Some(store.upkeep().fired_triggers()?.iter().filter(|fire| is_silent(fire, now)).count()),
        None => None,
    };
    above(bounds.max_stuck, stuck.unwrap_or(0), "running fires have missed all their heartbeats, or make no progress");
    let failed = bounds.max_failed.map(|most| failed(store, bounds, most, load.now_ms)).transpose()?;
    above(bounds.max_failed, failed.unwrap_or(0), "fires or more have failed lately");
    let orphans = bounds.max_orphans.map(|_| store.job_types().orphans()).transpose()?;
    let blind = orphans.as_ref().and_then(|found| found.blind_because());
    let orphans = orphans.filter(|_| blind.is_none()).map(|found| found.jobs.len());
    above(bounds.max_orphans, orphans.unwrap_or(0), "jobs are without a node that can run them");
    problems.extend(blind.map(|why| format!("it cannot be told which jobs no node can run: {why}")));
    if let Some(least) = bounds.min_nodes.filter(|least| working < *least) {
        problems.push(format!("{working} nodes are alive and take work, at least {least} are needed"));
    }
    let oldest_allowed = bounds.max_age.map(value::millis);
    match (oldest_allowed, age_ms) {
        (Some(_), None) => problems.push("no node that takes work has checked in".to_owned()),
        (Some(most), Some(age)) if age > most => {
            problems.push(format!("the newest check-in is {} old, at most {} are allowed", span(age), span(most)));
        }
        _ => {}
    }
    answer(
        output,
        &problems,
        &[
            ("overdue", "overdue", Some(load.overdue.to_string()), json!(load.overdue)),
            ("oldest", "oldest_overdue_ms", oldest_ms.map(span), json!(oldest_ms)),
            ("nodes alive", "nodes", Some(alive.to_string()), json!(alive)),
            ("that take work", "working_nodes", Some(working.to_string()), json!(working)),
            ("newest check-in", "newest_checkin_age_ms", age_ms.map(span), json!(age_ms)),
            ("stuck", "stuck", stuck.map(|n| n.to_string()), json!(stuck)),
            ("orphaned jobs", "orphans", orphans.map(|n| n.to_string()), json!(orphans)),
            ("failed lately", "failed", failed.map(|n| n.to_string()), json!(failed)),
        ],
    )
}

/// The findings, each with its heading, its name in JSON, and its value in both.
type Found<'a> = (&'a str, &'a str, Option<String>, Value);

fn answer(output: Output, problems: &[String], found: &[Found<'_>]) -> Outcome {
    let mut document = json!({"ok": problems.is_empty(), "problems": problems});
    if let Some(document) = document.as_object_mut() {
        document.extend(found.iter().map(|(_, name, _, value)| ((*name).to_owned(), value.clone())));
    }
    output.answer(document, || {
        let rows: Vec<_> = found.iter().map(|(heading, _, text, _)| (*heading, text.clone())).collect();
        let mut text = fields(&rows);
        problems.iter().for_each(|problem| text.push_str(&format!("{problem}\n")));
        text
    })?;
    yes_or_no(problems.is_empty())
}

/// True if a run has been silent, or without progress, for longer than it may be.
fn is_silent(fire: &FiredTrigger, now: DateTime<Utc>) -> bool {
    fire.state == FiredState::Executing && fire.heartbeat.as_ref().is_some_and(|beat| beat.is_overdue(now))
}

/// The number of fires that have not ended well lately, counted up to the bound.
fn failed(store: &JobStore, bounds: &Check, most: usize, now_ms: i64) -> carnelian::Result<usize> {
    let within_ms = value::millis(bounds.failed_within);
    let since = DateTime::from_timestamp_millis(now_ms.saturating_sub(within_ms)).unwrap_or_default();
    let bad = [FireOutcome::Failed, FireOutcome::TimedOut, FireOutcome::Lost];
    let query = bad.into_iter().fold(HistoryQuery::new(), HistoryQuery::outcome);
    Ok(store.history().find(&query.since(since).limit(most.saturating_add(1)))?.len())
}
