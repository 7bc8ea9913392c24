//! Fail: somebody outside declares a running fire failed, such as a watchdog that knows better than
//! its node.

use super::rerun::{RerunOrder, RerunReason};
use super::{Completion, CompletionInstruction, CompletionOutcome, Ending};
use crate::data_map::JobDataMap;
use crate::error::{Error, Result, storable};
use crate::job::{FireOutcome, JobPolicy, RetryHint};
use crate::key::{JobKey, TriggerKey};
use crate::rules::strategy::{is_rerun, part_id, stays};
use crate::store::action_log::Action;
use crate::store::row::{
    CancelRow, FiredRow, FiredSelection, FiredState, InstanceSelection, RecoveryRow, TriggerSelection, TypePolicyRow,
};
use crate::store::{Firing, Session};
use crate::trigger::DEFAULT_PRIORITY;
use std::time::Duration;

/// The longest reason, in characters.
const MAX_REASON_CHARS: usize = 2000;

/// A running fire that was declared failed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FailedFire {
    /// The fire.
    pub fire_id: String,
    /// The job.
    pub job: JobKey,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The instance it ran on, which learns with its next heartbeat that it holds the fire no
    /// longer.
    pub instance: String,
    /// After how long its work is tried again, by the job's retry policy; none if it is not.
    pub retried_after: Option<Duration>,
    /// The trigger was paused, since it pauses on failure.
    pub paused: bool,
}

