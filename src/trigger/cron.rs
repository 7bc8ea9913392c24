//! `CronSchedule`: a cron expression read in a time zone.

use crate::cron::{CronExpression, TimeChange};
use crate::error::{Error, Result};
use crate::setters::setters;
use crate::zone::of_machine;
use chrono::Weekday;
use chrono_tz::Tz;

/// Fires at the times of a Quartz cron expression, as clocks in its time zone show them.
///
/// As in Quartz, an expression [without a zone](CronSchedule::in_zone) is read in the zone of the
/// scheduler that stores it, the property `carnelian.scheduler.timeZone`, which is by default the
/// zone of the machine: `TZ`, else what the system is set to, else UTC. The zone is stored with the
/// trigger, and stays when the default changes.
#[doc(alias = "org.quartz.CronTrigger")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronSchedule {
    pub(crate) expression: CronExpression,
    pub(crate) zone: Tz,
    /// The zone was given; otherwise that of the scheduler takes its place.
    pub(crate) is_zone_given: bool,
    pub(crate) time_change: TimeChange,
}

impl CronSchedule {
    /// The schedule of a cron expression in the scheduler's zone.
    ///
    /// # Errors
    /// [`Error::Cron`] if the expression does not parse.
    pub fn new(expression: &str) -> Result<Self> {
        let expression = CronExpression::parse(expression)?;
        Ok(Self { expression, zone: of_machine(), is_zone_given: false, time_change: TimeChange::default() })
    }

    /// Every day at this time on the clock.
    ///
    /// # Errors
    /// [`Error::Cron`] if the hour is not within 0 to 23 or the minute not within 0 to 59.
    ///
    /// ```
    /// use carnelian::CronSchedule;
    /// use chrono::Weekday::{Fri, Mon};
    /// use chrono_tz::Europe::Berlin;
    ///
    /// let nightly = CronSchedule::daily_at(2, 30)?.in_zone(Berlin);
    /// assert_eq!(nightly.expression().text(), "0 30 2 ? * *");
    /// assert_eq!(CronSchedule::weekly_at([Mon, Fri], 8, 0)?.expression().text(), "0 0 8 ? * MON,FRI");
    /// assert_eq!(CronSchedule::monthly_at(15, 8, 0)?.expression().text(), "0 0 8 15 * ?");
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    #[doc(alias = "dailyAtHourAndMinute")]
    pub fn daily_at(hour: u32, minute: u32) -> Result<Self> {
        Self::new(&format!("0 {minute} {hour} ? * *"))
    }

    /// On these days of every week at this time on the clock.
    ///
    /// # Errors
    /// [`Error::Invalid`] if there is no day, [`Error::Cron`] if the hour or minute is out of
    /// range.
    #[doc(alias("weeklyOnDayAndHourAndMinute", "atHourAndMinuteOnGivenDaysOfWeek"))]
    pub fn weekly_at(days: impl IntoIterator<Item = Weekday>, hour: u32, minute: u32) -> Result<Self> {
        let days: Vec<String> = days.into_iter().map(|day| day.to_string().to_uppercase()).collect();
        if days.is_empty() {
            return Err(Error::invalid("days of the week", "none", "expected at least one"));
        }
        Self::new(&format!("0 {minute} {hour} ? * {}", days.join(",")))
    }

    /// On this day of every month that has it, at this time on the clock.
    ///
    /// # Errors
    /// [`Error::Cron`] if the day is not within 1 to 31, or the hour or minute is out of range.
    #[doc(alias = "monthlyOnDayAndHourAndMinute")]
    pub fn monthly_at(day: u32, hour: u32, minute: u32) -> Result<Self> {
        Self::new(&format!("0 {minute} {hour} {day} * ?"))
    }

    /// A copy with the same times on the clocks of this zone. Default: the scheduler's zone.
    pub fn in_zone(mut self, zone: Tz) -> Self {
        (self.zone, self.is_zone_given) = (zone, true);
        self
    }

    setters! {
        /// True if times that the clock jumps over fire at the end of the gap: once, however many
        /// there are. Default: no, as in Quartz, which does not fire them that day. A
        /// [`TriggerOption`](super::TriggerOption).
        ///
        /// ```
        /// use carnelian::{CronSchedule, JobKey, Trigger, TriggerKey};
        /// use chrono::{DateTime, Utc};
        /// use chrono_tz::Europe::Berlin;
        ///
        /// let start: DateTime<Utc> = "2026-03-28T12:00:00Z".parse()?;
        /// let times = |schedule: CronSchedule| -> Result<Vec<_>, carnelian::Error> {
        ///     let builder = Trigger::builder(TriggerKey::named("nightly"), JobKey::named("backup"));
        ///     let trigger = builder.schedule(schedule.in_zone(Berlin)).start_at(start).build()?;
        ///     let shown = |time: DateTime<Utc>| time.with_timezone(&Berlin).format("%d %H:%M").to_string();
        ///     Ok(trigger.upcoming(None, start).take(2).map(shown).collect())
        /// };
        /// let nightly = CronSchedule::new("0 30 2 * * ?")?;
        /// assert_eq!(times(nightly.clone())?, ["30 02:30", "31 02:30"]);
        /// assert_eq!(times(nightly.fire_at_gap_end(true))?, ["29 03:00", "30 02:30"]);
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        pub fn fire_at_gap_end(yes: bool) { self.time_change.at_gap_end = yes }

        /// True if times of an hour that comes twice fire in both of its passes. Default: no, as in
        /// Quartz, which fires them in the second and pauses in the first, also a schedule of every
        /// minute. A [`TriggerOption`](super::TriggerOption).
        pub fn both_passes(yes: bool) { self.time_change.both_passes = yes }
    }

    /// The expression.
    pub fn expression(&self) -> &CronExpression {
        &self.expression
    }

    /// The time zone; that of the machine before a schedule without a zone is stored.
    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// See [`fire_at_gap_end`](Self::fire_at_gap_end).
    pub fn fires_at_gap_end(&self) -> bool {
        self.time_change.at_gap_end
    }

    /// See [`both_passes`](Self::both_passes).
    pub fn fires_in_both_passes(&self) -> bool {
        self.time_change.both_passes
    }

    /// Strictly after `after`, not before the start, and not after the end.
    pub(super) fn fire_time_after(&self, start: i64, end: Option<i64>, after: i64, now_year: i32) -> Option<i64> {
        let after = if start > after { start.checked_sub(1000)? } else { after };
        if end.is_some_and(|end| after >= end) {
            return None;
        }
        let time = self.expression.next_with(after, self.zone, now_year, self.time_change)?;
        if end.is_some_and(|end| time > end) { None } else { Some(time) }
    }

    pub(crate) fn check(&self) -> Result<()> {
        let text = self.expression.text();
        if text.chars().count() > 120 {
            return Err(Error::invalid("cron expression", text, "expected at most 120 characters"));
        }
        Ok(())
    }
}
