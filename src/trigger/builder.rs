//! `TriggerBuilder`: a trigger that cannot be right does not build.

use super::{
    DEFAULT_PRIORITY, MisfireInstruction, Overlap, Policies, START_WHEN_STORED, Schedule, SimpleSchedule, Trigger,
};
use crate::data_map::{DataValue, JobDataMap};
use crate::epoch::{millis, moment};
use crate::error::{Error, Result};
use crate::key::{JobKey, TriggerKey};
use crate::setters::setters;
use chrono::{DateTime, Utc};
use std::time::Duration;

/// Builds a [`Trigger`]; made by [`Trigger::builder`].
///
/// ```
/// use carnelian::{CronSchedule, JobKey, Trigger, TriggerKey};
///
/// let trigger = Trigger::builder(TriggerKey::new("billing", "weekdays"), JobKey::new("billing", "nightly"))
///     .schedule(CronSchedule::new("0 30 2 ? * MON-FRI")?.in_zone(chrono_tz::Europe::Paris))
///     .priority(7)
///     .build()?;
/// assert_eq!(trigger.priority(), 7);
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TriggerBuilder {
    trigger: Trigger,
    starts_when_stored: bool,
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
}

impl TriggerBuilder {
    pub(crate) fn new(key: TriggerKey, job_key: JobKey) -> Self {
        Self {
            trigger: Trigger {
                key,
                job_key,
                description: None,
                calendar_name: None,
                data: JobDataMap::new(),
                priority: DEFAULT_PRIORITY,
                misfire: MisfireInstruction::Smart,
                start_ms: START_WHEN_STORED,
                end_ms: None,
                next_ms: None,
                previous_ms: None,
                schedule: Schedule::Simple(SimpleSchedule::once()),
                policies: Policies::default(),
            },
            starts_when_stored: true,
        }
    }

    /// A trigger like another, of which nothing has become yet.
    pub(crate) fn like(mut trigger: Trigger) -> Self {
        trigger.next_ms = None;
        trigger.previous_ms = None;
        if let Some(times) = trigger.schedule.times_triggered_mut() {
            *times = 0;
        }
        if trigger.schedule.is_fixed_delay() {
            trigger.policies.overlap = Overlap::AllowAll;
        }
        Self { starts_when_stored: trigger.start_ms == START_WHEN_STORED, trigger }
    }

    setters! {
        /// Another key than it was begun with.
        #[doc(alias = "withIdentity")]
        pub fn key(key: TriggerKey) { self.trigger.key = key }

        /// Another job than it was begun with.
        #[doc(alias = "forJob")]
        pub fn job(job: JobKey) { self.trigger.job_key = job }

        /// The schedule of the trigger, between start and end. Default: once, at the start.
        pub fn schedule(schedule: impl Into<Schedule>) { self.trigger.schedule = schedule.into() }
    }

    /// The first moment it may fire, after the beginning of 1970. Default: when it is stored, by
    /// the store's clock. A start that is longer ago than the misfire threshold (60 s by default)
    /// is a misfire: the fire waits for the next look of the misfire handler.
    pub fn start_at(mut self, start: DateTime<Utc>) -> Self {
        self.trigger.start_ms = start.timestamp_millis();
        self.starts_when_stored = false;
        self
    }

