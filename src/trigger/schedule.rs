//! `Schedule`: the kinds of schedule, each with what it needs to compute its times.

use super::calendar_interval::CalendarIntervalSchedule;
use super::cron::CronSchedule;
use super::daily_time_interval::DailyTimeIntervalSchedule;
use super::recurrence::RecurrenceSchedule;
use super::simple::SimpleSchedule;
use crate::error::Result;
use crate::from::from;
use chrono_tz::Tz;

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

    /// Checks every field of the schedule.
    pub(super) fn check(&self) -> Result<()> {
        match self {
            Schedule::Simple(simple) => simple.check(),
            Schedule::Cron(cron) => cron.check(),
            Schedule::CalendarInterval(interval) => interval.check(),
            Schedule::DailyTimeInterval(daily) => daily.check(),
            Schedule::Recurrence(recurrence) => recurrence.check(),
        }
    }

    /// Reads a schedule that has no zone of its own by this one, from now on for good where the
    /// zone is stored with the schedule.
    pub(crate) fn set_default_zone(&mut self, zone: Tz) {
        match self {
            Schedule::Simple(_) => {}
            Schedule::Cron(cron) if cron.is_zone_given => {}
            Schedule::Cron(cron) => (cron.zone, cron.is_zone_given) = (zone, true),
            Schedule::CalendarInterval(interval) if interval.is_zone_given => {}
            Schedule::CalendarInterval(interval) => (interval.zone, interval.is_zone_given) = (zone, true),
            // No table has a column for it.
            Schedule::DailyTimeInterval(daily) => daily.default_zone = zone,
            Schedule::Recurrence(recurrence) if recurrence.is_zone_given => {}
            Schedule::Recurrence(recurrence) => *recurrence = recurrence.clone().in_zone(zone),
        }
    }

    /// True if the schedule begins with whole seconds, as clocks show them: its start is cut.
    pub(crate) fn starts_with_the_second(&self) -> bool {
        matches!(self, Schedule::Cron(_) | Schedule::Recurrence(_))
    }

    /// True if its next time counts from the end of a run.
    pub(crate) fn is_fixed_delay(&self) -> bool {
        matches!(self, Schedule::Simple(simple) if simple.fixed_delay)
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

    /// Counts fires. Quartz reads such counts as 32 bits: they stay at the most that fits.
    pub(crate) fn count_fires(&mut self, fires: i64) {
        if let Some(times) = self.times_triggered_mut() {
            *times = times.saturating_add(fires).min(i32::MAX.into());
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

from! {
    Schedule {
        SimpleSchedule => |schedule| Self::Simple(schedule),
        CronSchedule => |schedule| Self::Cron(schedule),
        CalendarIntervalSchedule => |schedule| Self::CalendarInterval(schedule),
        DailyTimeIntervalSchedule => |schedule| Self::DailyTimeInterval(schedule),
        RecurrenceSchedule => |schedule| Self::Recurrence(schedule),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::IntervalUnit;

    #[test]
    fn a_count_of_32_bits_stays_at_the_most_that_fits() {
        let most = i64::from(i32::MAX);
        let mut simple = Schedule::from(SimpleSchedule::every(std::time::Duration::from_secs(1)));
        let mut interval = Schedule::from(CalendarIntervalSchedule::every(1, IntervalUnit::Day));
        for schedule in [&mut simple, &mut interval] {
            *schedule.times_triggered_mut().unwrap() = most - 1;
            schedule.count_fires(3);
            assert_eq!(schedule.times_triggered(), Some(most));
        }
    }
}
