//! `CronTimes`: times that are excluded because a cron expression matches them.

use crate::cron::CronExpression;
use crate::local::{self, DAY, HOUR, MINUTE, SECOND};
use chrono::{DateTime, Datelike};
use chrono_tz::Tz;

/// Excludes every second that matches a cron expression.
///
/// ```
/// use carnelian::calendar::{Calendar, CronTimes};
///
/// // Leaves out the night.
/// let calendar = Calendar::new(CronTimes::excluding("* * 0-7,18-23 ? * *")?);
/// assert!(calendar.is_time_included("2026-03-01T12:00:00Z".parse()?));
/// let next = calendar.next_included_time("2026-03-01T18:00:00Z".parse()?);
/// assert_eq!(next, Some("2026-03-02T08:00:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[doc(alias = "org.quartz.impl.calendar.CronCalendar")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronTimes {
    expression: CronExpression,
}

impl CronTimes {
    /// Excludes the times of an expression.
    ///
    /// # Errors
    /// [`Error::Cron`](crate::Error::Cron) if it does not parse.
    pub fn excluding(expression: &str) -> crate::Result<Self> {
        Ok(Self { expression: CronExpression::parse(expression)? })
    }

    /// The expression.
    pub fn expression(&self) -> &CronExpression {
        &self.expression
    }

    pub(super) fn includes(&self, ms: i64, zone: Tz) -> Option<bool> {
        // The answer needs no look beyond the year at hand, so the search is told to end there.
        let year = DateTime::from_timestamp_millis(ms)?.year();
        Some(!self.expression.fires_at(ms, zone, year - 99))
    }

    /// The end of the excluded second, or of the minute, hour or day if the expression does not
    /// tell their parts apart.
    pub(super) fn skip(&self, ms: i64, zone: Tz) -> Option<i64> {
        let units = match self.expression.open_fields() {
            0 => &[SECOND][..],
            1 => &[MINUTE, SECOND][..],
            2 => &[HOUR, MINUTE, SECOND][..],
            _ => &[DAY, HOUR, MINUTE, SECOND][..],
        };
        let offset = local::offset_at(ms, zone)?;
        for unit in units {
            let end = (ms.checked_add(offset)?.div_euclid(*unit) + 1).checked_mul(*unit)?.checked_sub(offset)?;
            // The next smaller unit is surer if the clock changes before that end.
            if *unit == SECOND || local::offset_at(end.checked_sub(1)?, zone)? == offset {
                return Some(end);
            }
        }
        None
    }
}

impl CronTimes {
    /// As [`CronTimes::skip`], from the time on the clock, as Quartz goes on. In an hour that comes
    /// twice that time means the second pass: what is excluded in the first pass is excluded up to
    /// there.
    pub(super) fn skip_on_clock(&self, ms: i64, zone: Tz) -> Option<i64> {
        self.skip(local::instant(local::date_at(ms, zone)?, local::time_of_day(ms, zone)?, zone)?, zone)
    }
}
