//! The life of a fire in the store: acquired, fired, completed or released.

mod acquire;
mod checkpoint;
mod choosing;
mod claim;
mod combined;
mod complete;
mod doubt;
mod fail;
mod fan_out;
mod fire;
mod fire_batch;
mod fire_ids;
mod following;
mod isolation;
mod overdue;
mod overlap;
mod prefetch;
mod release;
mod rerun;
mod unfire;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
mod within;

pub use checkpoint::MAX_CHECKPOINT_BYTES;
pub use doubt::Doubt;
pub use fail::FailedFire;
pub use rerun::{Rerun, RerunOrder, RerunReason};
pub use unfire::Unfired;

pub(in crate::store) use acquire::fenced;
pub(in crate::store) use overlap::EndedRuns;
pub(in crate::store) use prefetch::gone_rows;

use crate::calendar::Calendar;
use crate::data_map::JobDataMap;
use crate::job::{CapturedLine, FireOutcome, JobDetail};
use crate::key::{JobKey, RECOVERY_GROUP, TriggerKey};
use crate::store::row::Parked;
use crate::trigger::Trigger;
use std::sync::Arc;
use std::time::Duration;

/// The request of a node that has free workers.
#[derive(Clone, Debug)]
pub struct AcquireRequest<'a> {
    /// At most so many triggers: as many as there are free workers, and as may wait for one.
    pub max: usize,
    /// Which of them may wait for a worker; none if there is a free one for each.
    pub prefetch: Option<Prefetch<'a>>,
    /// The time ahead of which a trigger may be reserved.
    pub look_ahead_ms: i64,
    /// `batchTriggerAcquisitionFireAheadTimeWindow`: how much before its time a trigger may be
    /// fired with others.
    pub fire_ahead_ms: i64,
    /// The job types this node can run.
    pub job_types: &'a [String],
    /// Triggers this node leaves alone since it cannot read them, or their strategy had no answer.
    pub quarantined: &'a std::collections::BTreeSet<TriggerKey>,
}

/// The fires that a node may take beyond its free workers.
#[derive(Clone, Copy, Debug)]
pub struct Prefetch<'a> {
    /// Workers with nothing to do: for so many of the triggers, whatever their jobs.
    pub free: usize,
    /// Workers that have no job that may be long. Nothing waits if there are none.
    pub quick: usize,
    /// The job types whose recent runs on this node were short: only these are taken beyond the
    /// free workers.
    pub short: &'a std::collections::BTreeSet<String>,
}

/// The result of an acquisition.
#[derive(Debug, Default)]
pub struct Acquisition {
    /// The store's time at the acquisition, epoch milliseconds.
    pub now_ms: i64,
    /// Fires that have begun: run them.
    pub fired: Vec<FireBundle>,
    /// Triggers reserved until their time, earliest first: fire or release them.
    pub reserved: Vec<Reservation>,
    /// Triggers that could not be read, or for whose tick their strategy has no answer, with the
    /// reason: leave them alone and name them.
    pub unreadable: Vec<(TriggerKey, String)>,
    /// Ticks whose parts cannot be stored: they are set aside until somebody has looked at them.
    pub parked: Vec<Parked>,
    /// The earliest time of those that are fired when they are due, and not reserved before: a node
    /// of Quartz has reserved and lost them, or there is a limit for their group. Epoch
    /// milliseconds.
    pub unreserved_ms: Option<i64>,
    /// Times that were left out.
    pub skipped: Vec<SkippedFires>,
    /// Triggers of whose times some were older than their catch-up windows, as they were before.
    pub misfired: Vec<Trigger>,
    /// Triggers whose fire waits for the end of the runs before it.
    pub waiting: Vec<TriggerKey>,
    /// Executing fires that are to be asked to stop, on whichever node they are.
    pub cancelled: Vec<String>,
    /// A part of the acquisition failed: fires may have begun of which this does not tell. See
    /// [`JobStore::recover_forgotten`].
    ///
    /// [`JobStore::recover_forgotten`]: crate::store::JobStore::recover_forgotten
    pub is_in_doubt: bool,
    /// The rest that was taken, if the store says so as soon as it can be asked: see
    /// [`JobStore::settle_doubt`].
    ///
    /// [`JobStore::settle_doubt`]: crate::store::JobStore::settle_doubt
    pub doubt: Option<Box<Doubt>>,
    /// The number of due triggers that another node was faster to take. There may be more.
    pub overtaken: usize,
    /// The number of ticks that were fanned out over several nodes: there may be a part for this
    /// one.
    pub fanned_out: usize,
    /// The number of triggers that were left, since they are taken for free workers only.
    pub withheld: usize,
    /// Triggers that will not fire again, since their last times were left out.
    pub finalized: Vec<TriggerKey>,
}

