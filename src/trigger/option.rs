//! `TriggerOption`: what a trigger may do better than Quartz, if it is told to.

use super::Schedule;
use crate::error::{Error, Result};
use crate::words::words;

/// A behaviour of a trigger that differs from Quartz. All options are off by default.
///
/// The fire times of Quartz are the default even where one might wish for others, since both kinds
/// of node must agree on the next one. A trigger with an option is therefore refused while a node
/// of Quartz is a member of the cluster. If a node of Quartz joins later, the option is suspended
/// until that node has left: every node then computes the times that Quartz does.
///
/// ```
/// use carnelian::{CronSchedule, Schedule};
/// use carnelian::trigger::TriggerOption;
///
/// let nightly = CronSchedule::new("0 30 2 * * ?")?.in_zone(chrono_tz::Europe::Berlin);
/// let schedule = Schedule::from(nightly.clone().fire_at_gap_end(true));
/// assert_eq!(schedule.options(), [TriggerOption::FireAtGapEnd]);
/// assert_eq!(Schedule::from(nightly).with_option(TriggerOption::FireAtGapEnd)?, schedule);
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum TriggerOption {
    /// [`CronSchedule::fire_at_gap_end`](super::CronSchedule::fire_at_gap_end).
    FireAtGapEnd,
    /// [`CronSchedule::both_passes`](super::CronSchedule::both_passes).
    BothPasses,
    /// [`CalendarIntervalSchedule::without_drift`](super::CalendarIntervalSchedule::without_drift).
    WithoutDrift,
    /// [`respect_end_time`](super::DailyTimeIntervalSchedule::respect_end_time).
    RespectEndTime,
    /// [`SimpleSchedule::fixed_delay`](super::SimpleSchedule::fixed_delay).
    FixedDelay,
}

use TriggerOption::*;

words! {
    /// The word of the side table and of the command line.
    TriggerOption {
        FireAtGapEnd = "fire-at-gap-end",
        BothPasses = "both-passes",
        WithoutDrift = "without-drift",
        RespectEndTime = "respect-end-time",
        FixedDelay = "fixed-delay",
    }
}

impl TriggerOption {
    /// The kind of schedule it is for, a value of `TRIGGER_TYPE`.
    pub fn kind(self) -> &'static str {
        match self {
            FireAtGapEnd | BothPasses => "CRON",
            WithoutDrift => "CAL_INT",
            RespectEndTime => "DAILY_I",
            FixedDelay => "SIMPLE",
        }
    }
}

impl Schedule {
    /// The options of the trigger.
    pub fn options(&self) -> Vec<TriggerOption> {
        TriggerOption::ALL.into_iter().filter(|option| self.has(*option)).collect()
    }

    /// The schedule with an option.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the option is for another kind of schedule.
    pub fn with_option(mut self, option: TriggerOption) -> Result<Self> {
        match (&mut self, option) {
            (Schedule::Cron(cron), FireAtGapEnd) => cron.time_change.at_gap_end = true,
            (Schedule::Cron(cron), BothPasses) => cron.time_change.both_passes = true,
            (Schedule::CalendarInterval(interval), WithoutDrift) => interval.without_drift = true,
            (Schedule::DailyTimeInterval(daily), RespectEndTime) => daily.respect_end = true,
            (Schedule::Simple(simple), FixedDelay) => simple.fixed_delay = true,
            (other, option) => {
                let expected = format!("it is for {} triggers, this is a {} trigger", option.kind(), other.kind());
                return Err(Error::invalid("trigger option", option.name(), expected));
            }
        }
        Ok(self)
    }

    fn has(&self, option: TriggerOption) -> bool {
        match (self, option) {
            (Schedule::Cron(cron), FireAtGapEnd) => cron.time_change.at_gap_end,
            (Schedule::Cron(cron), BothPasses) => cron.time_change.both_passes,
            (Schedule::CalendarInterval(interval), WithoutDrift) => interval.without_drift,
            (Schedule::DailyTimeInterval(daily), RespectEndTime) => daily.respect_end,
            (Schedule::Simple(simple), FixedDelay) => simple.fixed_delay,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trigger::{
        CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, SimpleSchedule,
    };

    fn plain() -> [Schedule; 4] {
        [
            SimpleSchedule::once().into(),
            CronSchedule::new("0 0 12 * * ?").unwrap().into(),
            CalendarIntervalSchedule::every(1, IntervalUnit::Month).into(),
            DailyTimeIntervalSchedule::every(1, IntervalUnit::Hour).into(),
        ]
    }

    #[test]
    fn every_name_means_its_option() {
        for option in TriggerOption::ALL {
            assert_eq!(TriggerOption::from_name(option.name()), Some(option));
        }
        assert_eq!(TriggerOption::from_name("BOTH-PASSES"), None);
    }

    #[test]
    fn an_option_is_for_its_kind_only_and_off_by_default() {
        for schedule in plain() {
            assert_eq!(schedule.options(), []);
            for option in TriggerOption::ALL {
                let with = schedule.clone().with_option(option);
                if option.kind() == schedule.kind() {
                    assert_eq!(with.unwrap().options(), [option]);
                } else {
                    let error = with.unwrap_err().to_string();
                    assert!(error.contains(option.name()) && error.contains(option.kind()), "{error}");
                }
            }
        }
    }
}
