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

    pub(crate) fn check(&self) -> Result<()> {
        let text = self.expression.text();
        if text.chars().count() > 120 {
            return Err(Error::invalid("cron expression", text, "expected at most 120 characters"));
        }
        Ok(())
    }
}
