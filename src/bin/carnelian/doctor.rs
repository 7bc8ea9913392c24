//! `doctor`: looks for missing tables, unreadable rows, stuck states and broken invariants.

use crate::failure::Outcome;
use crate::output::{Output, span, table, time, yes_or_no};
use crate::value::epoch_ms;
use carnelian::clock::{Clock, SystemClock};
use carnelian::definitions::{Orphan, Orphans};
use carnelian::placement::UnplaceableJob;
use carnelian::recovery::Parked;
use carnelian::store::row::{FiredState, InstanceRow, ScheduleRow, Snapshot};
use carnelian::store::{JobStore, Lock, LostCommits};
use carnelian::{Error, GroupMatcher, JobDetail, JobKey, Schedule, TriggerKey, TriggerState};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The lateness from which a due trigger that nobody takes is worth a finding.
const UNTAKEN_AFTER_MS: i64 = 10_000;
/// The longest lateness that a restart of the whole cluster explains.
const RESTART_MS: i64 = 60_000;
/// The largest difference between this machine's clock and the database's.
const SKEW_LIMIT_MS: u64 = 1_000;
/// The number of reads that must agree.
const LOOKS: usize = 3;

/// Beyond the largest fence that is seen others may have been given out.
const FENCES_TO_SPARE: i64 = 1_000_000;

/// One thing that is not as it should be.
pub struct Finding {
    kind: &'static str,
    subject: String,
    detail: String,
    /// True if the audit of a running node mends it.
    repairable: bool,
}

impl Finding {
    fn new(kind: &'static str, subject: impl ToString, detail: impl Into<String>) -> Self {
        Self { kind, subject: subject.to_string(), detail: detail.into(), repairable: false }
    }

    fn repairable(mut self) -> Self {
        self.repairable = true;
        self
    }
}

/// Examines the store; exit code 1 if there is a finding.
pub fn run(store: &JobStore, output: Output, invariants: bool) -> Outcome {
    let findings = match store.database().check_schema() {
        Ok(()) => examine(store, invariants)?,
        Err(Error::Schema(text)) => vec![Finding::new("tables", store.database().describe(), text)],
        Err(error) => return Err(error.into()),
    };
    let document: Vec<Value> = findings
        .iter()
        .map(|f| json!({"kind": f.kind, "subject": f.subject, "detail": f.detail, "repairable": f.repairable}))
        .collect();
    output.answer(json!({"findings": document}), || {
        if findings.is_empty() {
            return format!("{}: nothing found\n", store.database().describe());
        }
        let cells = findings.iter().map(|f| [f.kind.to_owned(), f.subject.clone(), f.detail.clone()]);
        table(["FINDING", "SUBJECT", "DETAIL"], cells)
    })?;
    yes_or_no(findings.is_empty())
}

/// Reads without the locks and in pages, so that no node waits for it. A row that is on its way
/// from one state to another looks broken for a moment: a finding is what several reads agree on.
fn examine(store: &JobStore, invariants: bool) -> Outcome<Vec<Finding>> {
    let mut findings = look(store, invariants)?;
    for _ in 1..LOOKS {
        if findings.is_empty() {
            break;
        }
        let before: BTreeSet<(&str, String)> = findings.iter().map(|f| (f.kind, f.subject.clone())).collect();
        let mut again = look(store, invariants)?;
        again.retain(|f| before.contains(&(f.kind, f.subject.clone())));
        findings = again;
    }
    Ok(findings)
}

fn look(store: &JobStore, invariants: bool) -> Outcome<Vec<Finding>> {
    let here_ms = SystemClock::default().wall_time().timestamp_millis();
    let now_ms = store.now_ms()?;
    let snapshot = store.upkeep().look_at_everything()?;
    let alive: BTreeSet<String> = store
        .upkeep()
        .cluster_load(Duration::ZERO, 1)?
        .instances
        .into_iter()
        .filter(|node| node.alive)
        .map(|node| node.instance)
        .collect();
    let mut findings = rows(store, &snapshot);
    let parked = store.catalogue().parked()?;
    findings.extend(parked.iter().map(set_aside));
    findings.extend(states(&snapshot, &parked.into_iter().map(|work| work.key).collect()));
    findings.extend(nodes(&snapshot, &alive));
    findings.extend(no_node(store, &snapshot, &alive, now_ms));
    findings.extend(store.upkeep().fence_behind()?.map(|lost| fence_behind(store, lost)));
    let orphans = store.job_types().orphans()?;
    findings.extend(unknown_types(&orphans));
    let unplaceable = store.placement().unplaceable_jobs()?;
    findings.extend(unplaceable.iter().map(no_place));
    findings.extend(untaken(&snapshot, &alive, now_ms, &orphans, &unplaceable));
    findings.extend(ignored_placements(store, &snapshot)?);
    findings.extend(foreign_clocks(&snapshot, &alive, now_ms));
    findings.extend(beside_quartz(&snapshot));
    if here_ms.abs_diff(now_ms) > SKEW_LIMIT_MS {
        let skew = span(here_ms.saturating_sub(now_ms));
        findings.push(Finding::new("clock_skew", "this machine", format!("its clock is {skew} off the database's")));
    }
    if invariants {
        let violations = carnelian::store::violations(&snapshot).into_iter();
        findings.extend(violations.map(|violation| {
            Finding::new("invariant", &violation.subject, format!("{}: {}", violation.invariant, violation.detail))
        }));
    }
    Ok(findings)
}

