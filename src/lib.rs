//! Carnelian: a clustered job scheduler with the model and the tables of Quartz.

mod alarm;
pub mod calendar;
pub mod clock;
pub mod cron;
mod data_map;
mod error;
mod guarded;
mod hash;
#[cfg(feature = "java-streams")]
mod java;
mod java_text;
mod job;
#[cfg(feature = "job-files")]
pub mod job_file;
mod key;
mod listener;
mod local;
pub mod machine;
mod matcher;
mod meter;
mod node;
#[cfg(feature = "quartz-plugins")]
mod quartz_plugins;
mod rules;
mod scheduler;
pub mod settings;
mod signal;
pub mod store;
mod trigger;
mod zone;

pub use alarm::{Alarm, AlarmJob, AlarmKind};
pub use calendar::Calendar;
pub use cron::{CronExpression, CronParseError};
pub use data_map::{DataValue, ForeignValue, JobDataMap};
pub use error::{DatabaseError, Error, FailureClass, Result};
pub use job::{
    Continuation, EligibleNode, EveryNode, ExecutionStrategy, FireOutcome, JobDefinition, JobDetail, JobDetailBuilder,
    JobFilter, JobMarks, JobPolicy, LabelRule, LogLine, NodePart, On, OnChange, OnDead, Parent, Placement, RetryPolicy,
    Strategy, StrategyError, StuckAction, Tick,
};
pub use key::{
    BROADCAST_GROUP, CONTINUED_GROUP, DEFAULT_GROUP, FOLLOWING_GROUP, INTERRUPTED_GROUP, JobKey, MAX_NAME_CHARS,
    RECOVERY_GROUP, RETRY_GROUP, TriggerKey,
};
pub use listener::{FireEnd, FireEvent, FireValues, JobListener, ListenerManager, SchedulerListener, TriggerListener};
pub use matcher::{GroupMatcher, KeyMatcher};
pub use node::{Labels, LabelsError, MachineLoad, NodeActivity, NodeInfo, NodeReport, NodeRole};
#[cfg(feature = "test-util")]
#[doc(hidden)]
pub use rules::measured;
pub use scheduler::{
    CaptureLog, CounterValues, Executor, Health, Job, JobContext, JobError, JobType, LockGuard, Outcome, RunningJob,
    SUBMITTED_GROUP, Scheduler, SchedulerBuilder, SchedulerMetadata, SchedulerStatus, ServiceHealth, ServiceState,
    Shard, ShutdownReport, StopReason, StopStep, Submission,
};

pub use signal::{Signal, Woken};
pub use store::row::{HistoryRow, Parked};
pub use store::{
    BACKFILL_GROUP, Backfill, Backfilled, BackfilledFire, HistoryPruning, HistoryQuery, HistorySummary, Outage, Rerun,
    RerunReason, RunRecord, SkipReason, SkippedFires, SummaryRow,
};
pub use trigger::{
    CalendarIntervalSchedule, CronSchedule, DEFAULT_PRIORITY, DailyTimeIntervalSchedule, IntervalUnit,
    MisfireInstruction, Overlap, RecurrenceSchedule, Schedule, SimpleSchedule, Transition, Trigger, TriggerBuilder,
    TriggerOption, TriggerState,
};

/// The README's program compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
