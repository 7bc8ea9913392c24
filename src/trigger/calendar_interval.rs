//! `CalendarIntervalSchedule`: after a number of seconds, hours, days, months or years, as a
//! calendar counts them.

use super::IntervalUnit;
use super::interval_unit::YEARS_AHEAD;
use crate::error::{Error, Result};
use crate::local;
use crate::setters::setters;
use crate::zone::of_machine;
use chrono::Datelike;
use chrono_tz::Tz;

/// Fires at the start and then every so many units, as the calendar and the clock of its zone count
/// them.
///
/// The times are those of Quartz, which goes from the start one interval after the other: what
/// starts on the 31st of January and repeats monthly fires on the 28th of February and from then on
/// always on the 28th.
///
/// ```
/// use carnelian::{CalendarIntervalSchedule, IntervalUnit, JobKey, Trigger, TriggerKey};
/// use chrono::{DateTime, Utc};
/// use chrono_tz::Europe::Berlin;
///
/// let start: DateTime<Utc> = "2026-03-28T08:00:00Z".parse()?;
/// let trigger = Trigger::builder(TriggerKey::named("mornings"), JobKey::named("report"))
///     .schedule(CalendarIntervalSchedule::every(1, IntervalUnit::Day).in_zone(Berlin))
///     .start_at(start)
///     .build()?;
/// // Nine o'clock in Berlin on both days, although a night of 23 hours lies between.
/// let times: Vec<_> = trigger.upcoming(None, start).take(2).collect();
/// assert_eq!(times, [start, "2026-03-29T07:00:00Z".parse::<DateTime<Utc>>()?]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "org.quartz.CalendarIntervalTrigger")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CalendarIntervalSchedule {
    pub(crate) interval: i64,
    pub(crate) unit: IntervalUnit,
    pub(crate) zone: Tz,
    /// The zone was given; otherwise that of the scheduler takes its place.
    pub(crate) is_zone_given: bool,
    pub(crate) preserve_hour: bool,
    pub(crate) skip_day: bool,
    pub(crate) without_drift: bool,
    pub(crate) times_triggered: i64,
}

/// The largest number of intervals that one search steps over: a thousand years of months.
const MAX_STEPS: usize = 50_000;

impl CalendarIntervalSchedule {
    /// A fire every `interval` units, in the scheduler's zone, for ever.
    #[doc(alias = "withInterval")]
    pub fn every(interval: u32, unit: IntervalUnit) -> Self {
        let interval = i64::from(interval);
        Self {
            interval,
            unit,
            zone: of_machine(),
            is_zone_given: false,
            preserve_hour: false,
            skip_day: false,
            without_drift: false,
            times_triggered: 0,
        }
    }

    /// Counts days and longer units in this zone. Default: the zone of the scheduler, as for
    /// [`CronSchedule`](crate::CronSchedule).
    pub fn in_zone(mut self, zone: Tz) -> Self {
        (self.zone, self.is_zone_given) = (zone, true);
        self
    }