/// Rows that cannot be read, or that point nowhere.
fn rows(store: &JobStore, snapshot: &Snapshot) -> Vec<Finding> {
    let unreadable = snapshot.unreadable.iter().map(|(table, key, reason)| {
        Finding::new("unreadable_row", key, format!("{table}: {reason}; nodes leave it alone"))
    });
    let kindless = snapshot.triggers.iter().filter(|trigger| trigger.schedule == ScheduleRow::Missing).map(|trigger| {
        let reason = match trigger.kind.as_str() {
            kind if Schedule::KINDS.contains(&kind) => "its row in the table of its kind is missing",
            _ => "this program does not know the kind",
        };
        Finding::new(
            "unreadable_row",
            &trigger.key,
            format!("TRIGGERS: kind {}: {reason}; nodes leave it alone", trigger.kind),
        )
    });
    let damaged = snapshot.triggers.iter().filter(|trigger| trigger.schedule != ScheduleRow::Missing);
    let damaged = damaged.filter_map(|trigger| {
        let error = store.catalogue().check_trigger_row(trigger).err()?;
        Some(Finding::new("unreadable_row", &trigger.key, format!("{error}; nodes leave it alone")))
    });
    let stray = snapshot
        .stray_schedules
        .iter()
        .map(|(table, key)| Finding::new("stray_schedule", key, format!("{table}: there is no trigger of this key")));
    let jobs: BTreeSet<&JobKey> = snapshot.jobs.iter().map(|job| &job.key).collect();
    let jobless = snapshot.triggers.iter().filter(|trigger| !jobs.contains(&trigger.job)).map(|trigger| {
        Finding::new("missing_job", &trigger.key, format!("its job `{}` does not exist or cannot be read", trigger.job))
    });
    let locks = [Lock::StateAccess, Lock::TriggerAccess].into_iter().map(Lock::name);
    let missing = locks.filter(|name| !snapshot.locks.iter().any(|lock| lock == name)).map(|name| {
        Finding::new("missing_lock", name, "the LOCKS table has no such row; `carnelian migrate` makes it")
    });
    let unreadable = unreadable.chain(calendars(store, snapshot));
    unreadable.chain(kindless).chain(damaged).chain(stray).chain(jobless).chain(missing).collect()
}

/// Calendars that cannot be read, and triggers whose calendar is not there or leaves them no time.
fn calendars(store: &JobStore, snapshot: &Snapshot) -> Vec<Finding> {
    let stored: BTreeSet<&str> = snapshot.calendars.iter().map(|calendar| calendar.name.as_str()).collect();
    let unreadable = snapshot.calendars.iter().filter_map(|calendar| {
        let error = store.catalogue().check_calendar_row(calendar).err()?;
        let detail = format!("{error}; it stays as it is, and triggers that name it are left alone");
        Some(Finding::new("unreadable_calendar", &calendar.name, detail))
    });
    let astray = snapshot.triggers.iter().filter_map(|trigger| {
        let name = trigger.calendar.as_deref()?;
        if !stored.contains(name) {
            let detail = format!("its calendar `{name}` does not exist; nodes leave it alone until it does");
            return Some(Finding::new("missing_calendar", &trigger.key, detail));
        }
        (trigger.next_ms.is_none() && trigger.state == TriggerState::Waiting.name()).then(|| {
            let detail = format!("its calendar `{name}` leaves it no fire time: replace that, or delete the trigger");
            Finding::new("no_time_left", &trigger.key, detail)
        })
    });
    unreadable.chain(astray).collect()
}

/// Work that nobody does until somebody has looked at it.
fn set_aside(work: &Parked) -> Finding {
    let remedy = "mend the cause, then `carnelian parked retry` or `carnelian parked delete`";
    Finding::new("parked", &work.key, format!("job `{}`: {}; {remedy}", work.job, work.reason))
}

