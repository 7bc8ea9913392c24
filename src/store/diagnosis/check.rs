//! The check for a monitor: the cluster against its bounds, from the database alone.

use super::check_bounds::{CheckBounds, CheckReport};
use crate::epoch::{length, millis, moment};
use crate::error::Result;
use crate::job::FireOutcome;
use crate::span::span;
use crate::store::row::FiredState;
use crate::store::{ClusterLoad, Diagnosis, FiredTrigger, HistoryQuery};
use chrono::{DateTime, Utc};

/// Overdue triggers beyond so many are not counted, unless the bound is higher.
const ENOUGH: usize = 10_000;

impl Diagnosis<'_> {
    /// Looks at what the bounds are for, and names those that are broken.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn check(&self, bounds: &CheckBounds) -> Result<CheckReport> {
        let most = bounds.max_overdue.map_or(ENOUGH, |most| most.saturating_add(1).max(ENOUGH));
        let load = self.store.upkeep().cluster_load(bounds.overdue_after, most)?;
        let mut report = report_of(&load);
        if bounds.max_stuck.is_some() {
            let fires = self.store.upkeep().fired_triggers()?;
            report.stuck = Some(fires.iter().filter(|fire| is_silent(fire, moment(load.now_ms))).count());
        }
        report.failed = bounds.max_failed.map(|most| self.failed(bounds, most, load.now_ms)).transpose()?;
        let orphans = bounds.max_orphans.map(|_| self.store.job_types().orphans()).transpose()?;
        let blind = orphans.as_ref().and_then(|found| found.blind_because());
        report.orphans = orphans.filter(|_| blind.is_none()).map(|found| found.jobs.len());
        report.problems = problems(&report, bounds, blind);
        Ok(report)
    }

    /// The number of fires that have not ended well lately, counted up to the bound.
    fn failed(&self, bounds: &CheckBounds, most: usize, now_ms: i64) -> Result<usize> {
        let since = moment(now_ms.saturating_sub(millis(bounds.failed_within)));
        let query = FireOutcome::BAD.into_iter().fold(HistoryQuery::new(), HistoryQuery::outcome);
        Ok(self.store.history().find(&query.since(since).limit(most.saturating_add(1)))?.len())
    }
}

/// The counts that need no bound.
fn report_of(load: &ClusterLoad) -> CheckReport {
    let age = |at_ms: i64| length(load.now_ms.saturating_sub(at_ms));
    let newest = load.instances.iter().filter(|node| node.takes_work).map(|node| node.last_checkin).max();
    CheckReport {
        problems: Vec::new(),
        overdue: load.overdue,
        oldest_overdue: load.oldest_overdue_ms.map(age),
        nodes: load.instances.iter().filter(|node| node.alive).count(),
        working_nodes: load.instances.iter().filter(|node| node.is_working()).count(),
        newest_checkin_age: newest.map(|at| age(at.timestamp_millis())),
        stuck: None,
        orphans: None,
        failed: None,
    }
}

/// The bounds that are broken, in words.
fn problems(report: &CheckReport, bounds: &CheckBounds, blind: Option<String>) -> Vec<String> {
    let above = |n: Option<usize>, most: Option<usize>, what: &str| {
        let (n, most) = n.zip(most).filter(|(n, most)| n > most)?;
        Some(format!("{n} {what}, at most {most} are allowed"))
    };
    let stuck = "running fires have missed all their heartbeats, or make no progress";
    let mut problems: Vec<String> = [
        above(Some(report.overdue), bounds.max_overdue, "triggers are overdue"),
        above(report.stuck, bounds.max_stuck, stuck),
        above(report.failed, bounds.max_failed, "fires or more have failed lately"),
        above(report.orphans, bounds.max_orphans, "jobs are without a node that can run them"),
        blind.map(|why| format!("it cannot be told which jobs no node can run: {why}")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if let Some(least) = bounds.min_nodes.filter(|least| report.working_nodes < *least) {
        problems.push(format!("{} nodes are alive and take work, at least {least} are needed", report.working_nodes));
    }
    match (bounds.max_age, report.newest_checkin_age) {
        (Some(_), None) => problems.push("no node that takes work has checked in".to_owned()),
        (Some(most), Some(age)) if age > most => {
            let (age, most) = (span(millis(age)), span(millis(most)));
            problems.push(format!("the newest check-in is {age} old, at most {most} are allowed"));
        }
        _ => {}
    }
    problems
}

/// True if a run has been silent, or without progress, for longer than it may be.
fn is_silent(fire: &FiredTrigger, now: DateTime<Utc>) -> bool {
    fire.state == FiredState::Executing && fire.heartbeat.as_ref().is_some_and(|beat| beat.is_overdue(now))
}
