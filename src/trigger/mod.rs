//! Triggers: when a job is to run.

mod builder;
mod calendar_interval;
mod cron;
mod daily_time_interval;
mod daily_times;
mod interval_unit;
mod misfire;
mod option;
mod order;
mod policy;
mod recurrence;
mod simple;
mod state;
mod times;
mod without_drift;

pub(crate) use builder::START_WHEN_STORED;
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
pub use simple::SimpleSchedule;
pub use state::{Transition, TriggerState};

pub(crate) use policy::Policies;
pub(crate) use simple::FOREVER;

use crate::data_map::JobDataMap;
use crate::error::{Error, Result};
use crate::key::{JobKey, TriggerKey, check_name, check_text};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;

/// The priority of a trigger that was given none; higher fires first among triggers of one moment.
pub const DEFAULT_PRIORITY: i32 = 5;

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

/// The kinds of schedule, each with what it needs to compute its times.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Schedule {
    /// Once, or again and again after a fixed interval.
    Simple(SimpleSchedule),
    /// By a cron expression in a time zone.
    Cron(CronSchedule),
    /// After a number of units of the calendar.
    CalendarInterval(CalendarIntervalSchedule),
    /// Every so often between two times of day.
    DailyTimeInterval(DailyTimeIntervalSchedule),
    /// By a recurrence rule of iCalendar; not a kind of Quartz.
    Recurrence(RecurrenceSchedule),
}

impl Schedule {
    /// Every value of `TRIGGER_TYPE` that there is a schedule for.
    pub const KINDS: [&'static str; 5] = ["SIMPLE", "CRON", "CAL_INT", "DAILY_I", "RRULE"];

    /// The value of `TRIGGER_TYPE`.
    pub fn kind(&self) -> &'static str {
        match self {
            Schedule::Simple(_) => "SIMPLE",
            Schedule::Cron(_) => "CRON",
            Schedule::CalendarInterval(_) => "CAL_INT",
            Schedule::DailyTimeInterval(_) => "DAILY_I",
            Schedule::Recurrence(_) => "RRULE",
        }
    }

    /// Reads a schedule that has no zone of its own by this one.
    pub(crate) fn set_default_zone(&mut self, zone: Tz) {
        if let Schedule::DailyTimeInterval(daily) = self {
            daily.default_zone = zone;
        }
    }

    /// True if the schedule begins with whole seconds, as clocks show them: its start is cut.
    pub(crate) fn starts_with_the_second(&self) -> bool {
        matches!(self, Schedule::Cron(_) | Schedule::Recurrence(_))
    }

    /// The number of fires so far; cron schedules and recurrences do not count.
    pub(crate) fn times_triggered(&self) -> Option<i64> {
        match self {
            Schedule::Simple(simple) => Some(simple.times_triggered),
            Schedule::Cron(_) | Schedule::Recurrence(_) => None,
            Schedule::CalendarInterval(interval) => Some(interval.times_triggered),
            Schedule::DailyTimeInterval(daily) => Some(daily.times_triggered),
        }
    }

    /// The number of fires so far, to be changed.
    pub(crate) fn times_triggered_mut(&mut self) -> Option<&mut i64> {
        match self {
            Schedule::Simple(simple) => Some(&mut simple.times_triggered),
            Schedule::Cron(_) | Schedule::Recurrence(_) => None,
            Schedule::CalendarInterval(interval) => Some(&mut interval.times_triggered),
            Schedule::DailyTimeInterval(daily) => Some(&mut daily.times_triggered),
        }
    }
}

impl From<SimpleSchedule> for Schedule {
    fn from(schedule: SimpleSchedule) -> Self {
        Schedule::Simple(schedule)
    }
}

impl From<CronSchedule> for Schedule {
    fn from(schedule: CronSchedule) -> Self {
        Schedule::Cron(schedule)
    }
}

impl From<CalendarIntervalSchedule> for Schedule {
    fn from(schedule: CalendarIntervalSchedule) -> Self {
        Schedule::CalendarInterval(schedule)
    }
}

impl From<DailyTimeIntervalSchedule> for Schedule {
    fn from(schedule: DailyTimeIntervalSchedule) -> Self {
        Schedule::DailyTimeInterval(schedule)
    }
}

impl From<RecurrenceSchedule> for Schedule {
    fn from(schedule: RecurrenceSchedule) -> Self {
        Schedule::Recurrence(schedule)
    }
}

impl Trigger {
    /// Begins a trigger of the given key for a job.
    pub fn builder(key: TriggerKey, job: JobKey) -> TriggerBuilder {
        TriggerBuilder::new(key, job)
    }

    /// Begins a trigger like this one that has not fired yet: same key, job, times, schedule, data
    /// and the rest.
    ///
    /// For [`Scheduler::reschedule`](crate::Scheduler::reschedule) with one thing changed. The
    /// start is kept, as in Quartz: a simple schedule with a start that is long gone begins with a
    /// misfire.
    ///
    /// ```
    /// # use carnelian::{CronSchedule, JobKey, Trigger, TriggerKey};
    /// # let stored = Trigger::builder(TriggerKey::new("billing", "weekdays"), JobKey::new("billing", "nightly")).build()?;
    /// let later = stored.to_builder().schedule(CronSchedule::new("0 30 5 ? * MON-FRI")?).build()?;
    /// assert_eq!(later.key(), stored.key());
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    #[doc(alias = "getTriggerBuilder")]
    pub fn to_builder(&self) -> TriggerBuilder {
        TriggerBuilder::like(self.clone())
    }

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
        match &self.schedule {
            Schedule::Simple(simple) => simple.check()?,
            Schedule::Cron(cron) => cron.check()?,
            Schedule::CalendarInterval(interval) => interval.check()?,
            Schedule::DailyTimeInterval(daily) => daily.check()?,
            Schedule::Recurrence(recurrence) => recurrence.check()?,
        }
        self.policies.check()?;
        self.misfire.check_for(&self.schedule)
    }
}

/// The moment of an epoch millisecond; the far ends of time for values beyond what a calendar can
/// show.
pub(crate) fn moment(ms: i64) -> DateTime<Utc> {
    DateTime::from_timestamp_millis(ms).unwrap_or(if ms < 0 {
        DateTime::<Utc>::MIN_UTC
    } else {
        DateTime::<Utc>::MAX_UTC
    })
}

/// A time for a message.
pub(crate) fn show(ms: Option<i64>) -> String {
    match ms {
        Some(ms) => moment(ms).format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string(),
        None => "never".to_owned(),
    }
}