/// Times of a trigger that passed without a fire.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkippedFires {
    /// The trigger.
    pub trigger: TriggerKey,
    /// The job.
    pub job: JobKey,
    /// The first of the times, epoch milliseconds.
    pub first_ms: i64,
    /// The number of times; at least so many beyond a thousand.
    pub times: u64,
    /// Why.
    pub reason: SkipReason,
}

/// Why times of a trigger passed without a fire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum SkipReason {
    /// An earlier fire was still running: its [`Overlap`](crate::Overlap).
    Overlap,
    /// The times were older than the trigger's [catch-up
    /// window](crate::TriggerBuilder::catch_up_window).
    CatchUp,
}

impl SkipReason {
    /// A word for a log line.
    pub fn name(self) -> &'static str {
        match self {
            SkipReason::Overlap => "overlap",
            SkipReason::CatchUp => "catch-up",
        }
    }
}

/// A trigger reserved for this node until its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The id of the fired row.
    pub fire_id: String,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The type of its job.
    pub job_type: String,
    /// When it is to fire, epoch milliseconds.
    pub scheduled_ms: i64,
    /// Whether it may be fired in the store shortly before its time, so that its job begins just
    /// then. Not where it depends on what runs at that time.
    pub may_precommit: bool,
}

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
    /// When it was fired.
    pub fired_ms: i64,
    /// The fire time before this one.
    pub previous_ms: Option<i64>,
    /// The trigger's row went with this fire: it was the last one and nobody needs the row.
    pub removed: bool,
    /// Whether it was taken before a worker was free for it, or before its time: it may begin once
    /// [`JobStore::note_begun`] has said so.
    ///
    /// [`JobStore::note_begun`]: crate::store::JobStore::note_begun
    pub prefetched: bool,
    /// Other jobs follow the runs of the job.
    pub followed: bool,
    /// Present if this runs the work of a failed instance again.
    pub recovering: Option<Recovering>,
    /// Present if this runs work again, for whatever reason.
    pub rerun: Option<Rerun>,
}

impl FireBundle {
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
            followed: self.followed,
            instruction,
            job_data,
            data_version: None,
            by_job: false,
            guarded: false,
            failed: false,
            revived: self.recovering.is_some() && self.trigger.key.group() != RECOVERY_GROUP,
            has_heartbeat: false,
            checkpoint: None,
            job_type: self.job.job_type.clone(),
            attempt: self.rerun.as_ref().map_or(0, |rerun| rerun.attempt),
            root_fire_id: self.rerun.as_ref().and_then(|rerun| rerun.root_fire_id.clone()),
            ending: Ending::default(),
            log: Vec::new(),
            rerun: None,
        }
    }
}

impl FireBundle {
    /// That the work of this fire goes on after `delay`.
    pub fn rerun_order(&self, reason: RerunReason, delay: Duration) -> RerunOrder {
        RerunOrder {
            reason,
            delay,
            data: self.trigger.data.clone(),
            priority: self.trigger.priority,
            scheduled_ms: self.scheduled_ms,
            original_scheduled_ms: self.rerun.as_ref().map_or(self.scheduled_ms, |rerun| rerun.scheduled_ms),
        }
    }
}

/// Where the work of a recovery trigger comes from.
#[doc(alias = "getRecoveringTriggerKey")]
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Recovering {
    /// The trigger whose fire was interrupted first.
    pub trigger: TriggerKey,
    /// When that fire was fired, epoch milliseconds; of one that was
    /// [revived](crate::OnDead::Revive) the time it stood for.
    pub fired_ms: i64,
    /// The time it stood for, epoch milliseconds.
    pub scheduled_ms: i64,
    /// The first fire of the chain; none if a Java node made the recovery trigger.
    pub root_fire_id: Option<String>,
    /// The number of runs that were interrupted before this one.
    pub attempt: i64,
}

