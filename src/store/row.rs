//! The rows of the tables as plain values: what a [`Session`](super::Session) reads and writes.

mod ahead;
mod calendar;
mod changes;
mod commit;
mod continuation;
mod counts;
mod definition;
mod executions;
mod fast_path;
mod history;
mod locks;
mod monitor;
mod node;
mod outages;
mod parked;
mod paused;
mod placement;
mod snapshot;
mod table;
mod types;
mod work;

pub use ahead::{AheadFire, AheadRow, BegunRow, GoneTrigger};
pub use calendar::{CalendarName, CalendarRow};
pub(in crate::store) use changes::LAST_COUNT;
pub use changes::{ClusterMembers, Notification, Notifications, PollResult};
pub use commit::CommitRow;
pub use continuation::ContinuationRow;
pub use counts::Counts;
pub use definition::{DefinedTriggerRow, DefinitionRow};
pub use executions::{CancelRow, HeartbeatRow, Progress};
pub use fast_path::FastPathWork;
pub use history::{EndRow, EndedFire, HistoryFilter, HistoryRow, LogRow, RunSample};
pub use locks::LockRow;
pub use monitor::LoadRow;
pub use node::{InstanceProcessRow, NodeRow};
pub use outages::{Outage, RecoveryModeRow};
pub use parked::{Parked, ParkedRow};
pub use paused::PausedGroupRow;
pub use placement::{BlacklistKind, BlacklistRow, Exclusions, GroupRuns, LimitRow, NodePlace, PlacementView};
pub use snapshot::{Snapshot, SnapshotPlace};
pub(in crate::store) use table::cells_of;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(in crate::store) use table::unreadable;
pub use table::{Cell, Codec, Column, Field, Kind, Table, TableDef, ToCells};
pub use types::{JobTypeRow, JobVersionRow, OrphanRow, TypeVersions, UnknownJobRow};
pub use work::{CheckpointRow, RequestRow};

use crate::key::{JobKey, TriggerKey};
use crate::trigger::TriggerOrder;
use crate::trigger::TriggerState;

/// Our side tables that are declared.
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub(in crate::store) const DECLARED: &[&TableDef] = &[
    AheadRow::DEF,
    HeartbeatRow::DEF,
    BegunRow::DEF,
    BlacklistRow::DEF,
    CheckpointRow::DEF,
    CommitRow::DEF,
    ContinuationRow::DEF,
    DefinedTriggerRow::DEF,
    DefinitionRow::DEF,
    InstanceProcessRow::DEF,
    JobTypeRow::DEF,
    JobVersionRow::DEF,
    LimitRow::DEF,
    LockRow::DEF,
    LogRow::DEF,
    NodeRow::DEF,
    OrphanRow::DEF,
    Outage::DEF,
    ParkedRow::DEF,
    RecoveryModeRow::DEF,
    RequestRow::DEF,
];

/// A row of `JOB_DETAILS`.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRow {
    /// Its key.
    pub key: JobKey,
    /// A note for people.
    pub description: Option<String>,
    /// `JOB_CLASS_NAME`.
    pub job_type: String,
    /// `IS_DURABLE`.
    pub durable: bool,
    /// `IS_NONCONCURRENT`.
    pub nonconcurrent: bool,
    /// `IS_UPDATE_DATA`.
    pub update_data: bool,
    /// `REQUESTS_RECOVERY`.
    pub requests_recovery: bool,
    /// `JOB_DATA`, in whichever form `useProperties` says.
    pub data: Option<Vec<u8>>,
    /// Its row in `CN_JOB_POLICIES`.
    pub policy: Option<String>,
    /// Its row in `CN_JOB_MARKS`; a candidate is read without.
    pub marks: Option<String>,
}

/// A row of `TRIGGERS` with its row in the table of its kind.
///
/// Times are epoch milliseconds; Quartz's sentinels for "none" are gone.
#[derive(Clone, Debug, PartialEq)]
pub struct TriggerRow {
    /// Its key.
    pub key: TriggerKey,
    /// Its job.
    pub job: JobKey,
    /// A note for people.
    pub description: Option<String>,
    /// `NEXT_FIRE_TIME`.
    pub next_ms: Option<i64>,
    /// `PREV_FIRE_TIME`.
    pub previous_ms: Option<i64>,
    /// `PRIORITY`: higher fires first.
    pub priority: i32,
    /// The text of `TRIGGER_STATE`; kept as text since anybody may have written it.
    pub state: String,
    /// `TRIGGER_TYPE`.
    pub kind: String,
    /// `START_TIME`.
    pub start_ms: i64,
    /// `END_TIME`.
    pub end_ms: Option<i64>,
    /// `CALENDAR_NAME`.
    pub calendar: Option<String>,
    /// `MISFIRE_INSTR`.
    pub misfire: i32,
    /// `JOB_DATA`, in whichever form `useProperties` says.
    pub data: Option<Vec<u8>>,
    /// The row of its kind.
    pub schedule: ScheduleRow,
    /// Its row in `CN_TRIGGER_OPTIONS`.
    pub options: Option<OptionsRow>,
}

/// A row of `CN_TRIGGER_OPTIONS`: what a trigger does otherwise than Quartz.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionsRow {
    /// The names of its options, with commas between.
    pub names: String,
    /// Whether a node of Quartz is a member of the cluster, so that they have no effect. Read only.
    pub beside_quartz: bool,
}

