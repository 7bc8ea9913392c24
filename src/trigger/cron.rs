//! `CronSchedule`: a cron expression read in a time zone.

use crate::cron::CronExpression;
use crate::error::{Error, Result};
use chrono::Weekday;
use chrono_tz::Tz;

/// Fires at the times of a Quartz cron expression, as clocks in its time zone show them.
#[doc(alias = "org.quartz.CronTrigger")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronSchedule {
    pub(crate) expression: CronExpression,
    pub(crate) zone: Tz,
}

impl CronSchedule {
    /// The schedule of a cron expression in UTC.
    ///
    /// # Errors
    /// [`Error::Cron`] if the expression does not parse.
    pub fn new(expression: &str) -> Result<Self> {
        Ok(Self { expression: CronExpression::parse(expression)?, zone: Tz::UTC })
    }

    /// Every day at this time on the clock, in UTC.
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

    /// On these days of every week at this time on the clock, in UTC.
    ///
    /// # Errors
    /// [`Error::Cron`] if there is no day, or the hour or minute is out of range.
    #[doc(alias("weeklyOnDayAndHourAndMinute", "atHourAndMinuteOnGivenDaysOfWeek"))]
    pub fn weekly_at(days: impl IntoIterator<Item = Weekday>, hour: u32, minute: u32) -> Result<Self> {
        let days: Vec<String> = days.into_iter().map(|day| day.to_string().to_uppercase()).collect();
        Self::new(&format!("0 {minute} {hour} ? * {}", days.join(",")))
    }

    /// On this day of every month that has it, at this time on the clock, in UTC.
    ///
    /// # Errors
    /// [`Error::Cron`] if the day is not within 1 to 31, or the hour or minute is out of range.
    #[doc(alias = "monthlyOnDayAndHourAndMinute")]
    pub fn monthly_at(day: u32, hour: u32, minute: u32) -> Result<Self> {
        Self::new(&format!("0 {minute} {hour} {day} * ?"))
    }

    /// The same times in another zone.
    pub fn in_zone(mut self, zone: Tz) -> Self {
        self.zone = zone;
        self
    }

    /// The expression.
    pub fn expression(&self) -> &CronExpression {
        &self.expression
    }

    /// The time zone. Default: UTC.
    pub fn zone(&self) -> Tz {
        self.zone
    }

    /// Strictly after `after`, not before the start, and not after the end.
    pub(super) fn fire_time_after(&self, start: i64, end: Option<i64>, after: i64, now_year: i32) -> Option<i64> {
        let after = if start > after { start.checked_sub(1000)? } else { after };
        if end.is_some_and(|end| after >= end) {
            return None;
        }
        let time = self.expression.next_after(after, self.zone, now_year)?;
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
