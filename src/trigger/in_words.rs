//! A schedule in words: one line for people.

use super::{IntervalUnit, Schedule};
use chrono::{Weekday, WeekdaySet};
use std::time::Duration;

impl Schedule {
    /// The schedule in one line, for people, such as `cron 0 30 2 * * ? in Europe/Paris`.
    ///
    /// ```
    /// use carnelian::{Schedule, SimpleSchedule};
    ///
    /// assert_eq!(Schedule::from(SimpleSchedule::once()).in_words(), "once");
    /// ```
    pub fn in_words(&self) -> String {
        match self {
            Schedule::Cron(cron) => format!("cron {} in {}", cron.expression().text(), cron.zone()),
            Schedule::Simple(simple) if simple.repeat_count() == Some(0) => "once".to_owned(),
            Schedule::Simple(simple) => {
                let (count, unit) = in_units(simple.interval());
                let every = match simple.is_fixed_delay() {
                    false if count == 1 => format!("every {unit}"),
                    false => format!("every {count} {unit}s"),
                    true => format!("{count} {unit}{} after each run", if count == 1 { "" } else { "s" }),
                };
                so_far(&every, simple.repeat_count(), simple.times_triggered())
            }
            Schedule::CalendarInterval(interval) => {
                let hour = match (interval.preserves_hour(), interval.skips_day_without_hour()) {
                    (false, _) => "",
                    (true, false) => ", at the same hour",
                    (true, true) => ", at the same hour or not at all",
                };
                let every = format!(
                    "{} of the calendar in {}{hour}",
                    every(interval.interval(), interval.unit()),
                    interval.zone()
                );
                so_far(&every, None, interval.times_triggered())
            }
            Schedule::DailyTimeInterval(daily) => {
                let to = daily.end_time_of_day().map_or("the end of the day".to_owned(), |time| time.to_string());
                let every = format!(
                    "{} from {} to {to} on {} in {}",
                    every(daily.interval(), daily.unit()),
                    daily.start_time_of_day(),
                    days_in_words(daily.days()),
                    daily.default_zone()
                );
                so_far(&every, daily.repeat_count(), daily.times_triggered())
            }
            Schedule::Recurrence(recurrence) => {
                let list = |what: &str, times: Vec<String>| match times.is_empty() {
                    true => String::new(),
                    false => format!(", {what} {}", times.join(", ")),
                };
                let left_out = recurrence.left_out().map(|time| time.to_string()).collect();
                let added = recurrence.added().map(|time| time.to_string()).collect();
                let (left_out, added) = (list("but not", left_out), list("and", added));
                format!("recurs by {} in {}{left_out}{added}", recurrence.rule(), recurrence.zone())
            }
        }
    }
}

fn every(interval: u32, unit: IntervalUnit) -> String {
    if interval == 1 { format!("every {unit}") } else { format!("every {interval} {unit}s") }
}

/// A time in the largest unit of which it is a whole number.
fn in_units(time: Duration) -> (u128, &'static str) {
    let ms = time.as_millis();
    let units = [("hour", 3_600_000), ("minute", 60_000), ("second", 1_000)];
    let whole = units.into_iter().find(|(_, unit)| ms > 0 && ms.is_multiple_of(*unit));
    whole.map_or((ms, "millisecond"), |(name, unit)| (ms / unit, name))
}

/// The times that are over: those that fired, and those that were missed.
fn so_far(every: &str, repeat_count: Option<u64>, times: u64) -> String {
    match (repeat_count, times) {
        (Some(count), _) => format!("{every}, {times} of {} times are over", count.saturating_add(1)),
        (None, 1) => format!("{every}, 1 time is over"),
        (None, _) => format!("{every}, {times} times are over"),
    }
}

fn days_in_words(days: WeekdaySet) -> String {
    if days == WeekdaySet::ALL {
        return "all days".to_owned();
    }
    days.iter(Weekday::Mon).map(|day| day.to_string()).collect::<Vec<_>>().join(", ")
}