/// Triggers in states that somebody or nobody must end.
fn states(snapshot: &Snapshot, parked: &BTreeSet<TriggerKey>) -> Vec<Finding> {
    let reserved: BTreeSet<_> = snapshot.fired.iter().map(|fire| &fire.trigger).collect();
    let executing: BTreeSet<_> = snapshot
        .fired
        .iter()
        .filter(|fire| fire.state == FiredState::Executing)
        .filter_map(|fire| fire.job.as_ref())
        .collect();
    let look = |trigger: &carnelian::store::row::TriggerRow| match TriggerState::from_name(&trigger.state) {
        None => Some(Finding::new("unknown_state", &trigger.key, format!("state `{}` means nothing", trigger.state))),
        Some(TriggerState::Error) if parked.contains(&trigger.key) => None,
        Some(TriggerState::Error) => Some(Finding::new(
            "error_state",
            &trigger.key,
            "it was set aside and waits for a person: mend the cause, then `carnelian trigger reset`",
        )),
        Some(TriggerState::Acquired) if !reserved.contains(&trigger.key) => {
            Some(Finding::new("stuck", &trigger.key, "ACQUIRED, but no node holds it").repairable())
        }
        Some(TriggerState::Blocked | TriggerState::PausedBlocked) if !executing.contains(&trigger.job) => Some(
            Finding::new("stuck", &trigger.key, format!("{}, but no fire of its job is running", trigger.state))
                .repairable(),
        ),
        Some(_) => None,
    };
    snapshot.triggers.iter().filter_map(look).collect()
}

/// Fires, runs or locks with larger fences than were drawn.
fn fence_behind(store: &JobStore, lost: LostCommits) -> Finding {
    let scheduler = &store.settings().scheduler.instance_name;
    let detail = format!(
        "the last fence is {}, but {} was given out: a backup was put back, or a replica promoted. Stop all nodes, then: UPDATE \
         …CN_FENCES SET fence = {} WHERE sched_name = '{scheduler}'",
        lost.stored,
        lost.largest,
        lost.largest.saturating_add(FENCES_TO_SPARE),
    );
    Finding::new("fence_behind", scheduler, detail)
}

/// Fires of nodes that are gone, and nodes that have fallen silent.
fn nodes(snapshot: &Snapshot, alive: &BTreeSet<String>) -> Vec<Finding> {
    let known: BTreeSet<&str> = snapshot.instances.iter().map(|node| node.name.as_str()).collect();
    let mut held: BTreeMap<&str, usize> = BTreeMap::new();
    for fire in &snapshot.fired {
        *held.entry(fire.instance.as_str()).or_default() += 1;
    }
    let orphans = held.iter().filter(|(name, _)| !known.contains(*name)).map(|(name, count)| {
        Finding::new("orphan_fires", name, format!("{count} fires belong to this node, which is not registered"))
            .repairable()
    });
    let silent = snapshot.instances.iter().filter(|node| !alive.contains(&node.name)).map(|node| {
        let count = held.get(node.name.as_str()).copied().unwrap_or(0);
        let next = if alive.is_empty() { "; no other node is alive to take over" } else { "" };
        Finding::new("silent_instance", &node.name, format!("it stopped checking in and holds {count} fires{next}"))
            .repairable()
    });
    orphans.chain(silent).collect()
}

/// A cluster that has fired and does not any more, since no node is alive. A restart of all nodes
/// is no finding, nor is work that waits for the first node.
fn no_node(store: &JobStore, snapshot: &Snapshot, alive: &BTreeSet<String>, now_ms: i64) -> Option<Finding> {
    let has_fired =
        |t: &&carnelian::store::row::TriggerRow| t.state == TriggerState::Waiting.name() && t.previous_ms.is_some();
    let waiting = snapshot.triggers.iter().filter(has_fired);
    let late: Vec<i64> = waiting.filter_map(|t| Some(now_ms.saturating_sub(t.next_ms?))).filter(|ms| *ms > 0).collect();
    let most_ms = late.iter().copied().max().filter(|ms| alive.is_empty() && *ms > RESTART_MS)?;
    let detail = format!(
        "no node is alive, and {} triggers are overdue, the oldest for {}: start one",
        late.len(),
        span(most_ms)
    );
    Some(Finding::new("no_node", &store.settings().scheduler.instance_name, detail))
}

/// Nodes of Quartz write the time of their own clock; those are off whose check-ins come from the
/// future, or are older than their interval.
fn foreign_clocks(snapshot: &Snapshot, alive: &BTreeSet<String>, now_ms: i64) -> Vec<Finding> {
    let limit_ms = i64::try_from(SKEW_LIMIT_MS).unwrap_or(i64::MAX);
    let foreign = snapshot.instances.iter().filter(|node| node.incarnation.is_none() && alive.contains(&node.name));
    let look = |node: &InstanceRow| {
        let age_ms = now_ms.saturating_sub(node.last_checkin_ms);
        let detail = if age_ms < -limit_ms {
            format!("its clock is at least {} ahead of the database's", span(-age_ms))
        } else if age_ms > node.checkin_interval_ms.saturating_add(limit_ms) {
            format!("its last check-in is {} old: it is late, or its clock is behind the database's", span(age_ms))
        } else {
            return None;
        };
        let danger = "; a node of Quartz convicts others by its own clock";
        Some(Finding::new("clock_skew", &node.name, format!("{detail}{danger}")))
    };
    foreign.filter_map(look).collect()
}

