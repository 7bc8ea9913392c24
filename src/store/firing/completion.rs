//! `Completion`: the end of a fire, and the report of what was made of it.

use super::rerun::RerunOrder;
use super::skipped::SkippedFires;
use crate::data_map::JobDataMap;
use crate::job::{CapturedLine, FireOutcome, RunMarks};
use crate::key::{JobKey, TriggerKey};
use crate::rules::strategy::PartId;
use std::sync::Arc;
use std::time::Duration;

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
    /// A later fire of a trigger of this key may have come due and wait for the end, as far as the
    /// policy of the trigger tells that has fired. An audit finds what another policy made wait.
    pub may_be_waited_for: bool,
    /// Other jobs follow the runs of the job.
    pub followed: bool,
    /// The part of a tick that the work is.
    pub part: Option<PartId>,
    /// The instruction for the trigger.
    pub instruction: CompletionInstruction,
    /// The job's data to store, if it persists its data and changed it.
    pub job_data: Option<JobDataMap>,
    /// The version of that data, if they were upgraded for this fire.
    pub data_version: Option<u32>,
    /// The job has recorded its end in a transaction of its own, so that its fired row is expected
    /// to be gone.
    pub by_job: bool,
    /// The job may hold the row of its fire in a transaction of its own that is still open; or the
    /// node may have been declared dead while somebody held that row.
    pub guarded: bool,
    /// The run failed, so that a trigger that pauses on failure is paused.
    pub failed: bool,
    /// The trigger was made due again after a fire that died.
    pub revived: bool,
    /// The fire was kept alive by heartbeats.
    pub has_heartbeat: bool,
    /// The run was asked to stop by an order in the database, as far as its node knows.
    pub has_stop_order: bool,
    /// The first fire of its chain, if there is a checkpoint under it that goes with the end of the
    /// work.
    pub checkpoint: Option<String>,
    /// The type of the job.
    pub job_type: Arc<str>,
    /// The number of runs of the same work before this one.
    pub attempt: i64,
    /// The first fire of its chain; none if it is that.
    pub root_fire_id: Option<String>,
    /// The marks of its job and its trace, for the history.
    pub marks: RunMarks,
    /// The trace context of the run.
    pub traceparent: Option<String>,
    /// The node, if its job runs on several: each has a last run.
    pub spread_on: Option<String>,
    /// The end of its job, for the history.
    pub ending: Ending,
    /// The lines that it has logged, as far as it is kept.
    pub log: Vec<CapturedLine>,
    /// The order to go on with the work in another fire, if it goes on.
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
    /// The end of the run, in ticks of the store's clock; none for the time of the recording.
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

/// The ends that had this outcome.
pub(super) fn of_outcome(
    ends: &[Completion],
    outcomes: &[CompletionOutcome],
    wanted: CompletionOutcome,
) -> Vec<Completion> {
    ends.iter().zip(outcomes).filter(|(_, outcome)| **outcome == wanted).map(|(end, _)| end.clone()).collect()
}
