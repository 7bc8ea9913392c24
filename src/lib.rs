//! Carnelian: a clustered job scheduler with the model and the tables of Quartz.
//!
//! A program that links this crate is a *node*. Nodes with the same tables and the same scheduler
//! name are a cluster: each due fire is started by one of them, and when a node dies, the others
//! notice and take over its work. There is no leader and no server beside the database. Jobs are
//! plain blocking functions on a pool of threads; the crate needs no async runtime.
//!
//! Jobs and triggers are stored in SQLite (built in), PostgreSQL, or MySQL and MariaDB, in the
//! tables of Quartz 2.x, so that a Java node may work on them at the same time. Without a database
//! everything is in memory and ends with the process.
//!
//! # A program
//!
//! ```
//! use carnelian::{JobContext, JobDetail, JobError, JobKey, Scheduler, SimpleSchedule, Trigger, TriggerKey};
//! use std::time::Duration;
//!
//! fn sweep(ctx: &mut JobContext) -> Result<(), JobError> {
//!     let path = ctx.data().text("path").unwrap_or("/tmp").to_owned();
//!     println!("{} sweeps {path}", ctx.fire_id());
//!     Ok(())
//! }
//!
//! # fn main() -> Result<(), carnelian::Error> {
//! let scheduler = Scheduler::builder().job_fn("sweep", sweep).build()?; // in memory
//! let job = JobDetail::builder(JobKey::new("disk", "hourly"), "sweep").data("path", "/var/tmp").build()?;
//! let trigger = Trigger::builder(TriggerKey::new("disk", "hourly"), job.key().clone())
//!     .schedule(SimpleSchedule::every(Duration::from_secs(3600)))
//!     .build()?;
//! scheduler.schedule_job(job, trigger)?;
//! scheduler.start()?;
//! // … the server's own work; a program without any calls `run_until_signal` instead …
//! scheduler.shutdown_and_wait();
//! # Ok(())
//! # }
//! ```
//!
//! A node of a cluster is told where its tables are: by [`SchedulerBuilder::database`], or by a
//! properties file in the spelling of `quartz.properties`, [`SchedulerBuilder::settings_file`]. The
//! tables are made by [`Scheduler::migrate`], or by `carnelian migrate`, the command line of the
//! feature `cli`.
//!
//! # Three nouns
//!
//! * A [`JobDetail`] says *what* runs: a key, a job type (the name under which a program registers
//!   code, with [`SchedulerBuilder::job_fn`] or [`SchedulerBuilder::job`]), its data, and a
//!   [`JobPolicy`] for runs that go wrong.
//! * A [`Trigger`] says *when*: a [`Schedule`], a start and an end, a priority, a
//!   [`MisfireInstruction`] for fires that are late. A job may have many triggers.
//! * A *fire* is one due moment of one trigger. [`JobContext`] is a fire as its job sees it; the
//!   history keeps how the fire ended.
//!
//! # Promises
//!
//! * A due fire is started by at most one node, or accounted for by its misfire instruction.
//! * A node that stops checking in is declared dead after its check-in interval and 7.5 s more.
//!   The interrupted fires run again on another node if their jobs ask for recovery
//!   ([`JobDetailBuilder::requests_recovery`]).
//! * A node that was declared dead while it lived can change nothing that belongs to another node
//!   by then, and its jobs can see that: [`JobContext::holds_fire`].
//! * The work of a node that dies happens at least once if its job asks for recovery, else at most
//!   once. With recovery it happens exactly once for a job that writes to the same database through
//!   [`JobContext::complete_in`].
//!
//! # Map
//!
//! | For | See |
//! | --- | --- |
//! | starting, stopping, scheduling, pausing, listing | [`Scheduler`], [`SchedulerBuilder`] |
//! | a clean end when a signal comes | [`Scheduler::run_until_signal`], [`StopSignals`] |
//! | schedules by intervals | [`SimpleSchedule`], [`CalendarIntervalSchedule`] |
//! | schedules by the clock | [`CronSchedule`], [`DailyTimeIntervalSchedule`] |
//! | schedules by a rule of iCalendar | [`RecurrenceSchedule`] |
//! | days and hours on which nothing fires | [`calendar`] |
//! | cron expressions by themselves | [`cron`] |
//! | keys, and the groups that the crate itself uses | [`key`] |
//! | priorities, options and states of triggers | [`trigger`] |
//! | retries, time limits, heartbeats | [`JobPolicy`], [`RetryPolicy`] |
//! | on which nodes jobs run, strategies, limits of groups | [`placement`] |
//! | runs of one job after another | [`Continuation`] |
//! | work under an id of the caller | [`Submission`] |
//! | jobs that programs define, files, changes of names | [`JobDefinition`], [`definitions`] |
//! | lists of triggers and jobs, in pages | [`listing`] |
//! | what happened | [`history`] |
//! | what happens | [`listener`] |
//! | fires of a past time | [`backfill`] |
//! | work that was interrupted or parked, outages | [`recovery`] |
//! | health, alarms, the nodes of the cluster | [`monitoring`], [`node`] |
//! | the web page for operators, health and metrics by HTTP | `dashboard` |
//! | pools and connections of the application | `database` |
//! | time and load, for tests with their own | [`clock`], [`machine`] |
//! | a cluster in one thread, for tests of jobs | `testing` |
//! | what one process at a time may do | [`Scheduler::try_lock`] |
//! | properties | [`settings`] |
//! | what can go wrong | [`Error`] |
//!
//! # Features
//!
//! `sqlite` (default), `postgres`, `mysql`: the databases. `signals` (default): a clean end at
//! SIGTERM and Ctrl-C. `java-streams` (default): job data and calendars as Java serialises them.
//! `job-files` (default): Quartz's XML. `quartz-plugins` (default): its plugins that log runs and
//! fires. `cli`: the command line. `metrics`: metrics through the facade of that name.
//! `dashboard`: the web page and the endpoint for health and metrics. `recurrence`: rules of
//! iCalendar. `test-util`: a manual clock and a simulated cluster for tests.
#![warn(clippy::disallowed_methods)]

