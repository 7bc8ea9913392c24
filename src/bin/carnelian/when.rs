//! Schedules on the command line: read from options, and said in words.

use crate::args;
use crate::failure::Outcome;
use crate::value::With;
use carnelian::{
    CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, RecurrenceSchedule, Schedule,
    SimpleSchedule,
};
use chrono::{NaiveTime, Timelike, Weekday, WeekdaySet};
use std::time::Duration;

/// A number of units of the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarInterval {
    interval: u32,
    unit: IntervalUnit,
}

/// Reads `1month`, `2 weeks`.
pub fn calendar_interval(text: &str) -> Result<CalendarInterval, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, word) = text.split_at(digits);
    let word = word.trim_start().to_ascii_uppercase();
    let unit = IntervalUnit::from_name(word.strip_suffix('S').unwrap_or(&word));
    match (number.parse(), unit) {
        (Ok(interval), Some(unit)) => Ok(CalendarInterval { interval, unit }),
        _ => {
            let units = IntervalUnit::ALL.map(|unit| unit.to_string()).join(", ");
            Err(format!("expected a number with its unit, such as 1month or 2weeks; units are {units}"))
        }
    }
}

/// Reads `09:00` or `09:00:30`.
pub fn time_of_day(text: &str) -> Result<NaiveTime, String> {
    NaiveTime::parse_from_str(text, "%H:%M:%S")
        .or_else(|_| NaiveTime::parse_from_str(text, "%H:%M"))
        .ok()
        .filter(|time| time.nanosecond() == 0)
        .ok_or_else(|| "expected a time of day such as 09:00 or 17:30:15".to_owned())
}

/// Reads `mon,tue` or `mon-fri,sun`.
pub fn days(text: &str) -> Result<WeekdaySet, String> {
    let day = |name: &str| {
        let problem = || format!("`{name}` is no day of the week: expected days such as mon,tue or mon-fri");
        name.trim().parse::<Weekday>().map_err(|_| problem())
    };
    let mut days = WeekdaySet::EMPTY;
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut at, last) = (day(first)?, day(last)?);
        days.insert(at);
        while at != last {
            at = at.succ();
            days.insert(at);
        }
    }
    Ok(days)
}

/// The schedule that the options describe.
pub fn schedule(options: &args::Schedule) -> Outcome<Schedule> {
    let when = &options.when;
    if let Some(expression) = &when.cron {
        let schedule = CronSchedule::new(expression)?.with(options.tz, CronSchedule::in_zone);
        return Ok(schedule.fire_at_gap_end(options.fire_at_gap_end).both_passes(options.both_passes).into());
    }
    if let Some(rule) = &when.rrule {
        return Ok(RecurrenceSchedule::new(rule)?.with(options.tz, RecurrenceSchedule::in_zone).into());
    }
    if let Some(CalendarInterval { interval, unit }) = when.calendar_interval {
        let schedule =
            CalendarIntervalSchedule::every(interval, unit).with(options.tz, CalendarIntervalSchedule::in_zone);
        let schedule = schedule.preserve_hour(options.preserve_hour).skip_day_without_hour(options.skip_day);
        return Ok(schedule.without_drift(options.without_drift).into());
    }
    if let Some(span) = when.daily_every {
        let (interval, unit) = units_of(span);
        let mut schedule = DailyTimeIntervalSchedule::every(interval, unit).respect_end_time(options.respect_end_time);
        if let Some(days) = options.days {
            schedule = schedule.on_days(days.iter(Weekday::Mon));
        }
        schedule = options.from.map_or(schedule.clone(), |time| schedule.starting_daily_at(time));
        schedule = options.to.map_or(schedule.clone(), |time| schedule.ending_daily_at(time));
        return Ok(options.repeat.map_or(schedule.clone(), |count| schedule.repeat(count)).into());
    }
    Ok(match when.every.map(SimpleSchedule::every).or(when.fixed_delay.map(SimpleSchedule::fixed_delay)) {
        Some(schedule) => options.repeat.map_or(schedule.clone(), |count| schedule.repeat(count)).into(),
        None => SimpleSchedule::once().into(),
    })
}

/// Reads a duration in whole seconds.
pub fn whole_seconds(text: &str) -> Result<Duration, String> {
    let span = crate::value::duration(text)?;
    if span.subsec_nanos() == 0 { Ok(span) } else { Err("expected whole seconds".to_owned()) }
}