    setters! {
        /// True if a time that a clock change has moved off the hour of the start returns to it.
        /// Default: no.
        ///
        /// Without it, Quartz goes on from the moved time: daily at 02:30 becomes daily at 01:30
        /// for some days after the clock has jumped over 02:30. Only for days and longer units.
        #[doc(alias = "preserveHourOfDayAcrossDaylightSavings")]
        pub fn preserve_hour(yes: bool) { self.preserve_hour = yes }

        /// True if a day on which the clock jumps over the hour is left out; otherwise it fires an
        /// hour later that day. Default: no. Has no effect without
        /// [`preserve_hour`](Self::preserve_hour).
        #[doc(alias = "skipDayIfHourDoesNotExist")]
        pub fn skip_day_without_hour(yes: bool) { self.skip_day = yes }

        /// True if each time is counted from the start instead of from the time before. Default:
        /// no, as in Quartz. Only for days and longer units. A
        /// [`TriggerOption`](super::TriggerOption).
        ///
        /// With it, monthly from the 31st of January is the 28th of February, the 31st of March,
        /// the 30th of April; and daily at 02:30 is at 02:30 on every day that has one, whatever
        /// [`preserve_hour`](Self::preserve_hour) says. On a day where the clock jumps over it, it
        /// fires as much later as the clock jumps, unless such days are [left
        /// out](Self::skip_day_without_hour).
        ///
        /// ```
        /// use carnelian::{CalendarIntervalSchedule, IntervalUnit, JobKey, Trigger, TriggerKey};
        /// use chrono::{DateTime, Utc};
        ///
        /// let start: DateTime<Utc> = "2027-01-31T09:00:00Z".parse()?;
        /// let trigger = Trigger::builder(TriggerKey::named("monthly"), JobKey::named("report"))
        ///     .schedule(CalendarIntervalSchedule::every(1, IntervalUnit::Month).without_drift(true))
        ///     .start_at(start)
        ///     .build()?;
        /// let times: Vec<_> = trigger.upcoming(None, start).map(|time| time.format("%d.%m.").to_string()).take(4).collect();
        /// assert_eq!(times, ["31.01.", "28.02.", "31.03.", "30.04."]);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn without_drift(yes: bool) { self.without_drift = yes }
    }

    /// The number of units between fires.
    pub fn interval(&self) -> u32 {
        u32::try_from(self.interval).unwrap_or(0)
    }

    /// The unit.
    pub fn unit(&self) -> IntervalUnit {
        self.unit
    }

    /// The time zone; that of the machine before a schedule without a zone is stored.
    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// See [`preserve_hour`](Self::preserve_hour).
    pub fn preserves_hour(&self) -> bool {
        self.preserve_hour
    }

    /// See [`skip_day_without_hour`](Self::skip_day_without_hour).
    pub fn skips_day_without_hour(&self) -> bool {
        self.skip_day
    }

    /// See [`without_drift`](Self::without_drift).
    pub fn is_without_drift(&self) -> bool {
        self.without_drift
    }

    /// The number of fires so far.
    pub fn times_triggered(&self) -> u64 {
        u64::try_from(self.times_triggered).unwrap_or(0)
    }

    /// Start and then every interval: strictly after `after`, and before the end.
    pub(super) fn fire_time_after(&self, start: i64, end: Option<i64>, after: i64, now_year: i32) -> Option<i64> {
        if end.is_some_and(|end| end <= after) {
            return None;
        }
        if after < start {
            return Some(start);
        }
        let last_year = now_year.saturating_add(YEARS_AHEAD);
        let time = match self.without_drift {
            true => self.counted_after(start, after, last_year)?,
            false => self.step_after(start, after, last_year)?,
        };
        if end.is_some_and(|end| end <= time) { None } else { Some(time) }
    }

    /// Quartz's guess from the end: the first time at the end or after it, less one interval unless
    /// it is the end.
    pub(super) fn final_fire_time(&self, start: i64, end: Option<i64>) -> Option<i64> {
        let end = end?;
        if self.without_drift {
            return self.counted_until(start, end);
        }
        let before = end.checked_sub(local::SECOND)?;
        let last_year = local::date_at(end, self.zone)?.year().saturating_add(YEARS_AHEAD);
        let time = if before < start { start } else { self.step_after(start, before, last_year)? };
        if time == end { Some(time) } else { self.add(time, -1) }
    }

    /// True if the fire times are the same wherever the search for them begins.
    pub(super) fn is_even(&self) -> bool {
        self.without_drift || self.unit.fixed_ms().is_some()
    }

    /// The first time after `after`, which is not before the start.
    fn step_after(&self, start: i64, after: i64, last_year: i32) -> Option<i64> {
        let seconds = after.checked_sub(start)? / local::SECOND + 1;
        if let Some(unit) = self.unit.fixed_ms() {
            let span = self.interval.checked_mul(unit)?;
            let steps = seconds.checked_mul(local::SECOND)?.checked_add(span - 1)?.checked_div(span)?;
            return start.checked_add(steps.checked_mul(span)?);
        }
        let hour = self.hour_at(start)?;
        let mut time = self.add(start, self.leap(seconds))?;
        for _ in 0..MAX_STEPS {
            let is_over = local::date_at(time, self.zone)?.year() >= last_year;
            if time > after || is_over {
                let (moved, goes_on) = self.back_to_hour(time, hour, after)?;
                time = moved;
                if !goes_on && time > after {
                    return Some(time);
                }
                if local::date_at(time, self.zone)?.year() >= last_year {
                    // Quartz stands still here and gives the same time again and again.
                    return Some(time).filter(|time| *time > after);
                }
            }
            time = self.add(time, 1)?;
        }
        None
    }

