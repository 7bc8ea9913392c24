//! `CronSchedule`: a cron expression read in a time zone.

use crate::cron::CronExpression;
use crate::error::{Error, Result};
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
