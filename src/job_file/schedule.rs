//! The schedules of a job file, and which of them this version can store.

use crate::trigger::{CronSchedule, Schedule, SimpleSchedule};
use chrono_tz::Tz;

/// A schedule as a job file writes it.
#[derive(Debug)]
pub(super) enum FileSchedule {
    Simple(SimpleSchedule),
    Cron(CronSchedule),
    /// Counted by the clocks of the machine's zone, as in Java; no element names another.
    CalendarInterval {
        interval: i32,
        unit: IntervalUnit,
        zone: Tz,
    },
}

/// `repeat-interval-unit`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum IntervalUnit {
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl IntervalUnit {
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("SECOND", Self::Second),
        ("MINUTE", Self::Minute),
        ("HOUR", Self::Hour),
        ("DAY", Self::Day),
        ("WEEK", Self::Week),
        ("MONTH", Self::Month),
        ("YEAR", Self::Year),
    ];
}

impl FileSchedule {
    /// The schedule of a trigger, or why there is none.
    pub(super) fn into_schedule(self) -> Result<Schedule, String> {
        match self {
            Self::Simple(simple) => Ok(simple.into()),
            Self::Cron(cron) => Ok(cron.into()),
            // The one place to change when there are such schedules.
            Self::CalendarInterval { interval, unit, zone } => {
                let name = IntervalUnit::ALL.iter().find(|(_, other)| *other == unit).map_or("?", |(name, _)| name);
                Err(format!(
                    "every {interval} {name} in {zone}: this version cannot store calendar-interval triggers; write a cron or simple one"
                ))
            }
        }
    }

    /// `TRIGGER_TYPE`.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Simple(_) => "SIMPLE",
            Self::Cron(_) => "CRON",
            Self::CalendarInterval { .. } => "CAL_INT",
        }
    }
}