    /// The number of intervals that the search leaves behind at once: of days and weeks most of the
    /// way, as in Quartz. The number shows where a clock change has moved times, since the move is
    /// lost with the intervals left behind.
    fn leap(&self, seconds: i64) -> i64 {
        let days = match self.unit {
            IntervalUnit::Day => 1,
            IntervalUnit::Week => 7,
            _ => return 0,
        };
        let intervals = seconds.checked_div(self.interval.saturating_mul(days * 86_400)).unwrap_or(0);
        match intervals {
            ..=20 => 0,
            21..50 => intervals * 80 / 100,
            50..500 => intervals * 90 / 100,
            _ => intervals.saturating_mul(95) / 100,
        }
    }

    /// The time `intervals` later, as `GregorianCalendar.add` has it.
    fn add(&self, time: i64, intervals: i64) -> Option<i64> {
        if intervals == 0 {
            return Some(time);
        }
        let amount = self.interval.checked_mul(intervals)?;
        match self.unit {
            IntervalUnit::Day => local::add_days(time, amount, self.zone),
            IntervalUnit::Week => local::add_days(time, amount.checked_mul(7)?, self.zone),
            IntervalUnit::Month => local::add_months(time, i32::try_from(amount).ok()?, self.zone),
            IntervalUnit::Year => local::add_months(time, i32::try_from(amount.checked_mul(12)?).ok()?, self.zone),
            IntervalUnit::Second | IntervalUnit::Minute | IntervalUnit::Hour => {
                time.checked_add(amount.checked_mul(self.unit.fixed_ms()?)?)
            }
        }
    }

    /// A time brought back to the hour of the start if it is to keep that, and whether the search
    /// has to go on.
    fn back_to_hour(&self, time: i64, hour: i64, after: i64) -> Option<(i64, bool)> {
        if !self.preserve_hour || self.hour_at(time)? == hour {
            return Some((time, false));
        }
        let of_day = local::time_of_day(time, self.zone)? % local::HOUR + hour * local::HOUR;
        let time = local::instant(local::date_at(time, self.zone)?, of_day, self.zone)?;
        let goes_on = if self.hour_at(time)? == hour { time <= after } else { self.skip_day };
        Some((time, goes_on))
    }

