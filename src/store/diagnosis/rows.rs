//! Rows and parts of the tables that are missing, stray or cannot be read.

use super::finding::Finding;
use crate::error::Result;
use crate::key::JobKey;
use crate::rules::fence::FENCES_TO_SPARE;
use crate::store::row::{ScheduleRow, Snapshot};
use crate::store::{JobStore, LostCommits, MissingPart};
use crate::trigger::{Schedule, TriggerState};
use std::collections::{BTreeMap, BTreeSet};

/// The kind of the finding of a side table that somebody has dropped.
pub(super) const MISSING_TABLE: &str = "missing_table";

/// A part of the tables that is gone, or not as it should be.
pub(super) fn missing_part(part: &MissingPart) -> Finding {
    let finding = Finding::new(part.kind, &part.name, &part.detail);
    if part.is_made_again() { finding.repairable() } else { finding }
}

/// The jobs that a scheduler without any may have been meant to find, in words.
pub(super) fn other_names(store: &JobStore) -> Result<Option<String>> {
    let (others, name) = (store.database.other_schedulers()?, &store.settings.scheduler.instance_name);
    let others = others.join("`, `");
    let words = format!(
        "the scheduler `{name}` has no jobs, and these tables have jobs of `{others}`: if one of them is meant, set \
         scheduler.instanceName to it, letter by letter"
    );
    Ok((!others.is_empty()).then_some(words))
}

/// Rows that cannot be read, or that point nowhere.
pub(super) fn unreadable(store: &JobStore, snapshot: &Snapshot) -> Vec<Finding> {
    let unreadable = snapshot.unreadable.iter().map(|(table, key, reason)| {
        Finding::new("unreadable_row", key, format!("{table}: {reason}; nodes leave it alone: mend or delete the row"))
    });
    let kindless = snapshot.triggers.iter().filter(|trigger| trigger.schedule == ScheduleRow::Missing).map(|trigger| {
        let reason = match trigger.kind.as_str() {
            kind if Schedule::KINDS.contains(&kind) => "its row in the table of its kind is missing",
            _ => "this program does not know the kind",
        };
        Finding::new(
            "unreadable_row",
            &trigger.key,
            format!("TRIGGERS: kind {}: {reason}; nodes leave it alone: mend or delete the row", trigger.kind),
        )
    });
    let damaged = snapshot.triggers.iter().filter(|trigger| trigger.schedule != ScheduleRow::Missing);
    let damaged = damaged.filter_map(|trigger| {
        let error = store.catalogue().check_trigger_row(trigger).err()?;
        Some(Finding::new(
            "unreadable_row",
            &trigger.key,
            format!("{error}; nodes leave it alone: mend or delete the row"),
        ))
    });
    let stray = snapshot.stray_schedules.iter().map(|(table, key)| {
        let detail = format!("{table}: there is no trigger of this key, and none can be stored under it");
        Finding::new("stray_schedule", key, detail).repairable()
    });
    let jobs: BTreeSet<&JobKey> = snapshot.jobs.iter().map(|job| &job.key).collect();
    let jobless = snapshot.triggers.iter().filter(|trigger| !jobs.contains(&trigger.job)).map(|trigger| {
        let job = &trigger.job;
        let detail = format!(
            "its job `{job}` does not exist or cannot be read: store the job anew (`carnelian job add --replace`), or delete \
             the trigger"
        );
        Finding::new("missing_job", &trigger.key, detail)
    });
    let unreadable = unreadable.chain(calendars(store, snapshot));
    unreadable.chain(kindless).chain(damaged).chain(stray).chain(jobless).collect()
}

/// Jobs that cannot be read, each with the reason.
pub(super) fn damaged_jobs(damaged: &BTreeMap<JobKey, String>) -> impl Iterator<Item = Finding> {
    let finding = |(key, why)| Finding::new("unreadable_row", key, format!("{why}; nodes leave it alone"));
    damaged.iter().map(finding)
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
        let waits_for_ever = trigger.next_ms.is_none() && trigger.state == TriggerState::Waiting.name();
        let Some(name) = trigger.calendar.as_deref() else {
            let detail = "it waits without a next fire time: give it another schedule, or delete it";
            return waits_for_ever.then(|| Finding::new("no_time_left", &trigger.key, detail));
        };
        if !stored.contains(name) {
            let detail = format!(
                "its calendar `{name}` does not exist; nodes leave it alone until it does: `carnelian calendar put`"
            );
            return Some(Finding::new("missing_calendar", &trigger.key, detail));
        }
        waits_for_ever.then(|| {
            let detail = format!("its calendar `{name}` leaves it no fire time: replace that, or delete the trigger");
            Finding::new("no_time_left", &trigger.key, detail)
        })
    });
    unreadable.chain(astray).collect()
}

/// Fires, runs or locks with larger fences than were drawn.
pub(super) fn fence_behind(store: &JobStore, lost: LostCommits) -> Finding {
    let scheduler = &store.settings.scheduler.instance_name;
    let detail = format!(
        "the last fence is {}, but {} was given out: a backup was put back, or a replica promoted. Stop all nodes, then: UPDATE \
         {}CN_FENCES SET fence = {} WHERE sched_name = '{scheduler}'",
        lost.stored,
        lost.largest,
        store.settings.job_store.table_prefix,
        lost.largest.saturating_add(FENCES_TO_SPARE),
    );
    Finding::new("fence_behind", scheduler, detail)
}
