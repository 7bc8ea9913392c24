//! Triggers: when a job is to run.

mod builder;
mod calendar_interval;
mod cron;
mod daily_time_interval;
mod daily_times;
mod fire_times;
mod interval_unit;
mod misfire;
mod option;
mod order;
mod policy;
mod recurrence;
mod schedule;
mod simple;
mod state;
mod times;
mod without_drift;

pub use builder::TriggerBuilder;
pub use calendar_interval::CalendarIntervalSchedule;
pub use cron::CronSchedule;
pub use daily_time_interval::DailyTimeIntervalSchedule;
pub use interval_unit::IntervalUnit;
pub use misfire::MisfireInstruction;
pub use option::TriggerOption;
pub use order::TriggerOrder;
pub use policy::Overlap;
pub use recurrence::RecurrenceSchedule;
pub use schedule::Schedule;
pub use simple::SimpleSchedule;
pub use state::{Transition, TriggerState};

pub(crate) use policy::Policies;
pub(crate) use simple::FOREVER;

use crate::data_map::JobDataMap;
use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::key::{JobKey, TriggerKey, check_name, check_text};
use chrono::{DateTime, Utc};
use std::time::Duration;

/// The priority of a trigger that was given none; higher fires first among triggers of one moment.
pub const DEFAULT_PRIORITY: i32 = 5;

/// The start of a trigger that was given none, until the store gives it the present moment.
pub(crate) const START_WHEN_STORED: i64 = i64::MIN;

/// A trigger: a schedule for a job between a start and an end, and its progress so far.
///
/// Made by [`Trigger::builder`]. Times are kept in whole milliseconds, as the tables keep them.
#[doc(alias = "org.quartz.Trigger")]
#[derive(Clone, Debug, PartialEq)]
pub struct Trigger {
    pub(crate) key: TriggerKey,
    pub(crate) job_key: JobKey,
    pub(crate) description: Option<String>,
    pub(crate) calendar_name: Option<String>,
    pub(crate) data: JobDataMap,
    pub(crate) priority: i32,
    pub(crate) misfire: MisfireInstruction,
    pub(crate) start_ms: i64,
    pub(crate) end_ms: Option<i64>,
    pub(crate) next_ms: Option<i64>,
    pub(crate) previous_ms: Option<i64>,
    pub(crate) schedule: Schedule,
    pub(crate) policies: Policies,
}

impl Trigger {
    /// The key of the trigger.
    pub fn key(&self) -> &TriggerKey {
        &self.key
    }

    /// The job it runs.
    pub fn job_key(&self) -> &JobKey {
        &self.job_key
    }

    /// A note for people.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// The calendar whose excluded times it leaves out.
    pub fn calendar_name(&self) -> Option<&str> {
        self.calendar_name.as_deref()
    }

    /// The data of the trigger, laid over the job's when it fires.
    pub fn data(&self) -> &JobDataMap {
        &self.data
    }

    /// Higher fires first among triggers of one moment. Default: [`DEFAULT_PRIORITY`].
    pub fn priority(&self) -> i32 {
        self.priority
    }

    /// The treatment of fires that could not happen in time. Default: the smart policy.
    pub fn misfire_instruction(&self) -> MisfireInstruction {
        self.misfire
    }

    /// The first moment it may fire.
    pub fn start_time(&self) -> DateTime<Utc> {
        moment(self.start_ms)
    }

    /// The moment after which it does not fire.
    pub fn end_time(&self) -> Option<DateTime<Utc>> {
        self.end_ms.map(moment)
    }

    /// The next fire time; none if the trigger is finished or was never stored.
    pub fn next_fire_time(&self) -> Option<DateTime<Utc>> {
        self.next_ms.map(moment)
    }

    /// The last fire time.
    pub fn previous_fire_time(&self) -> Option<DateTime<Utc>> {
        self.previous_ms.map(moment)
    }

    /// The schedule of the trigger.
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The policy for a fire that comes due while an earlier one runs. Default:
    /// [`Overlap::AllowAll`].
    pub fn overlap(&self) -> Overlap {
        self.policies.overlap
    }

    /// The largest lateness at which a fire is made up for; none if the misfire instruction alone
    /// decides.
    pub fn catch_up_window(&self) -> Option<Duration> {
        self.policies.catch_up_ms.map(|ms| Duration::from_millis(ms.unsigned_abs()))
    }

    /// True if the trigger is paused when one of its runs fails.
    pub fn pauses_on_failure(&self) -> bool {
        self.policies.pause_on_failure
    }

    /// The policies as the side table has them, such as `overlap-skip`, `catch-up=60000`,
    /// `pause-on-failure`; none for a trigger that does as Quartz does.
    pub fn policies(&self) -> Vec<String> {
        self.policies.words()
    }

    /// True if the trigger has a fire time left.
    #[doc(alias = "mayFireAgain")]
    pub fn may_fire_again(&self) -> bool {
        self.next_ms.is_some()
    }

    /// Checks every field that can be checked without the store.
    pub(crate) fn check(&self) -> Result<()> {
        self.key.check()?;
        self.job_key.check()?;
        if let Some(text) = &self.description {
            check_text("trigger description", text, 250)?;
        }
        if let Some(name) = &self.calendar_name {
            check_name("calendar name", name)?;
        }
        if self.end_ms.is_some_and(|end| end < self.start_ms) {
            return Err(Error::NeverFires {
                trigger: self.key.to_string(),
                reason: format!("it ends {} but starts {}", show(self.end_ms), show(Some(self.start_ms))),
            });
        }
        self.schedule.check()?;
        self.policies.check()?;
        if self.schedule.is_fixed_delay() && self.policies.overlap != Overlap::BufferOne {
            let expected =
                "expected buffer-one, or none: a schedule with a fixed delay has no fire while a run goes on";
            return Err(Error::invalid("overlap", self.policies.overlap.name(), expected));
        }
        self.misfire.check_for(&self.schedule)
    }
}

/// A time for a message.
pub(crate) fn show(ms: Option<i64>) -> String {
    match ms {
        Some(ms) => moment(ms).format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        None => "never".to_owned(),
    }
}