    setters! {
        /// The moment after which it does not fire. Default: none.
        ///
        /// At the moment itself a simple or calendar-interval trigger does not fire, but one with a
        /// cron expression or a recurrence rule does. A daily interval goes on until the end of
        /// that day, as in Quartz, unless
        /// [`respect_end_time`](crate::DailyTimeIntervalSchedule::respect_end_time) says otherwise.
        pub fn end_at(end: DateTime<Utc>) { self.trigger.end_ms = Some(end.timestamp_millis()) }

        /// Higher fires first among triggers of one moment. Default: 5.
        pub fn priority(priority: i32) { self.trigger.priority = priority }

        /// The misfire instruction: what happens when the trigger could not fire in time. Default:
        /// [`MisfireInstruction::Smart`].
        pub fn misfire(instruction: MisfireInstruction) { self.trigger.misfire = instruction }

        /// The policy for a fire that comes due while an earlier one of this trigger runs. Default:
        /// [`Overlap::AllowAll`], as in Quartz; the others are refused beside its nodes.
        pub fn overlap(policy: Overlap) { self.trigger.policies.overlap = policy }

        /// The largest lateness at which a fire is made up for. Older fires are left out, whatever
        /// the misfire instruction says; for younger ones the instruction decides. At least one
        /// second. Default: none, as in Quartz; refused beside its nodes.
        ///
        /// Fires that are left out are told as a misfire, and to
        /// [`TriggerListener::fires_skipped`](crate::listener::TriggerListener::fires_skipped).
        ///
        /// ```
        /// use carnelian::{CronSchedule, JobKey, MisfireInstruction, Trigger, TriggerKey};
        /// use std::time::Duration;
        ///
        /// // After an outage the reports of the last three hours are made, one each, and no older ones.
        /// let trigger = Trigger::builder(TriggerKey::named("hourly"), JobKey::named("report"))
        ///     .schedule(CronSchedule::new("0 0 * * * ?")?)
        ///     .misfire(MisfireInstruction::Ignore)
        ///     .catch_up_window(Duration::from_secs(3 * 3600))
        ///     .build()?;
        /// assert_eq!(trigger.policies(), ["catch-up=10800000"]);
        /// # Ok::<(), carnelian::Error>(())
        /// ```
        pub fn catch_up_window(window: Duration) { self.trigger.policies.catch_up_ms = Some(millis(window)) }

        /// Pauses the trigger when one of its runs fails, in the transaction that records the
        /// failure, until somebody resumes it. A run that was asked to stop has not failed, nor has
        /// one whose node died. Default: no, as in Quartz; refused beside its nodes.
        pub fn pause_on_failure(yes: bool) { self.trigger.policies.pause_on_failure = yes }

        /// The calendar whose excluded times it leaves out. Default: none.
        #[doc(alias = "modifiedByCalendar")]
        pub fn calendar(name: impl Into<String>) { self.trigger.calendar_name = Some(name.into()) }

        /// A note for people, at most 250 characters.
        pub fn description(text: impl Into<String>) { self.trigger.description = Some(text.into()) }
    }

    /// Adds one entry of data. All data together take at most 65,535 bytes as they are stored: keep
    /// a reference to what is larger.
    pub fn data(mut self, key: impl Into<String>, value: impl Into<DataValue>) -> Self {
        self.trigger.data.put(key, value);
        self
    }

    /// Replaces all data: at most 65,535 bytes as they are stored.
    pub fn data_map(mut self, data: JobDataMap) -> Self {
        self.trigger.data = data;
        self
    }

    /// The trigger.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a value that no table can hold or that makes
    /// no sense for the schedule, [`Error::NeverFires`](crate::Error::NeverFires) if it ends before
    /// it starts.
    pub fn build(self) -> Result<Trigger> {
        let mut trigger = self.trigger;
        if trigger.schedule.starts_with_the_second() && !self.starts_when_stored {
            // As Quartz cuts the start of a cron trigger.
            trigger.start_ms = trigger.start_ms.div_euclid(1000) * 1000;
        }
        // Quartz's tables have no earlier time: nodes read it as none, and the trigger never fires.
        // The times of a cron expression begin in 1970.
        let may_fire_before = !matches!(trigger.schedule, Schedule::Cron(_));
        if trigger.start_ms <= 0 && may_fire_before && !self.starts_when_stored {
            let expected = "expected a time after 1970-01-01T00:00:00Z: leave the start out to begin at once";
            return Err(Error::invalid("start of a trigger", moment(trigger.start_ms), expected));
        }
        if trigger.schedule.is_fixed_delay() && trigger.policies.overlap == Overlap::AllowAll {
            trigger.policies.overlap = Overlap::BufferOne;
        }
        trigger.check()?;
        Ok(trigger)
    }
}
