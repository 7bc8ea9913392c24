//! The rows of the tables as plain values: what a [`Session`](super::Session) reads and writes.

use crate::key::{JobKey, TriggerKey};
use crate::trigger::TriggerState;

/// A row of `JOB_DETAILS`.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    pub key: JobKey,
    pub description: Option<String>,
    pub job_type: String,
    pub durable: bool,
    pub nonconcurrent: bool,
    pub update_data: bool,
    pub requests_recovery: bool,
    pub data: Option<Vec<u8>>,
}

/// A row of `TRIGGERS` with its row in the table of its kind.
///
/// Times are epoch milliseconds; Quartz's sentinels for "none" are gone.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerRow {
    pub key: TriggerKey,
    pub job: JobKey,
    pub description: Option<String>,
    pub next_ms: Option<i64>,
    pub previous_ms: Option<i64>,
    pub priority: i32,
    /// The text of `TRIGGER_STATE`; kept as text since anybody may have written it.
    pub state: String,
    /// `TRIGGER_TYPE`.
    pub kind: String,
    pub start_ms: i64,
    pub end_ms: Option<i64>,
    pub calendar: Option<String>,
    pub misfire: i32,
    pub data: Option<Vec<u8>>,
    pub schedule: ScheduleRow,
}

/// What the table of a trigger's kind holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleRow {
    /// `SIMPLE_TRIGGERS`.
    Simple { repeat_count: i64, interval_ms: i64, times_triggered: i64 },
    /// `CRON_TRIGGERS`.
    Cron { expression: String, zone: Option<String> },
    /// The kind has no table we read, or its row is missing.
    Missing,
}

/// A trigger that may fire, with all that decides whether it does and all that its job will see.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub trigger: TriggerRow,
    pub job: JobRow,
    /// Whether a fire of the job is executing anywhere.
    pub job_is_executing: bool,
    /// Present if the trigger is a recovery trigger that one of our nodes made.
    pub recovery: Option<RecoveryRow>,
}

/// A row of `FIRED_TRIGGERS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredRow {
    /// `ENTRY_ID`: never used twice.
    pub fire_id: String,
    pub trigger: TriggerKey,
    pub instance: String,
    pub fired_ms: i64,
    pub scheduled_ms: i64,
    pub priority: i32,
    pub state: FiredState,
    /// None while acquired.
    pub job: Option<JobKey>,
    pub nonconcurrent: bool,
    pub requests_recovery: bool,
}

/// The states of a fired row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiredState {
    /// Reserved, not started.
    Acquired,
    /// Its job runs.
    Executing,
}

impl FiredState {
    /// The text in `STATE`.
    pub fn name(self) -> &'static str {
        match self {
            FiredState::Acquired => "ACQUIRED",
            FiredState::Executing => "EXECUTING",
        }
    }
}

/// A row of `SCHEDULER_STATE` with its row in `CN_INSTANCES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRow {
    pub name: String,
    pub last_checkin_ms: i64,
    pub checkin_interval_ms: i64,
    /// None for a node that is not ours: it has no side row.
    pub incarnation: Option<String>,
    /// Grows with each registration; the smallest is the longest-serving node. 0 for a node that is not ours.
    pub joined: i64,
}

/// A row of `CN_RECOVERIES`: where a recovery trigger comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryRow {
    /// The recovery trigger.
    pub trigger: TriggerKey,
    /// The fire that was interrupted; no two recovery triggers have the same.
    pub origin_fire_id: String,
    /// The first fire of the chain of recoveries.
    pub root_fire_id: String,
    /// The scheduled time of the first fire.
    pub original_scheduled_ms: i64,
    /// How many runs were interrupted before.
    pub attempt: i64,
}

/// What changes in a trigger's row when it fires, misfires or is resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    pub key: TriggerKey,
    /// The row must be in this state, or nothing is written.
    pub expected_state: TriggerState,
    /// The row must have this next fire time, or nothing is written: a trigger that somebody took and put back in
    /// between is not the one that was read.
    pub expected_next_ms: i64,
    pub state: TriggerState,
    pub next_ms: Option<i64>,
    pub previous_ms: Option<i64>,
    pub start_ms: i64,
    /// `(repeat_count, times_triggered)` of a simple trigger.
    pub simple: Option<(i64, i64)>,
}

/// What a search for due triggers asks for.
#[derive(Clone, Debug)]
pub struct DueQuery<'a> {
    /// Only triggers due up to here.
    pub no_later_than_ms: i64,
    /// Triggers due before this are the misfire handler's, unless they ignore misfires.
    pub misfired_before_ms: i64,
    /// Only jobs of these types.
    pub job_types: &'a [String],
    /// At most so many.
    pub limit: usize,
    /// Leaving out the first so many.
    pub offset: usize,
}

/// Which triggers a change of state is for.
#[derive(Clone, Copy, Debug)]
pub enum Selection<'a> {
    /// These triggers.
    Triggers(&'a [TriggerKey]),
    /// All triggers of these jobs.
    Jobs(&'a [JobKey]),
    /// All triggers of these groups.
    Groups(&'a [String]),
}

/// Everything that the invariants speak of, read in one transaction.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    pub jobs: Vec<JobRow>,
    pub triggers: Vec<TriggerRow>,
    pub fired: Vec<FiredRow>,
    pub instances: Vec<InstanceRow>,
    pub paused_groups: Vec<String>,
    pub recoveries: Vec<RecoveryRow>,
    pub locks: Vec<String>,
    /// Rows that could not be read: table, key, reason.
    pub unreadable: Vec<(String, String, String)>,
    /// Subtype rows without a trigger: table, key.
    pub stray_schedules: Vec<(String, String)>,
}
