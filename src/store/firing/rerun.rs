//! Reruns: work that is not done goes on in a one-shot trigger of its own, stored in the
//! transaction that ends the run.

use super::Completion;
use crate::data_map::JobDataMap;
use crate::error::{Error, Result};
use crate::job::FireOutcome;
use crate::key::{CONTINUED_GROUP, INTERRUPTED_GROUP, JobKey, RECOVERY_GROUP, RETRY_GROUP, TriggerKey, distinct};
use crate::rules::failover::millis;
use crate::rules::new_trigger::PauseState;
use crate::rules::one_shot::one_shot;
use crate::rules::recovery::recovery_keys;
use crate::store::row::{Candidate, HistoryFilter, HistoryRow, RecoveryRow, TriggerSelection};
use crate::store::{JobStore, Session};
use crate::trigger::{DEFAULT_PRIORITY, Trigger};
use std::collections::BTreeSet;
use std::time::Duration;

/// Where the work of a fire comes from that is not the first of its chain.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rerun {
    /// Why it runs again.
    pub reason: RerunReason,
    /// The first fire of the chain; none if a Java node made the trigger.
    pub root_fire_id: Option<String>,
    /// The fire before this one; none if a Java node made the trigger.
    pub origin_fire_id: Option<String>,
    /// The time the first fire stood for, epoch milliseconds.
    pub scheduled_ms: i64,
    /// The number of runs before this one; runs that the end of their node interrupted do not
    /// count.
    pub attempt: i64,
}

/// Why work runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum RerunReason {
    /// The run before died with its node.
    Died,
    /// The run before failed, and is tried again.
    Failed,
    /// The run before ended because its node did.
    Interrupted,
    /// The run before asked for it: [`Outcome::Again`](crate::Outcome::Again).
    Continued,
}

impl RerunReason {
    /// The group of the triggers that run such work.
    pub(crate) fn group(self) -> &'static str {
        match self {
            RerunReason::Died => RECOVERY_GROUP,
            RerunReason::Failed => RETRY_GROUP,
            RerunReason::Interrupted => INTERRUPTED_GROUP,
            RerunReason::Continued => CONTINUED_GROUP,
        }
    }

    /// A trigger of another group that has a recovery row was made due again in place, after a
    /// death.
    fn of_group(group: &str) -> Self {
        [RerunReason::Failed, RerunReason::Interrupted, RerunReason::Continued]
            .into_iter()
            .find(|reason| reason.group() == group)
            .unwrap_or(RerunReason::Died)
    }

    /// The first part of the names of its triggers.
    fn stem(self) -> &'static str {
        match self {
            RerunReason::Died => "recover",
            RerunReason::Failed => "retry",
            RerunReason::Interrupted => "resume",
            RerunReason::Continued => "again",
        }
    }
}

/// That the work of a run goes on, in a fire of its own.
#[derive(Clone, Debug, PartialEq)]
pub struct RerunOrder {
    /// Why.
    pub reason: RerunReason,
    /// After how long.
    pub delay: Duration,
    /// The data of the trigger.
    pub data: JobDataMap,
    /// Higher fires first.
    pub priority: i32,
    /// The time this fire stood for, epoch milliseconds.
    pub scheduled_ms: i64,
    /// The time the first fire of the chain stood for, epoch milliseconds.
    pub original_scheduled_ms: i64,
}

impl Rerun {
    /// The origin that a trigger's row and its recovery row say of the work it runs.
    pub(super) fn of(candidate: &Candidate, recovering: Option<&super::Recovering>) -> Option<Self> {
        let reason = RerunReason::of_group(candidate.trigger.key.group());
        match (&candidate.recovery, recovering) {
            (Some(row), _) => Some(Self {
                reason,
                root_fire_id: Some(row.root_fire_id.clone()),
                origin_fire_id: Some(row.origin_fire_id.clone()),
                scheduled_ms: row.original_scheduled_ms,
                attempt: row.attempt,
            }),
            (None, Some(recovering)) => Some(Self {
                reason,
                root_fire_id: None,
                origin_fire_id: None,
                scheduled_ms: recovering.scheduled_ms,
                attempt: recovering.attempt,
            }),
            (None, None) => None,
        }
    }
}

impl JobStore {
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
                RerunReason::Interrupted if order.delay.is_zero() => order.scheduled_ms.min(now_ms),
                _ => now_ms.saturating_add(millis(order.delay)),
            };
            let trigger = rerun_trigger(order, &completion.fire_id, &completion.job, next_ms);
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
            triggers.push(self.trigger_row(&trigger, state)?);
            rows.push(row);
        }
        s.insert_triggers(&triggers)?;
        s.insert_all(&rows)
    }

    /// Runs the work of a fire of the history again, at once, in a fire of its own: with the data
    /// of its trigger, if that is still there, and with the checkpoint of its chain, if there is
    /// one. Returns the trigger.
    ///
    /// # Errors
    /// [`Error::NotFound`] if the history has no such fire, or its job is gone; [`Error::Refused`]
    /// if it succeeded, never began, or is going to be run again anyway.
    pub fn retry_fire(&self, fire_id: &str) -> Result<TriggerKey> {
        self.write("run a fire again", |s| {
            let not_found = |what, key: String| Error::NotFound { what, key, hint: "" };
            let fire = s
                .history::<HistoryRow>(&HistoryFilter::fire(fire_id))?
                .pop()
                .ok_or_else(|| not_found("fire of the history", fire_id.to_owned()))?;
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
            let original = s.triggers(TriggerSelection::Keys(std::slice::from_ref(&fire.trigger)))?.into_iter().next();
            let original = original.map(|row| self.trigger_value(&row)).transpose()?;
            let now_ms = s.now_ms()?;
            let order = RerunOrder {
                reason: RerunReason::Failed,
                delay: Duration::ZERO,
                data: original.as_ref().map(|trigger| trigger.data.clone()).unwrap_or_default(),
                priority: original.as_ref().map_or(DEFAULT_PRIORITY, |trigger| trigger.priority),
                scheduled_ms: fire.scheduled_ms,
                original_scheduled_ms: fire.scheduled_ms,
            };
            let trigger = rerun_trigger(&order, &id, &job.key, now_ms);
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
            Ok(key)
        })
    }
}

/// A one-shot of a name that no other has, since no other fire has this one's id.
fn rerun_trigger(order: &RerunOrder, fire_id: &str, job: &JobKey, next_ms: i64) -> Trigger {
    let mut data = order.data.clone();
    // These keys tell of a recovery which fire it stands for.
    for key in recovery_keys::ALL {
        data.remove(key);
    }
    let key = TriggerKey::new(order.reason.group(), format!("{}_{fire_id}", order.reason.stem()));
    one_shot(key, job.clone(), data, order.priority, next_ms)
}
