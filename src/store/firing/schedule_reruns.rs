//! Reruns: work that is not done goes on in a one-shot trigger of its own, stored in the
//! transaction that ends the run.

use super::{Completion, RerunOrder, RerunReason};
use crate::epoch::millis;
use crate::error::{Error, Result};
use crate::job::FireOutcome;
use crate::key::{BROADCAST_GROUP, FOLLOWING_GROUP, JobKey, TriggerKey, distinct};
use crate::rules::new_trigger::PauseState;
use crate::rules::one_shot::one_shot;
use crate::rules::recovery::recovery_keys;
use crate::rules::strategy::rerun_of_part;
use crate::store::action_log::Action;
use crate::store::row::{FiredSelection, HistoryQuery, HistoryRow, RecoveryRow, TriggerSelection};
use crate::store::{Firing, Session};
use crate::trigger::{DEFAULT_PRIORITY, Trigger};
use std::collections::BTreeSet;
use std::time::Duration;

impl Firing<'_> {
    /// Stores the triggers that go on with the work of these fires, whose rows are gone by now.
    /// Work whose job was deleted meanwhile is over.
    pub(super) fn schedule_reruns(&self, s: &mut dyn Session, recorded: &[&Completion]) -> Result<()> {
        let ordered: Vec<_> = recorded.iter().filter_map(|c| Some((*c, c.rerun.as_ref()?))).collect();
        if ordered.is_empty() {
            return Ok(());
        }
        let now_ms = s.now_ms()?;
        let jobs: Vec<JobKey> = distinct(ordered.iter().map(|(c, _)| &c.job));
        let existing: BTreeSet<JobKey> = s.existing_jobs(&jobs)?.into_iter().collect();
        let mut work = Vec::new();
        for (completion, order) in ordered.into_iter().filter(|(c, _)| existing.contains(&c.job)) {
            let counts = order.reason == RerunReason::Failed;
            let next_ms = match order.reason {
                // The work is late already: it keeps its place.
                RerunReason::Interrupted | RerunReason::Died if order.delay.is_zero() => order.scheduled_ms.min(now_ms),
                _ => now_ms.saturating_add(millis(order.delay)),
            };
            let part = Some(&completion.trigger).filter(|_| order.stays);
            let trigger = rerun_trigger(order, &completion.fire_id, &completion.job, next_ms, part);
            let row = RecoveryRow {
                trigger: trigger.key.clone(),
                origin_fire_id: completion.fire_id.clone(),
                root_fire_id: completion.root_fire_id.clone().unwrap_or_else(|| completion.fire_id.clone()),
                original_scheduled_ms: order.original_scheduled_ms,
                attempt: completion.attempt + i64::from(counts),
                takeovers: 0, // this run has come to its end
            };
            work.push((trigger, row));
        }
        self.put_reruns(s, work)
    }

    /// Stores rerun triggers. Like any other such a trigger waits while its job executes elsewhere
    /// (QZ-74), and while its group is paused.
    fn put_reruns(&self, s: &mut dyn Session, work: Vec<(Trigger, RecoveryRow)>) -> Result<()> {
        if work.is_empty() {
            return Ok(());
        }
        let pauses = PauseState::read(s, work.iter().map(|(trigger, _)| &trigger.job_key))?;
        let (mut triggers, mut rows) = (Vec::new(), Vec::new());
        for (trigger, row) in work {
            let state = pauses.state_of_new(&trigger.key, &trigger.job_key);
            triggers.push(self.store.trigger_row(&trigger, state)?);
            rows.push(row);
        }
        s.insert_triggers(&triggers)?;
        s.insert_all(&rows)
    }

    /// Runs the work of a fire of the history again, at once, in a fire of its own: with the data
    /// of its trigger, or of that of the first fire of its chain, if one of these is still there,
    /// and with the checkpoint of its chain, if there is one. Returns the trigger.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the history has no such fire, or its job is gone; [`Error::Refused`]
    /// if it succeeded, never began, is going to be run again anyway, or was a part of a tick, or
    /// followed another job, and its trigger is gone: the trigger said which part, and what the
    /// other job left.
    pub fn retry_fire(&self, fire_id: &str) -> Result<TriggerKey> {
        self.store.write("run a fire again", |s| {
            let not_found = |what, key: String| Error::NotFound { what, key, hint: "" };
            let Some(fire) = s.history::<HistoryRow>(&HistoryQuery::new().fire(fire_id).limit(1))?.pop() else {
                let is_running = !s.fired(FiredSelection::Ids(&[fire_id.to_owned()]))?.is_empty();
                let still_runs = format!("fire `{fire_id}` still runs: only one that has ended is run again");
                let missing = || not_found("fire of the history", fire_id.to_owned());
                return Err(if is_running { Error::Refused(still_runs) } else { missing() });
            };
            if matches!(fire.outcome, FireOutcome::Succeeded | FireOutcome::Vetoed | FireOutcome::Misfired) {
                return Err(Error::Refused(format!(
                    "fire `{fire_id}` has {}: only one that failed, was lost or was stopped is run again",
                    fire.outcome
                )));
            }
            let id = fire_id.to_owned();
            let root = fire.root_fire_id.clone().unwrap_or_else(|| id.clone());
            if s.rows::<RecoveryRow>().with("root_fire_id", &root).first()?.is_some() {
                return Err(Error::Refused(format!("fire `{fire_id}` is run again already: see its job's triggers")));
            }
            let job = match &fire.job {
                Some(key) => s.job(key)?.ok_or_else(|| not_found("job", key.to_string()))?,
                None => return Err(not_found("job", fire.trigger.to_string())),
            };
            let original = self.trigger_of_chain(s, &fire, &root, &job.key)?;
            let now_ms = s.now_ms()?;
            let order = RerunOrder {
                reason: RerunReason::Failed,
                delay: Duration::ZERO,
                data: original.as_ref().map(|trigger| trigger.data.clone()).unwrap_or_default(),
                priority: original.as_ref().map_or(DEFAULT_PRIORITY, |trigger| trigger.priority),
                scheduled_ms: fire.scheduled_ms,
                original_scheduled_ms: fire.scheduled_ms,
                stays: false,
            };
            let trigger = rerun_trigger(&order, &id, &job.key, now_ms, None);
            let key = trigger.key.clone();
            let row = RecoveryRow {
                trigger: key.clone(),
                root_fire_id: fire.root_fire_id.unwrap_or_else(|| id.clone()),
                origin_fire_id: id,
                original_scheduled_ms: fire.scheduled_ms,
                attempt: fire.attempt.saturating_add(1),
                takeovers: 0,
            };
            self.put_reruns(s, vec![(trigger, row)])?;
            self.store.note_action(s, Action::new("retry", "fire").detail(&job.key.to_string()), [fire_id])?;
            Ok(key)
        })
    }
}