/// Triggers that a node of Quartz keeps from doing what they were told to, and those that it cannot
/// read.
fn beside_quartz(snapshot: &Snapshot) -> Vec<Finding> {
    let Some(quartz) = snapshot.instances.iter().find(|node| node.incarnation.is_none()) else { return Vec::new() };
    let unknown = |trigger: &carnelian::store::row::TriggerRow| {
        let detail = format!(
            "a recurrence, which `{}`, a node of Quartz, does not know: it never takes the trigger, our nodes do; but what \
             a Java program asks of Quartz fails if the trigger has to be read for it",
            quartz.name
        );
        (trigger.kind == "RRULE").then(|| Finding::new("unknown_to_quartz", &trigger.key, detail))
    };
    let look = |trigger: &carnelian::store::row::TriggerRow| {
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

/// Jobs whose type no live node has, by what the nodes say of themselves; due or not.
fn unknown_types(orphans: &Orphans) -> Vec<Finding> {
    let look = |orphan: &Orphan| {
        let due = match orphan.next_fire_time {
            Some(due) => format!("due {}", time(Some(epoch_ms(due)))),
            None => "not scheduled".to_owned(),
        };
        let remedy = "start a node that has it, `carnelian job migrate`, or `carnelian orphans --delete`";
        Finding::new("unknown_type", &orphan.job, format!("{}; {due}; {remedy}", orphan.reason()))
    };
    orphans.jobs.iter().map(look).collect()
}

/// A job that no living node may run.
fn no_place(unplaceable: &UnplaceableJob) -> Finding {
    let why = |node: &carnelian::placement::MayRun| {
        let refusal = node.refusal.as_ref().map_or_else(String::new, ToString::to_string);
        format!("{}: {refusal}", node.instance)
    };
    let nodes: Vec<String> = unplaceable.nodes.iter().map(why).collect();
    let detail = format!("no living node may run it (its placement: {}): {}", unplaceable.placement, nodes.join("; "));
    Finding::new("no_place", &unplaceable.job, detail)
}

/// Jobs whose placement a node of Quartz does not heed.
fn ignored_placements(store: &JobStore, snapshot: &Snapshot) -> Outcome<Vec<Finding>> {
    let Some(quartz) = snapshot.instances.iter().find(|node| node.incarnation.is_none()) else { return Ok(Vec::new()) };
    let look = |job: &JobDetail| {
        let placement = job.policy().placed()?;
        let detail = format!("`{}`, a node of Quartz, runs it although its placement is: {placement}", quartz.name);
        Some(Finding::new("ignored_placement", job.key(), detail))
    };
    Ok(store.catalogue().jobs(&GroupMatcher::Any)?.iter().filter_map(look).collect())
}

/// Jobs that are due while living nodes leave them alone: where a node does not say what types it
/// has, nobody may have theirs.
fn untaken(
    snapshot: &Snapshot,
    alive: &BTreeSet<String>,
    now_ms: i64,
    orphans: &Orphans,
    unplaceable: &[UnplaceableJob],
) -> Vec<Finding> {
    if alive.is_empty() {
        return Vec::new();
    }
    let mut late: BTreeMap<&JobKey, i64> = BTreeMap::new();
    for trigger in snapshot.triggers.iter().filter(|t| t.state == TriggerState::Waiting.name()) {
        let late_ms = trigger.next_ms.map_or(0, |next_ms| now_ms.saturating_sub(next_ms));
        if late_ms > UNTAKEN_AFTER_MS {
            let most = late.entry(&trigger.job).or_default();
            *most = late_ms.max(*most);
        }
    }
    let job_type = |key: &JobKey| snapshot.jobs.iter().find(|job| job.key == *key).map(|job| job.job_type.as_str());
    let mut known: BTreeSet<&JobKey> = orphans.jobs.iter().map(|orphan| &orphan.job).collect();
    known.extend(unplaceable.iter().map(|job| &job.job));
    let why = match orphans.blind_because() {
        None => "all workers of the nodes that know it are busy, or those stand by; `carnelian explain` says more",
        Some(_) => "no live node knows it, or all workers are busy; `carnelian explain` says more",
    };
    late.into_iter()
        .filter(|(key, _)| !known.contains(key))
        .filter_map(|(key, late_ms)| {
            let job_type = job_type(key)?;
            let detail = format!("due for {} and not taken, type `{job_type}`: {why}", span(late_ms));
            Some(Finding::new("untaken_job", key, detail))
        })
        .collect()
}