impl Firing<'_> {
    /// Declares a running fire failed: it ends in the history with this reason, and its job's retry
    /// policy applies, all in one transaction (DS-120). None if no such fire runs: then it has
    /// ended, or was declared failed before.
    ///
    /// The node of the fire cannot write anything for the fire from then on, and learns it with its
    /// next heartbeat; code that does not stop goes on without the fire. Work that is tried again
    /// has the data of its trigger, if that is still there.
    ///
    /// # Errors
    /// [`Error::Refused`] for a fire of a node of Quartz, which would not learn it; what the
    /// database reports.
    pub fn fail_fire(&self, fire_id: &str, reason: &str) -> Result<Option<FailedFire>> {
        let reason = storable(reason, MAX_REASON_CHARS);
        let id = [fire_id.to_owned()];
        self.store.write("declare a fire failed", |s| {
            let running =
                s.fired(FiredSelection::Ids(&id))?.into_iter().find(|fire| fire.state == FiredState::Executing);
            let Some(fire) = running else { return Ok(None) };
            if s.instances(InstanceSelection::Named(&fire.instance))?.iter().any(|node| node.incarnation.is_none()) {
                return Err(Error::Refused(format!(
                    "fire `{fire_id}` runs on `{}`, a node of Quartz: it would go on, and end the fire once more",
                    fire.instance
                )));
            }
            let Some(completion) = self.failed(s, &fire, &reason)? else { return Ok(None) };
            let recorded = self.complete_in_session(s, std::slice::from_ref(&completion))?;
            if recorded.outcomes.contains(&CompletionOutcome::Held) {
                return Err(Error::Refused(format!(
                    "fire `{fire_id}` is held by a transaction of its job on `{}`, or by an order to stop: try again when \
                     that has ended",
                    fire.instance
                )));
            }
            self.store.note_action(s, Action::new("fail", "fire").detail(&reason), [fire_id])?;
            Ok(Some(FailedFire {
                fire_id: fire.fire_id,
                job: completion.job,
                trigger: fire.trigger,
                instance: fire.instance,
                retried_after: completion.rerun.map(|rerun| rerun.delay),
                paused: !recorded.paused.is_empty(),
            }))
        })
    }

    /// The end of a fire as its node would record it had its job failed, from what the rows say of
    /// it.
    fn failed(&self, s: &mut dyn Session, fire: &FiredRow, reason: &str) -> Result<Option<Completion>> {
        let Some(job) = fire.job.clone() else { return Ok(None) };
        let key = std::slice::from_ref(&fire.trigger);
        let definition = s.job(&job)?;
        let trigger = s.triggers(TriggerSelection::Keys(key))?.into_iter().next();
        let before = s.rows::<RecoveryRow>().with("trigger", &fire.trigger).first()?;
        let attempt = before.as_ref().map_or(0, |before| before.attempt);
        let own = definition.as_ref().and_then(|row| row.policy.clone());
        let of_type = match &definition {
            Some(row) => s.row::<TypePolicyRow>(&*row.job_type)?.map(|row| row.policy),
            None => None,
        };
        // A policy that cannot be read keeps nobody from ending the fire.
        let mut read = [own, of_type].into_iter().flatten().filter_map(|text| JobPolicy::decode(&text).ok());
        let policy = read.next().map(|own| read.next().map_or(own.clone(), |of_type| own.or(&of_type)));
        // A run that somebody has wanted to stop is not tried again.
        let has_stop_order = s.row::<CancelRow>(&*fire.fire_id)?.is_some();
        let retry = policy.as_ref().and_then(JobPolicy::retry_policy).filter(|_| !has_stop_order);
        let delay = retry.and_then(|retry| retry.delay(attempt, &RetryHint::default(), &fire.fire_id));
        let value = trigger.as_ref().and_then(|row| self.store.trigger_value(row).ok());
        let rerun = delay.map(|delay| RerunOrder {
            reason: RerunReason::Failed,
            delay,
            data: value.as_ref().map_or_else(JobDataMap::new, |trigger| trigger.data.clone()),
            priority: trigger.as_ref().map_or(DEFAULT_PRIORITY, |trigger| trigger.priority),
            scheduled_ms: fire.scheduled_ms,
            original_scheduled_ms: before.as_ref().map_or(fire.scheduled_ms, |before| before.original_scheduled_ms),
            stays: policy.as_ref().is_some_and(|policy| stays(policy.execution_strategy(), &fire.trigger)),
        });
        let run_ms = u64::try_from(s.now_ms()?.saturating_sub(fire.fired_ms)).unwrap_or(0);
        let root = before.as_ref().map(|before| before.root_fire_id.clone());
        let is_rerun = is_rerun(&fire.trigger);
        let traceparent = self.store.traces_of(s, std::slice::from_ref(fire), &[])?.remove(&fire.fire_id);
        Ok(Some(Completion {
            fire_id: fire.fire_id.clone(),
            trigger: fire.trigger.clone(),
            job,
            nonconcurrent: fire.nonconcurrent,
            durable: definition.as_ref().is_some_and(|row| row.durable),
            // The trigger's row, or its absence, says whether this fire was the trigger's last.
            last: false,
            removed: false,
            may_be_waited_for: false, // the policies of its trigger are looked at in any case
            instruction: CompletionInstruction::NoInstruction,
            job_data: None,
            data_version: None,
            by_job: false,
            guarded: true, // nobody here knows
            failed: rerun.is_none(),
            followed: true, // whether it is, the look at what follows will say
            part: part_id(&fire.trigger, value.as_ref().map(|trigger| &trigger.data)),
            log: Vec::new(),
            revived: before.is_some() && !is_rerun,
            has_heartbeat: true,
            has_stop_order,
            checkpoint: Some(root.clone().unwrap_or_else(|| fire.fire_id.clone())),
            marks: definition.as_ref().map(|row| row.run_marks(traceparent.as_deref())).unwrap_or_default(),
            traceparent,
            spread_on: policy.is_some_and(|policy| policy.is_spread()).then(|| fire.instance.clone()),
            job_type: definition.map(|row| row.job_type).unwrap_or_default(),
            attempt,
            root_fire_id: root,
            ending: Ending {
                outcome: FireOutcome::Failed,
                error: Some(reason.to_owned()),
                run_time: Some(Duration::from_millis(run_ms)),
                ..Ending::default()
            },
            rerun,
        }))
    }
}