impl Firing<'_> {
    /// The trigger of a fire of the history, or of the first fire of its chain, if it is still
    /// there.
    fn trigger_of_chain(
        &self,
        s: &mut dyn Session,
        fire: &HistoryRow,
        root: &str,
        job: &JobKey,
    ) -> Result<Option<Trigger>> {
        let first: Vec<HistoryRow> =
            if root == fire.fire_id { Vec::new() } else { s.history(&HistoryQuery::new().fire(root).limit(1))? };
        let keys: Vec<TriggerKey> = [fire].into_iter().chain(&first).map(|row| row.trigger.clone()).collect();
        let stored = s.triggers(TriggerSelection::Keys(&keys))?;
        let of_job = |key: &TriggerKey| stored.iter().find(|row| row.key == *key && row.job == *job);
        if let Some(row) = keys.iter().find_map(of_job) {
            return self.store.trigger_value(row).map(Some);
        }
        let told = |group| match group {
            BROADCAST_GROUP => Some("which part of the work it was"),
            FOLLOWING_GROUP => Some("what the job that it followed had left"),
            _ => None,
        };
        match keys.iter().find_map(|key| Some((key, told(key.group())?))) {
            Some((key, told)) => Err(Error::Refused(format!(
                "fire `{}` cannot be run again: its trigger `{key}`, which said {told}, is gone: run the job `{job}` anew",
                fire.fire_id
            ))),
            None => Ok(None),
        }
    }
}

/// A one-shot of a name that no other has, since no other fire has this one's id; for the node of
/// the `part`, if the work is one.
fn rerun_trigger(order: &RerunOrder, fire_id: &str, job: &JobKey, next_ms: i64, part: Option<&TriggerKey>) -> Trigger {
    let mut data = order.data.clone();
    if order.reason != RerunReason::Died {
        // These keys tell of a recovery which fire it stands for.
        for key in recovery_keys::ALL {
            data.remove(key);
        }
    }
    let stem = order.reason.stem();
    let key = match part {
        Some(part) => rerun_of_part(part, stem, fire_id),
        None => TriggerKey::new(order.reason.group(), format!("{stem}_{fire_id}")),
    };
    one_shot(key, job.clone(), data, order.priority, next_ms)
}
