//! Listeners: code of the application that hears what becomes of fires, triggers and the scheduler
//! itself.
//!
//! Listeners belong to this process and are not stored; what happens on other nodes is not heard
//! here. Events of a run are told on its worker, and those of the application on its own thread:
//! listeners should be quick there. Events that the node finds in the background are told on a
//! thread of its own, one after the other and in its order: one that takes long delays the others,
//! but no check-in, heartbeat or recovery. At most 10,000 such events wait; further ones are not
//! told, which is logged, counted (`health().untold_events`) and told by `scheduler_error`.
//! A listener that panics is reported and has no other effect.

mod dispatch;
mod event;
pub(crate) mod lifecycle_log;
mod manager;
mod queue;
mod roll;
mod values;

pub use crate::store::{CompletionInstruction, SkipReason, SkippedFires};
pub use event::{FireEnd, FireEvent};
pub use manager::ListenerManager;
pub use values::FireValues;

pub(crate) use crate::guarded::guarded;
pub(crate) use dispatch::Listeners;

use crate::alarm::Alarm;
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::store::row::Parked;
use crate::store::{Orphan, Outage, Recovered};
use crate::trigger::Trigger;
use std::time::Duration;

/// Hears of the runs of jobs.
///
/// ```
/// use carnelian::listener::{FireEnd, FireEvent, JobListener};
///
/// struct Slow;
///
/// impl JobListener for Slow {
///     fn name(&self) -> &str {
///         "slow"
///     }
///
///     fn job_was_executed(&self, fire: &FireEvent<'_>, end: &FireEnd) {
///         if end.run_time.as_secs() > 60 {
///             eprintln!("{} took {:?}", fire.job().key(), end.run_time);
///         }
///     }
/// }
/// ```
#[doc(alias = "org.quartz.JobListener")]
pub trait JobListener: Send + Sync + 'static {
    /// The listener's name, for messages and for [`ListenerManager`]; asked once, when it is added.
    fn name(&self) -> &str;

    /// The job is about to run.
    fn job_to_be_executed(&self, fire: &FireEvent<'_>) {
        let _ = fire;
    }

    /// The job was about to run, but a trigger listener said no.
    fn job_execution_vetoed(&self, fire: &FireEvent<'_>) {
        let _ = fire;
    }

    /// The job has run, well or badly.
    fn job_was_executed(&self, fire: &FireEvent<'_>, end: &FireEnd) {
        let _ = (fire, end);
    }
}

/// Hears of the fires of triggers, and may say no to one.
#[doc(alias = "org.quartz.TriggerListener")]
pub trait TriggerListener: Send + Sync + 'static {
    /// The listener's name, for messages and for [`ListenerManager`]; asked once, when it is added.
    fn name(&self) -> &str;

    /// The trigger has fired and its job is about to run, or to run again in the same fire since it
    /// asked for that ([`JobError::refire_immediately`](crate::JobError::refire_immediately)).
    fn trigger_fired(&self, fire: &FireEvent<'_>) {
        let _ = fire;
    }

    /// True if the job must not run this time; asked before each run of a fire. A listener that
    /// panics here says nothing.
    #[doc(alias = "vetoJobExecution")]
    fn veto_job_execution(&self, fire: &FireEvent<'_>) -> bool {
        let _ = fire;
        false
    }

    /// This node found that the trigger could not fire in time and applied its misfire instruction.
    /// The trigger is shown as it was before: its next fire time is the one that was missed.
    fn trigger_misfired(&self, trigger: &Trigger) {
        let _ = trigger;
    }

    /// This node left out times of the trigger, since an earlier fire was still running (its
    /// [`Overlap`](crate::Overlap)) or since they were older than its catch-up window.
    fn fires_skipped(&self, skipped: &SkippedFires) {
        let _ = skipped;
    }

    /// The job has run and this is what becomes of the trigger.
    fn trigger_complete(&self, fire: &FireEvent<'_>, instruction: CompletionInstruction) {
        let _ = (fire, instruction);
    }
}

