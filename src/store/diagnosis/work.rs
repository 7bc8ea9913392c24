//! Work that nobody does, or that is done otherwise than it was asked for.

use super::finding::Finding;
use crate::error::Result;
use crate::job::JobDetail;
use crate::key::JobKey;
use crate::matcher::GroupMatcher;
use crate::span::span;
use crate::store::row::{Parked, Snapshot, TriggerRow};
use crate::store::{JobStore, MayRun, Orphan, Orphans, UnplaceableJob};
use crate::trigger::show;
use std::collections::{BTreeMap, BTreeSet};

/// The lateness from which a due trigger that nobody takes is worth a finding.
pub(super) const UNTAKEN_AFTER_MS: i64 = 10_000;

/// Work that nobody does until somebody has looked at it.
pub(super) fn parked(work: &Parked) -> Finding {
    let remedy = "mend the cause, then `carnelian parked retry` or `carnelian parked delete`";
    Finding::new("parked", &work.key, format!("job `{}`: {}; {remedy}", work.job, work.reason))
}

/// Jobs whose type no live node has, by what the nodes say of themselves; due or not.
pub(super) fn unknown_types(orphans: &Orphans) -> Vec<Finding> {
    let look = |orphan: &Orphan| {
        let due = match orphan.next_fire_time {
            Some(due) => format!("due {}", show(Some(due.timestamp_millis()))),
            None => "not scheduled".to_owned(),
        };
        let remedy = "start a node that has it, `carnelian job migrate`, or `carnelian orphans --delete`";
        Finding::new("unknown_type", &orphan.job, format!("{}; {due}; {remedy}", orphan.reason()))
    };
    orphans.jobs.iter().map(look).collect()
}

/// A job that no living node may run.
pub(super) fn no_place(unplaceable: &UnplaceableJob) -> Finding {
    let why = |node: &MayRun| {
        let refusal = node.refusal.as_ref().map_or_else(String::new, ToString::to_string);
        format!("{}: {refusal}", node.instance)
    };
    let nodes: Vec<String> = unplaceable.nodes.iter().map(why).collect();
    let detail = format!("no living node may run it (its placement: {}): {}", unplaceable.placement, nodes.join("; "));
    Finding::new("no_place", &unplaceable.job, detail)
}

/// Jobs whose placement a node of Quartz does not heed.
pub(super) fn ignored_placements(store: &JobStore, snapshot: &Snapshot) -> Result<Vec<Finding>> {
    let Some(quartz) = snapshot.instances.iter().find(|node| node.incarnation.is_none()) else { return Ok(Vec::new()) };
    let look = |job: &JobDetail| {
        let placement = job.policy().placed()?;
        let detail = format!("`{}`, a node of Quartz, runs it although its placement is: {placement}", quartz.name);
        Some(Finding::new("ignored_placement", job.key(), detail))
    };
    Ok(store.catalogue().jobs(&GroupMatcher::Any)?.iter().filter_map(look).collect())
}

/// Triggers that a node of Quartz keeps from doing what they were told to, and those that it cannot
/// read.
pub(super) fn beside_quartz(snapshot: &Snapshot) -> Vec<Finding> {
    let Some(quartz) = snapshot.instances.iter().find(|node| node.incarnation.is_none()) else { return Vec::new() };
    let unknown = |trigger: &TriggerRow| {
        let detail = format!(
            "a recurrence, which `{}`, a node of Quartz, does not know: it never takes the trigger, our nodes do; but what \
             a Java program asks of Quartz fails if the trigger has to be read for it",
            quartz.name
        );
        (trigger.kind == "RRULE").then(|| Finding::new("unknown_to_quartz", &trigger.key, detail))
    };
    let look = |trigger: &TriggerRow| {
        let names = &trigger.options.as_ref()?.names;
        let detail = format!(
            "its options `{names}` have no effect while `{}` is a node of Quartz: every node does as \
             Quartz does; replace the trigger by one without them, or take that node away",
            quartz.name
        );
        Some(Finding::new("suspended_options", &trigger.key, detail))
    };
    snapshot.triggers.iter().filter_map(|trigger| unknown(trigger).or_else(|| look(trigger))).collect()
}

/// A cluster in which no living node takes work, while some is due.
pub(super) fn nobody_works(store: &JobStore, late: &BTreeMap<JobKey, i64>) -> Option<Finding> {
    let most_ms = late.values().max()?;
    let detail = format!(
        "{} jobs are due, the oldest for {}, and no living node takes work: each is drained, on the blacklist, in standby or an \
         observer; `carnelian cluster` and `carnelian blacklist list` say which, `carnelian undrain NODE` ends a drain",
        late.len(),
        span(*most_ms)
    );
    Some(Finding::new("no_place", &store.settings.scheduler.instance_name, detail))
}

/// Jobs that are due while living nodes leave them alone: where a node does not say what types it
/// has, nobody may have theirs.
pub(super) fn untaken(
    snapshot: &Snapshot,
    is_any_alive: bool,
    late: BTreeMap<JobKey, i64>,
    orphans: &Orphans,
    unplaceable: &[UnplaceableJob],
) -> Vec<Finding> {
    if !is_any_alive {
        return Vec::new();
    }
    let types: BTreeMap<&JobKey, &str> = snapshot.jobs.iter().map(|job| (&job.key, &*job.job_type)).collect();
    let mut known: BTreeSet<&JobKey> = orphans.jobs.iter().map(|orphan| &orphan.job).collect();
    known.extend(unplaceable.iter().map(|job| &job.job));
    let why = match orphans.blind_because() {
        None => "all workers of the nodes that know it are busy, or those stand by; `carnelian explain` says more",
        Some(_) => "no live node knows it, or all workers are busy; `carnelian explain` says more",
    };
    late.into_iter()
        .filter(|(key, _)| !known.contains(key))
        .filter_map(|(key, late_ms)| {
            let job_type = types.get(&key)?;
            let detail = format!("due for {} and not taken, type `{job_type}`: {why}", span(late_ms));
            Some(Finding::new("untaken_job", &key, detail))
        })
        .collect()
}