/// The instruction for a fire's trigger when its job has ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CompletionInstruction {
    /// Nothing but what its schedule says; a trigger without a next fire time is deleted.
    #[default]
    NoInstruction,
    /// This trigger is complete.
    #[doc(alias = "unscheduleFiringTrigger")]
    SetTriggerComplete,
    /// This trigger is in error.
    SetTriggerError,
    /// Every trigger of the job is complete.
    #[doc(alias = "unscheduleAllTriggers")]
    SetAllJobTriggersComplete,
    /// Every trigger of the job is in error.
    SetAllJobTriggersError,
}

/// The end of one fire.
#[derive(Clone, Debug)]
pub struct Completion {
    /// The fire.
    pub fire_id: String,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The job.
    pub job: JobKey,
    /// The job disallows concurrent execution.
    pub nonconcurrent: bool,
    /// The job stays when its last trigger goes.
    pub durable: bool,
    /// The trigger had no fire time left after this fire.
    pub last: bool,
    /// The trigger's row went with the fire.
    pub removed: bool,
    /// Other jobs follow the runs of the job.
    pub followed: bool,
    /// The instruction for the trigger.
    pub instruction: CompletionInstruction,
    /// The job's data to store, if it persists its data and changed it.
    pub job_data: Option<JobDataMap>,
    /// The version of that data, if they were upgraded for this fire.
    pub data_version: Option<u32>,
    /// The job has recorded its end in a transaction of its own, so that its fired row is expected
    /// to be gone.
    pub by_job: bool,
    /// The job may hold the row of its fire in a transaction of its own that is still open.
    pub guarded: bool,
    /// The run failed, so that a trigger that pauses on failure is paused.
    pub failed: bool,
    /// Whether its trigger was made due again after a fire that died.
    pub revived: bool,
    /// The fire was kept alive by heartbeats.
    pub has_heartbeat: bool,
    /// The first fire of its chain, if there is a checkpoint under it that goes with the end of the
    /// work.
    pub checkpoint: Option<String>,
    /// The type of the job.
    pub job_type: String,
    /// The number of runs of the same work before this one.
    pub attempt: i64,
    /// The first fire of its chain; none if it is that.
    pub root_fire_id: Option<String>,
    /// The end of its job, for the history.
    pub ending: Ending,
    /// The lines that it has logged, as far as it is kept.
    pub log: Vec<CapturedLine>,
    /// Whether its work goes on in another fire.
    pub rerun: Option<RerunOrder>,
}

impl Completion {
    /// The number of bytes that the job has left to be written.
    pub(crate) fn words(&self) -> usize {
        self.ending.result.as_ref().map_or(0, String::len)
    }
}

/// The end of the job of a fire.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Well, badly, or told to stop.
    pub outcome: FireOutcome,
    /// The words of the job when it failed, or its panic.
    pub error: Option<String>,
    /// The result that the job left.
    pub result: Option<String>,
    /// The duration of the run.
    pub run_time: Option<Duration>,
    /// When it ended, in ticks of the store's clock; none for when the completion is recorded.
    pub at: Option<Duration>,
}

/// The report on the ends of fires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompletionReport {
    /// The outcome of each completion, in their order.
    pub outcomes: Vec<CompletionOutcome>,
    /// Triggers that were paused since a run of theirs failed.
    pub paused: Vec<TriggerKey>,
    /// Times that came due while a fire ran that has ended now, and are left out.
    pub skipped: Vec<SkippedFires>,
    /// Triggers whose fire has waited and may begin now.
    pub let_go: Vec<TriggerKey>,
    /// Triggers of jobs that follow these runs; they are due.
    pub following: Vec<TriggerKey>,
    /// Triggers that will not fire again, since their last times were left out.
    pub finalized: Vec<TriggerKey>,
}

/// The outcome of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompletionOutcome {
    /// The end is recorded.
    Recorded,
    /// The fire belonged to another node by then: nothing of it was written.
    Fenced,
    /// A transaction of the job's holds the fire: nothing of its end was written yet, and trying
    /// again is right.
    Held,
}