/// What the table of a trigger's kind holds.
#[derive(Clone, Debug, PartialEq)]
pub enum ScheduleRow {
    /// `SIMPLE_TRIGGERS`.
    Simple {
        /// `REPEAT_COUNT`; −1 is for ever.
        repeat_count: i64,
        /// `REPEAT_INTERVAL`.
        interval_ms: i64,
        /// `TIMES_TRIGGERED`.
        times_triggered: i64,
    },
    /// `CRON_TRIGGERS`.
    Cron {
        /// `CRON_EXPRESSION`.
        expression: String,
        /// `TIME_ZONE_ID`.
        zone: Option<String>,
    },
    /// `SIMPROP_TRIGGERS` of a calendar interval.
    CalendarInterval {
        /// `INT_PROP_1`.
        interval: i64,
        /// `STR_PROP_1`.
        unit: String,
        /// `STR_PROP_2`.
        zone: Option<String>,
        /// `BOOL_PROP_1`.
        preserve_hour: bool,
        /// `BOOL_PROP_2`.
        skip_day: bool,
        /// `INT_PROP_2`.
        times_triggered: i64,
    },
    /// `SIMPROP_TRIGGERS` of a daily time interval.
    DailyTimeInterval {
        /// `INT_PROP_1`.
        interval: i64,
        /// `STR_PROP_1`.
        unit: String,
        /// `LONG_PROP_1`; −1 is for ever.
        repeat_count: i64,
        /// `STR_PROP_2`: numbers of days of the week, 1 is Sunday.
        days: Option<String>,
        /// `STR_PROP_3`: hour, minute and second of the first and of the last time of the day.
        times_of_day: Option<String>,
        /// `INT_PROP_2`.
        times_triggered: i64,
    },
    /// `CN_RECURRENCES`; its misfire instruction is the trigger's.
    Recurrence {
        /// `RULE`: lines of iCalendar.
        rule: String,
        /// `TIME_ZONE_ID`.
        zone: String,
    },
    /// The kind has no table we read, or its row is missing.
    Missing,
}

/// A trigger that may fire, with all that decides whether it does and all that its job will see.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The trigger.
    pub trigger: TriggerRow,
    /// Its job.
    pub job: JobRow,
    /// Whether a fire of the job is executing anywhere.
    pub job_is_executing: bool,
    /// Whether a fire of the trigger, for this job, is executing anywhere; asked only of triggers
    /// with options.
    pub trigger_is_executing: bool,
    /// Whether other jobs follow its runs.
    pub job_is_followed: bool,
    /// Present if the trigger is a recovery trigger that one of our nodes made.
    pub recovery: Option<RecoveryRow>,
}

/// A row of `FIRED_TRIGGERS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredRow {
    /// `ENTRY_ID`: never used twice.
    pub fire_id: String,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The instance it belongs to.
    pub instance: String,
    /// `FIRED_TIME`.
    pub fired_ms: i64,
    /// `SCHED_TIME`.
    pub scheduled_ms: i64,
    /// `PRIORITY`: higher fires first.
    pub priority: i32,
    /// Its state.
    pub state: FiredState,
    /// None while acquired.
    pub job: Option<JobKey>,
    /// `IS_NONCONCURRENT`.
    pub nonconcurrent: bool,
    /// `REQUESTS_RECOVERY`.
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
    /// `INSTANCE_NAME`.
    pub name: String,
    /// `LAST_CHECKIN_TIME`.
    pub last_checkin_ms: i64,
    /// `CHECKIN_INTERVAL`.
    pub checkin_interval_ms: i64,
    /// None for a node that is not ours: it has no side row, or the side row is of one of ours
    /// whose name it has taken.
    pub incarnation: Option<String>,
    /// Grows with each registration; the smallest is the longest-serving node. 0 for a node that is
    /// not ours.
    pub joined: i64,
}

/// What is known of the process of an instance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessRow {
    /// The process as a text, of its row in `CN_PROCESSES`; none of a node of Quartz or of an older
    /// version.
    pub process: Option<String>,
    /// The host of its row in `CN_NODES`.
    pub host: Option<String>,
    /// The pid of that row.
    pub pid: Option<i64>,
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
    /// How many runs in a row have died with their nodes, and were taken over.
    pub takeovers: i64,
}

/// A job that is there, and its policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyRow {
    /// The job.
    pub job: JobKey,
    /// `JOB_CLASS_NAME`.
    pub job_type: String,
    /// Its row in `CN_JOB_POLICIES`.
    pub policy: Option<String>,
}

/// What changes in a trigger's row when it fires, misfires or is resumed.
#[derive(Clone, Debug, PartialEq)]
pub struct Advance {
    /// Its key.
    pub key: TriggerKey,
    /// The row must be in this state, or nothing is written.
    pub expected_state: TriggerState,
    /// The row must have this next fire time, or nothing is written: a trigger that somebody took
    /// and put back in between is not the one that was read.
    pub expected_next_ms: Option<i64>,
    /// Its state.
    pub state: TriggerState,
    /// `NEXT_FIRE_TIME`.
    pub next_ms: Option<i64>,
    /// `PREV_FIRE_TIME`.
    pub previous_ms: Option<i64>,
    /// `START_TIME`.
    pub start_ms: i64,
    /// The counts in the table of its kind.
    pub counts: Option<Counts>,
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
    /// Of the types that are not here, only jobs whose data are of the first version; of these, up
    /// to the one given.
    pub versions: &'a TypeVersions,
    /// What is left to others for now.
    pub excluded: &'a Exclusions,
    /// Only these triggers, if given.
    pub among: Option<&'a [TriggerKey]>,
    /// Which come first.
    pub order: TriggerOrder,
    /// The store's time: with [`TriggerOrder::PriorityThenTime`] what is not due yet comes after
    /// all that is.
    pub now_ms: i64,
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