/// The longest unit in which it is a whole number.
fn units_of(span: Duration) -> (u32, IntervalUnit) {
    let seconds = span.as_secs();
    let (length, unit) = [(3_600, IntervalUnit::Hour), (60, IntervalUnit::Minute)]
        .into_iter()
        .find(|(length, _)| seconds.is_multiple_of(*length))
        .unwrap_or((1, IntervalUnit::Second));
    // A number that is too large for `u32` is too long for a day, which the schedule's check says.
    (u32::try_from(seconds / length).unwrap_or(u32::MAX), unit)
}

/// A schedule in one line.
pub fn words(schedule: &Schedule) -> String {
    match schedule {
        Schedule::Cron(cron) => format!("cron {} in {}", cron.expression().text(), cron.zone()),
        Schedule::Simple(simple) if simple.repeat_count() == Some(0) => "once".to_owned(),
        Schedule::Simple(simple) => {
            let every = match (simple.interval().as_millis(), simple.is_fixed_delay()) {
                (ms, false) => format!("every {ms} ms"),
                (ms, true) => format!("{ms} ms after each run"),
            };
            so_far(&every, simple.repeat_count(), simple.times_triggered())
        }
        Schedule::CalendarInterval(interval) => {
            let hour = match (interval.preserves_hour(), interval.skips_day_without_hour()) {
                (false, _) => "",
                (true, false) => ", at the same hour",
                (true, true) => ", at the same hour or not at all",
            };
            let every =
                format!("{} of the calendar in {}{hour}", every(interval.interval(), interval.unit()), interval.zone());
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
        other => other.kind().to_owned(),
    }
}

fn every(interval: u32, unit: IntervalUnit) -> String {
    if interval == 1 { format!("every {unit}") } else { format!("every {interval} {unit}s") }
}

fn so_far(every: &str, repeat_count: Option<u64>, times: u64) -> String {
    match repeat_count {
        Some(count) => format!("{every}, {times} of {} times so far", count.saturating_add(1)),
        None => format!("{every}, {times} times so far"),
    }
}

fn days_in_words(days: WeekdaySet) -> String {
    if days == WeekdaySet::ALL {
        return "all days".to_owned();
    }
    days.iter(Weekday::Mon).map(|day| day.to_string()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar_intervals_have_a_number_and_a_unit() {
        let read = |text| calendar_interval(text).map(|read| (read.interval, read.unit));
        assert_eq!(read("1month"), Ok((1, IntervalUnit::Month)));
        assert_eq!(read("2 Weeks"), Ok((2, IntervalUnit::Week)));
        assert_eq!(read("90seconds"), Ok((90, IntervalUnit::Second)));
        for text in ["", "1", "month", "1m", "-1day", "1.5days", "1dayss", "99999999999days"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn days_may_be_ranges_which_may_go_round() {
        let read = |text| days(text).map(days_in_words);
        assert_eq!(read("mon,TUE"), Ok("Mon, Tue".to_owned()));
        assert_eq!(read("fri-mon"), Ok("Mon, Fri, Sat, Sun".to_owned()));
        assert_eq!(read("monday-sunday"), Ok("all days".to_owned()));
        for text in ["", "mon,", "m", "mon-", "1"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    #[test]
    fn times_of_day_have_minutes_and_may_have_seconds() {
        let clock = |h, m, s| Ok(NaiveTime::from_hms_opt(h, m, s).unwrap());
        assert_eq!(time_of_day("9:05"), clock(9, 5, 0));
        assert_eq!(time_of_day("17:30:15"), clock(17, 30, 15));
        for text in ["", "9", "24:00", "09:60", "23:59:60", "9:00am"] {
            assert!(time_of_day(text).is_err(), "{text}");
        }
    }

    #[test]
    fn spans_are_told_in_their_longest_unit() {
        let seconds = |seconds| units_of(Duration::from_secs(seconds));
        assert_eq!(seconds(7_200), (2, IntervalUnit::Hour));
        assert_eq!(seconds(900), (15, IntervalUnit::Minute));
        assert_eq!(seconds(61), (61, IntervalUnit::Second));
        assert!(whole_seconds("1500ms").is_err());
    }
}