    fn hour_at(&self, time: i64) -> Option<i64> {
        Some(local::time_of_day(time, self.zone)? / local::HOUR)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(1..=i64::from(i32::MAX)).contains(&self.interval) {
            let expected = format!("expected a whole number of {}s from 1 to {}", self.unit, i32::MAX);
            return Err(Error::invalid("calendar interval", self.interval, expected));
        }
        if self.without_drift && self.unit.fixed_ms().is_some() {
            let expected = format!("it is for days, weeks, months and years: {}s do not drift", self.unit);
            return Err(Error::invalid("trigger option", "without-drift", expected));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IntervalUnit::*;
    use chrono::DateTime;
    use chrono_tz::Europe::Berlin;

    fn ms(text: &str) -> i64 {
        DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
    }

    fn every(interval: u32, unit: IntervalUnit) -> CalendarIntervalSchedule {
        CalendarIntervalSchedule::every(interval, unit).in_zone(Berlin)
    }

    /// The first times after the start, as clocks in Berlin show them.
    fn times(schedule: &CalendarIntervalSchedule, start: &str, count: usize) -> Vec<String> {
        let start = ms(start);
        let next = |after: &i64| schedule.fire_time_after(start, None, *after, 2026);
        let shown = |ms: i64| {
            let local = DateTime::from_timestamp_millis(ms).unwrap().with_timezone(&Berlin);
            local.format("%y-%m-%d %H:%M%:::z").to_string()
        };
        std::iter::successors(next(&start), next).take(count).map(shown).collect()
    }

    #[test]
    fn hours_do_not_care_for_clock_changes() {
        assert_eq!(times(&every(12, Hour), "2026-03-28T20:00:00+01:00", 2), ["26-03-29 09:00+02", "26-03-29 21:00+02"]);
    }

    #[test]
    fn days_that_meet_a_gap_are_moved_until_many_are_left_behind_at_once() {
        let daily = every(1, Day);
        let start = "2026-03-28T02:30:00+01:00";
        assert_eq!(times(&daily, start, 2), ["26-03-29 01:30+01", "26-03-30 01:30+02"]);
        let later = times(&daily, start, 24);
        assert_eq!(later[21..], ["26-04-19 01:30+02", "26-04-19 02:30+02", "26-04-20 02:30+02"]);
    }

    #[test]
    fn who_keeps_the_hour_fires_an_hour_later_on_the_day_of_the_gap_or_not_at_all() {
        let keeps = every(1, Day).preserve_hour(true);
        let start = "2026-03-28T02:30:00+01:00";
        assert_eq!(times(&keeps, start, 2), ["26-03-29 03:30+02", "26-03-30 02:30+02"]);
        assert_eq!(times(&keeps.skip_day_without_hour(true), start, 1), ["26-03-30 02:30+02"]);
    }

    #[test]
    fn a_month_that_is_too_short_shortens_all_that_follow() {
        let start = "2026-01-31T09:00:00+01:00";
        assert_eq!(times(&every(1, Month), start, 2), ["26-02-28 09:00+01", "26-03-28 09:00+01"]);
        assert_eq!(times(&every(1, Year), "2024-02-29T09:00:00+01:00", 1), ["25-02-28 09:00+01"]);
        assert_eq!(times(&every(2, Week), start, 1), ["26-02-14 09:00+01"]);
    }

    #[test]
    fn the_end_is_no_fire_time_but_may_be_the_final_one() {
        let (start, end) = (ms("2026-01-01T00:00:00Z"), ms("2026-01-03T00:00:00Z"));
        let daily = every(1, Day);
        assert_eq!(daily.fire_time_after(start, Some(end), start, 2026), Some(ms("2026-01-02T00:00:00Z")));
        assert_eq!(daily.fire_time_after(start, Some(end), ms("2026-01-02T00:00:00Z"), 2026), None);
        assert_eq!(daily.final_fire_time(start, Some(end)), Some(end));
        assert_eq!(daily.final_fire_time(start, Some(end - 1)), Some(ms("2026-01-02T00:00:00Z")));
    }

    #[test]
    fn a_search_ends_where_quartz_stands_still() {
        let start = ms("2026-01-31T09:00:00+01:00");
        for unit in IntervalUnit::ALL {
            for interval in [1, 7, u32::MAX] {
                let schedule = every(interval, unit);
                let far = ms("2190-01-01T00:00:00Z");
                let next = schedule.fire_time_after(start, None, far, 2026);
                assert!(next.is_none_or(|next| next > far), "{schedule:?}: {next:?}");
                for (start, after) in [(start, i64::MAX), (i64::MIN, start), (i64::MAX, i64::MAX), (i64::MIN, i64::MAX)]
                {
                    let next = schedule.fire_time_after(start, None, after, 2026);
                    assert!(next.is_none_or(|next| next > after), "{schedule:?}: {next:?}");
                    schedule.final_fire_time(start, Some(after));
                }
            }
        }
    }

    #[test]
    fn an_interval_is_at_least_one_and_an_int_of_java() {
        assert!(every(1, Year).check().is_ok());
        let error = every(0, Month).check().unwrap_err().to_string();
        assert!(error.contains("calendar interval") && error.contains("months from 1 to 2147483647"), "{error}");
        assert!(every(u32::MAX, Second).check().is_err());
    }
}
