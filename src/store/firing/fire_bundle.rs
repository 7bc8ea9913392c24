//! `FireBundle`: a fire with what its run needs, and the end and the rerun that follow from it.

use super::completion::{Completion, CompletionInstruction, Ending};
use super::rerun::{Recovering, Rerun, RerunOrder, RerunReason};
use crate::calendar::Calendar;
use crate::data_map::JobDataMap;
use crate::job::{JobDetail, RunMarks, traceparent_of};
use crate::key::RECOVERY_GROUP;
use crate::rules::overlap::may_wait;
use crate::rules::strategy::{part_id, stays};
use crate::trigger::Trigger;
use std::sync::Arc;
use std::time::Duration;

/// A fire, as its job will see it.
#[derive(Clone, Debug)]
pub struct FireBundle {
    /// Never used twice.
    pub fire_id: String,
    /// Larger than that of any earlier fire of the scheduler.
    pub fence: i64,
    /// The job, with its data.
    pub job: JobDetail,
    /// The trigger, already moved on to its next fire time.
    pub trigger: Trigger,
    /// The calendar that the trigger names.
    pub calendar: Option<Arc<Calendar>>,
    /// The time this fire stands for.
    pub scheduled_ms: i64,
    /// The time at which the trigger was fired.
    pub fired_ms: i64,
    /// The fire time before this one.
    pub previous_ms: Option<i64>,
    /// The trigger's row went with this fire: it was the last one and nobody needs the row.
    pub removed: bool,
    /// The fire was taken before a worker was free for it, or before its time: the run may begin
    /// once [`Firing::note_begun`](crate::store::Firing::note_begun) has said so.
    pub prefetched: bool,
    /// Other jobs follow the runs of the job.
    pub followed: bool,
    /// The node, if its job runs on several.
    pub spread_on: Option<String>,
    /// Present if this runs the work of a failed instance again.
    pub recovering: Option<Recovering>,
    /// Present if this runs work again, for whatever reason.
    pub rerun: Option<Rerun>,
}

impl FireBundle {
    /// The trace context in the data of this fire, if there is a valid one.
    pub(crate) fn traceparent(&self) -> Option<&str> {
        traceparent_of(&self.trigger.data).or_else(|| traceparent_of(&self.job.data))
    }

    /// The end of this fire.
    pub fn completion(&self, instruction: CompletionInstruction, job_data: Option<JobDataMap>) -> Completion {
        Completion {
            fire_id: self.fire_id.clone(),
            trigger: self.trigger.key.clone(),
            job: self.job.key.clone(),
            nonconcurrent: self.job.disallow_concurrent_execution,
            durable: self.job.durable,
            last: self.trigger.next_ms.is_none(),
            removed: self.removed,
            may_be_waited_for: may_wait(self.trigger.policies.overlap),
            followed: self.followed,
            part: if self.followed { part_id(&self.trigger.key, Some(&self.trigger.data)) } else { None },
            instruction,
            job_data,
            data_version: None,
            by_job: false,
            guarded: false,
            failed: false,
            revived: self.recovering.is_some() && self.trigger.key.group() != RECOVERY_GROUP,
            has_heartbeat: false,
            has_stop_order: false,
            checkpoint: None,
            job_type: self.job.job_type.clone(),
            attempt: self.rerun.as_ref().map_or(0, |rerun| rerun.attempt),
            root_fire_id: self.rerun.as_ref().and_then(|rerun| rerun.root_fire_id.clone()),
            marks: RunMarks::of(self.job.marks(), self.job.description(), self.traceparent()),
            traceparent: self.traceparent().map(str::to_owned),
            spread_on: self.spread_on.clone(),
            ending: Ending::default(),
            log: Vec::new(),
            rerun: None,
        }
    }

    /// That the work of this fire goes on after `delay`.
    pub fn rerun_order(&self, reason: RerunReason, delay: Duration) -> RerunOrder {
        RerunOrder {
            reason,
            delay,
            data: self.trigger.data.clone(),
            priority: self.trigger.priority,
            scheduled_ms: self.scheduled_ms,
            original_scheduled_ms: self
                .rerun
                .as_ref()
                .map_or(self.scheduled_ms, |rerun| rerun.scheduled_fire_time.timestamp_millis()),
            stays: stays(self.job.policy().execution_strategy(), &self.trigger.key),
        }
    }
}
