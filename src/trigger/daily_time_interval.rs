//! `DailyTimeIntervalSchedule`: every so often between two times of day, on some days of the week.

use super::{FOREVER, IntervalUnit};
use crate::error::{Error, Result};
use crate::local;
use crate::setters::setters;
use chrono::{NaiveTime, Timelike, Weekday, WeekdaySet};
use chrono_tz::Tz;

/// Fires on some days of the week: at a time of day, and then every interval until another.
///
/// A daily time interval has no zone of its own, since Quartz stores none: it is read by the
/// scheduler's default zone (`carnelian.scheduler.timeZone`), as a virtual machine of Java reads it
/// by its own.
///
/// ```
/// use carnelian::{DailyTimeIntervalSchedule, IntervalUnit, JobKey, Trigger, TriggerKey};
/// use chrono::{DateTime, NaiveTime, Utc};
///
/// let at = |hour| NaiveTime::from_hms_opt(hour, 0, 0).ok_or("a time of day");
/// let start: DateTime<Utc> = "2026-03-06T12:00:00Z".parse()?; // a Friday
/// let trigger = Trigger::builder(TriggerKey::named("office-hours"), JobKey::named("poll"))
///     .schedule(
///         DailyTimeIntervalSchedule::every(4, IntervalUnit::Hour)
///             .on_monday_through_friday()
///             .starting_daily_at(at(9)?)
///             .ending_daily_at(at(17)?),
///     )
///     .start_at(start)
///     .build()?;
/// let times: Vec<_> = trigger.upcoming(None, start).map(|time| time.format("%a %H:%M").to_string()).take(4).collect();
/// assert_eq!(times, ["Fri 13:00", "Fri 17:00", "Mon 09:00", "Mon 13:00"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "org.quartz.DailyTimeIntervalTrigger")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DailyTimeIntervalSchedule {
    pub(crate) interval: i64,
    pub(crate) unit: IntervalUnit,
    /// The number of fires after the first, over the trigger's whole life; −1 means for ever.
    pub(crate) repeat_count: i64,
    pub(crate) days: WeekdaySet,
    pub(crate) from: NaiveTime,
    /// None only for a trigger that was given no end of day at all.
    pub(crate) to: Option<NaiveTime>,
    pub(crate) times_triggered: i64,
    pub(crate) respect_end: bool,
    pub(crate) default_zone: Tz,
}

impl DailyTimeIntervalSchedule {
    /// The end of the day of a trigger that names no other, as in Quartz's builder.
    pub(crate) const LAST_SECOND: NaiveTime = match NaiveTime::from_hms_opt(23, 59, 59) {
        Some(time) => time,
        None => NaiveTime::MIN,
    };

    /// Every `interval` seconds, minutes or hours on all days, from midnight to the last second of
    /// the day, for ever.
    #[doc(alias = "withInterval")]
    pub fn every(interval: u32, unit: IntervalUnit) -> Self {
        Self {
            interval: i64::from(interval),
            unit,
            repeat_count: FOREVER,
            days: WeekdaySet::ALL,
            from: NaiveTime::MIN,
            to: Some(Self::LAST_SECOND),
            times_triggered: 0,
            respect_end: false,
            default_zone: Tz::UTC,
        }
    }

    /// Fires on these days of the week only. Default: on all.
    #[doc(alias = "onDaysOfTheWeek")]
    pub fn on_days(mut self, days: impl IntoIterator<Item = Weekday>) -> Self {
        self.days = days.into_iter().fold(WeekdaySet::EMPTY, |days, day| days.union(WeekdaySet::single(day)));
        self
    }

    /// Fires on Mondays to Fridays only.
    pub fn on_monday_through_friday(self) -> Self {
        self.on_days([Weekday::Mon, Weekday::Tue, Weekday::Wed, Weekday::Thu, Weekday::Fri])
    }

    /// Fires on Saturdays and Sundays only.
    pub fn on_saturday_and_sunday(self) -> Self {
        self.on_days([Weekday::Sat, Weekday::Sun])
    }

    setters! {
        /// The first time of each day, from which the intervals are counted. Default: midnight.
        pub fn starting_daily_at(time: NaiveTime) { self.from = time }

        /// The last time of each day, itself included. Default: 23:59:59.
        pub fn ending_daily_at(time: NaiveTime) { self.to = Some(time) }
    }

    /// Ends each day with its `count`th fire; to be called after interval and first time of day are
    /// set.
    ///
    /// The number only sets the last time of day. (Quartz's builder takes an hour for 24 minutes
    /// here.)
    ///
    /// # Errors
    /// [`Error::Invalid`] if the day is over before.
    pub fn ending_daily_after_count(mut self, count: u32) -> Result<Self> {
        let last = self.span_ms().and_then(|span| {
            let span = span.checked_mul(i64::from(count).checked_sub(1)?)?;
            span.checked_add(of_day(self.from)).filter(|last| (of_day(self.from)..local::DAY).contains(last))
        });
        let last = last
            .and_then(|ms| NaiveTime::from_num_seconds_from_midnight_opt(u32::try_from(ms / local::SECOND).ok()?, 0));
        let Some(last) = last else {
            let expected = format!("as many as fit between {} and midnight, at least 1", self.from);
            return Err(Error::invalid("fires a day", count, expected));
        };
        self.to = Some(last);
        Ok(self)
    }

    /// No last time of day, as a trigger of Quartz has it that was made without its builder. Stored
    /// and read again it is 23:59:59; until then it differs in
    /// [`final_fire_time`](super::Trigger::final_fire_time) only.
    pub fn without_end_of_day(mut self) -> Self {
        self.to = None;
        self
    }