/// Hears of what is done with the scheduler through this node.
#[doc(alias = "org.quartz.SchedulerListener")]
#[expect(unused_variables, reason = "the names of the arguments are documentation")]
pub trait SchedulerListener: Send + Sync + 'static {
    /// The listener's name, for messages and for [`ListenerManager`]; asked once, when it is added.
    fn name(&self) -> &str;

    /// A trigger was stored.
    fn job_scheduled(&self, trigger: &Trigger) {}
    /// A trigger was deleted.
    fn job_unscheduled(&self, trigger: &TriggerKey) {}
    /// A trigger will not fire again.
    fn trigger_finalized(&self, trigger: &TriggerKey) {}
    /// A trigger was paused, by a call or since a run of it failed.
    fn trigger_paused(&self, trigger: &TriggerKey) {}
    /// The triggers of these groups were paused.
    fn triggers_paused(&self, groups: &GroupMatcher) {}
    /// A trigger was resumed.
    fn trigger_resumed(&self, trigger: &TriggerKey) {}
    /// The triggers of these groups were resumed.
    fn triggers_resumed(&self, groups: &GroupMatcher) {}
    /// A job was stored.
    fn job_added(&self, job: &JobDetail) {}
    /// A job was deleted.
    fn job_deleted(&self, job: &JobKey) {}
    /// The triggers of a job were paused.
    fn job_paused(&self, job: &JobKey) {}
    /// The triggers of the jobs of these groups were paused.
    fn jobs_paused(&self, groups: &GroupMatcher) {}
    /// The triggers of a job were resumed.
    fn job_resumed(&self, job: &JobKey) {}
    /// The triggers of the jobs of these groups were resumed.
    fn jobs_resumed(&self, groups: &GroupMatcher) {}
    /// Something went wrong that no caller could be told of.
    fn scheduler_error(&self, message: &str) {}
    /// This node does not fire for now.
    fn scheduler_in_standby_mode(&self) {}
    /// This node is about to start, or to resume after standby.
    fn scheduler_starting(&self) {}
    /// This node has checked in and fires.
    fn scheduler_started(&self) {}
    /// This node is about to end.
    #[doc(alias = "schedulerShuttingdown")]
    fn scheduler_shutting_down(&self) {}
    /// This node has ended.
    fn scheduler_shutdown(&self) {}
    /// All jobs and triggers were deleted.
    fn scheduling_data_cleared(&self) {}
    /// A run on this node makes no progress, and its policy says to tell of it.
    fn fire_stuck(&self, fire: &FireEvent<'_>, silence: Duration) {}
    /// A run on this node has made no progress for half the time after which its heartbeat ends.
    fn fire_silent(&self, fire: &FireEvent<'_>, silence: Duration) {}
    /// This node took over the work of a failed one, or of a fire that died.
    fn instance_recovered(&self, recovered: &Recovered) {}
    /// This node has set work aside until somebody has looked at it.
    fn work_parked(&self, parked: &[Parked]) {}
    /// This node was declared dead while it lived; so many of its fires are lost.
    fn ownership_lost(&self, lost_fires: usize) {}
    /// No node ran for a while; this one was the first after it. See `docs/cluster.md`.
    fn outage_ended(&self, outage: &Outage) {}
    /// This node drains a backlog from now on: the cluster is in recovery mode.
    fn recovery_started(&self) {}
    /// The backlog is drained, or somebody has ended the recovery mode: everything is as before on
    /// this node.
    fn recovery_ended(&self) {}
    /// An alarm was raised or cleared, by the thresholds `carnelian.alarm.*`; once each.
    fn alarm(&self, alarm: &Alarm) {}
    /// No living node can run these jobs. Told by the longest-serving node only: of a job that is
    /// due within the hour, once, and of all with each audit
    /// (`carnelian.jobStore.orphanAuditInterval`).
    fn orphaned_jobs(&self, orphans: &[Orphan]) {}
}