mod alarm;
pub mod backfill;
pub mod calendar;
pub mod clock;
pub mod cron;
#[cfg(feature = "dashboard")]
pub mod dashboard;
mod data_map;
#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
pub mod database;
mod debug_fields;
pub mod definitions;
mod epoch;
mod error;
mod from;
mod guarded;
mod hash;
pub mod history;
#[cfg(feature = "java-streams")]
mod java;
mod java_text;
mod job;
#[cfg(feature = "job-files")]
pub mod job_file;
pub mod key;
pub mod listener;
pub mod listing;
mod local;
pub mod machine;
mod matcher;
mod meter;
pub mod monitoring;
pub mod node;
pub mod placement;
#[cfg(feature = "quartz-plugins")]
mod quartz_plugins;
mod random;
pub mod recovery;
// The forms in which the command line and the dashboard show things are public for the former, and
// carry no promise.
#[cfg(any(feature = "cli", feature = "dashboard"))]
#[doc(hidden)]
pub mod report;
mod rules;
mod scheduler;
mod setters;
pub mod settings;
mod signal;
mod span;
// The store, its rows and its faults are public for this project's tests and its command line, and
// carry no promise.
#[doc(hidden)]
pub mod store;
#[cfg(feature = "test-util")]
pub mod testing;
pub mod trigger;
mod words;
mod zone;

pub use calendar::Calendar;
pub use cron::CronExpression;
pub use data_map::{DataValue, ForeignValue, JobDataMap};
pub use error::{DatabaseError, Error, FailureClass, Result};
pub use job::{
    Continuation, JobDefinition, JobDetail, JobDetailBuilder, JobFilter, JobMarks, JobPolicy, On, OnChange, OnDead,
    Parent, RetryPolicy, StuckAction, SubmissionState,
};
pub use key::{JobKey, TriggerKey};
#[cfg(feature = "signals")]
pub use machine::StopSignals;
pub use matcher::{GroupMatcher, KeyMatcher};
pub use scheduler::{
    IfExists, Job, JobContext, JobError, JobType, LockGuard, Outcome, RunningJob, Scheduler, SchedulerBuilder,
    SchedulerMetadata, Shard, ShutdownReport, StopReason, Submission,
};
pub use store::{FiredTrigger, SubmittedWork, Taken, TriggerSummary};
pub use trigger::{
    CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, MisfireInstruction, Overlap,
    RecurrenceSchedule, Schedule, SimpleSchedule, Trigger, TriggerBuilder, TriggerState,
};

// The measured rules are public for this project's tests, and carry no promise.
#[cfg(feature = "test-util")]
#[doc(hidden)]
pub use rules::measured;

// Nodes without threads are public for this project's simulator, and carry no promise.
#[cfg(feature = "test-util")]
#[doc(hidden)]
pub use scheduler::stepped;

/// The programs of the README and of the pages compile and run.
///
/// An architecture test fails if a page with a program is missing here.
#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/choosing-a-policy.md")]
    struct ChoosingAPolicy;
    #[doc = include_str!("../docs/coming-from-quartz.md")]
    struct ComingFromQuartz;
    #[doc = include_str!("../docs/doing-it-once.md")]
    struct DoingItOnce;
    #[doc = include_str!("../docs/executions.md")]
    struct Executions;
    #[doc = include_str!("../docs/jobs.md")]
    struct Jobs;
    #[doc = include_str!("../docs/monitoring.md")]
    struct Monitoring;
    #[doc = include_str!("../docs/placement.md")]
    struct Placement;
}