    setters! {
        /// Repeats only `count` times after the first fire, over its whole life: `count + 1` fires
        /// in all. Default: for ever.
        #[doc(alias = "withRepeatCount")]
        pub fn repeat(count: u32) { self.repeat_count = i64::from(count) }

        /// Keeps the trigger from firing after its end time. Default: no, as in Quartz, which looks
        /// at the end only when a day begins, and so goes on until the end of the last day. A
        /// [`TriggerOption`](super::TriggerOption).
        ///
        /// Fires that were missed before the end and are noticed after it are not made up for,
        /// whatever the misfire instruction says.
        pub fn respect_end_time(yes: bool) { self.respect_end = yes }

        /// The zone of its days and times of day. Default: UTC.
        ///
        /// The zone is not stored: a scheduler reads the trigger by its own default zone, whatever
        /// is set here.
        pub fn with_default_zone(zone: Tz) { self.default_zone = zone }
    }

    /// The number of units between fires.
    pub fn interval(&self) -> u32 {
        u32::try_from(self.interval).unwrap_or(0)
    }

    /// The unit: seconds, minutes or hours.
    pub fn unit(&self) -> IntervalUnit {
        self.unit
    }

    /// The number of fires after the first; none means for ever.
    pub fn repeat_count(&self) -> Option<u64> {
        u64::try_from(self.repeat_count).ok()
    }

    /// The days of the week.
    pub fn days(&self) -> WeekdaySet {
        self.days
    }

    /// The first time of each day.
    pub fn start_time_of_day(&self) -> NaiveTime {
        self.from
    }

    /// The last time of each day.
    pub fn end_time_of_day(&self) -> Option<NaiveTime> {
        self.to
    }

    /// The number of fires so far.
    pub fn times_triggered(&self) -> u64 {
        u64::try_from(self.times_triggered).unwrap_or(0)
    }

    /// See [`respect_end_time`](Self::respect_end_time).
    pub fn respects_end_time(&self) -> bool {
        self.respect_end
    }

    /// The zone by which it is read now, see [`with_default_zone`](Self::with_default_zone).
    pub fn default_zone(&self) -> Tz {
        self.default_zone
    }

    /// The interval in milliseconds; none for a unit of no fixed length.
    pub(super) fn span_ms(&self) -> Option<i64> {
        self.interval.checked_mul(self.unit.fixed_ms()?)
    }

    pub(crate) fn check(&self) -> Result<()> {
        let what = "daily interval";
        let Some(span) = self.span_ms() else {
            return Err(Error::invalid(what, self.unit, "expected seconds, minutes or hours"));
        };
        if !(1..=local::DAY).contains(&span) {
            let given = format!("{} {}", self.interval, self.unit);
            return Err(Error::invalid(what, given, "expected at least 1 and at most 24 hours"));
        }
        if self.repeat_count < FOREVER || self.repeat_count > i64::from(i32::MAX) {
            let expected = format!("expected -1 (for ever), or 0 to {}", i32::MAX);
            return Err(Error::invalid("repeat count", self.repeat_count, expected));
        }
        if self.days.is_empty() {
            return Err(Error::invalid("days of the week", "none", "expected at least one"));
        }
        for time in [Some(self.from), self.to].into_iter().flatten() {
            if time.nanosecond() != 0 {
                return Err(Error::invalid("time of day", time, "expected whole seconds"));
            }
        }
        if self.to.is_some_and(|to| to < self.from) {
            let expected = format!("expected {} (the first time of the day) or later", self.from);
            return Err(Error::invalid("last time of day", self.to.unwrap_or_default(), expected));
        }
        Ok(())
    }
}

/// Milliseconds after midnight.
pub(super) fn of_day(time: NaiveTime) -> i64 {
    i64::from(time.num_seconds_from_midnight()) * local::SECOND
}

#[cfg(test)]
mod tests {
    use super::*;
    use IntervalUnit::*;

    fn clock(hour: u32, minute: u32) -> NaiveTime {
        NaiveTime::from_hms_opt(hour, minute, 0).unwrap()
    }

    fn every(interval: u32, unit: IntervalUnit) -> DailyTimeIntervalSchedule {
        DailyTimeIntervalSchedule::every(interval, unit)
    }

    #[test]
    fn a_number_of_fires_sets_the_last_time_of_day() {
        let ends = |count| every(2, Hour).starting_daily_at(clock(9, 0)).ending_daily_after_count(count);
        assert_eq!(ends(1).unwrap().end_time_of_day(), Some(clock(9, 0)));
        assert_eq!(ends(8).unwrap().end_time_of_day(), Some(clock(23, 0)));
        for count in [0, 9, u32::MAX] {
            assert!(ends(count).is_err(), "{count}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let bad = [
            (every(0, Minute), "at least 1"),
            (every(25, Hour), "at most 24 hours"),
            (every(1, Day), "expected seconds, minutes or hours"),
            (every(1, Hour).on_days([]), "at least one"),
            (every(1, Hour).starting_daily_at(clock(9, 0)).ending_daily_at(clock(8, 59)), "09:00:00"),
            (every(1, Hour).starting_daily_at(NaiveTime::from_hms_milli_opt(9, 0, 0, 1).unwrap()), "whole seconds"),
            (every(1, Hour).repeat(u32::MAX), "2147483647"),
        ];
        for (schedule, expected) in bad {
            let error = schedule.check().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(every(24, Hour).starting_daily_at(clock(9, 0)).ending_daily_at(clock(9, 0)).check().is_ok());
    }
}
