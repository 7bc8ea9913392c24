//! Between the row of a trigger's kind and its schedule.

use super::row::{Counts, OptionsRow, ScheduleRow, TriggerRow};
use crate::cron::{CronExpression, TimeChange};
use crate::error::{Error, Result};
use crate::trigger::{
    CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, IntervalUnit, Policies, RecurrenceSchedule,
    Schedule, SimpleSchedule, Trigger, TriggerOption,
};
use crate::zone;
use chrono::{NaiveTime, Timelike, Weekday, WeekdaySet};
use chrono_tz::Tz;

/// The row in the table of the trigger's kind, as Quartz writes it.
pub(super) fn schedule_row(schedule: &Schedule) -> ScheduleRow {
    match schedule {
        Schedule::Simple(s) => ScheduleRow::Simple {
            repeat_count: s.repeat_count,
            interval_ms: s.interval_ms,
            times_triggered: s.times_triggered,
        },
        Schedule::Cron(c) => {
            ScheduleRow::Cron { expression: c.expression.text().to_owned(), zone: Some(c.zone.name().to_owned()) }
        }
        Schedule::CalendarInterval(c) => ScheduleRow::CalendarInterval {
            interval: c.interval,
            unit: c.unit.name().to_owned(),
            zone: Some(c.zone.name().to_owned()),
            preserve_hour: c.preserve_hour,
            skip_day: c.skip_day,
            times_triggered: c.times_triggered,
        },
        Schedule::DailyTimeInterval(d) => ScheduleRow::DailyTimeInterval {
            interval: d.interval,
            unit: d.unit.name().to_owned(),
            repeat_count: d.repeat_count,
            days: Some(days_text(d.days)),
            times_of_day: Some(times_text(d.from, d.to)),
            times_triggered: d.times_triggered,
        },
        Schedule::Recurrence(r) => ScheduleRow::Recurrence { rule: r.lines(), zone: r.zone().name().to_owned() },
    }
}

/// The row in the side table of options; none for a trigger that does everything as Quartz does.
pub(super) fn options_row(trigger: &Trigger) -> Option<OptionsRow> {
    let options = trigger.schedule.options().into_iter().map(|option| option.name().to_owned());
    let names: Vec<_> = options.chain(trigger.policies.words()).collect();
    (!names.is_empty()).then(|| OptionsRow { names: names.join(","), beside_quartz: false })
}

/// The counts that a fire or a misfire changes.
pub(super) fn counts(schedule: &Schedule) -> Option<Counts> {
    match schedule {
        Schedule::Simple(s) => {
            Some(Counts::Simple { repeat_count: s.repeat_count, times_triggered: s.times_triggered })
        }
        Schedule::Cron(_) | Schedule::Recurrence(_) => None,
        Schedule::CalendarInterval(c) => Some(Counts::Interval { times_triggered: c.times_triggered }),
        Schedule::DailyTimeInterval(d) => {
            Some(Counts::Daily { times_triggered: d.times_triggered, times_of_day: times_text(d.from, d.to) })
        }
    }
}

/// The schedule of a row; `default_zone` counts where the row names none.
///
/// Beside a node of Quartz the schedule has no options. Both kinds of node may fire any trigger,
/// and whoever does computes its next time: were the options in effect, that time would depend on
/// who was faster. To leave such a trigger alone would not help, since Quartz's nodes take it all
/// the same, nor would it be safe, since there may be a job that only ours can run. As long as
/// there is a node of Quartz, all nodes therefore compute as it does.
///
/// # Errors
/// [`Error::Unreadable`], naming the column and what is wrong with it.
pub(super) fn schedule(row: &TriggerRow, default_zone: Tz) -> Result<Schedule> {
    let schedule = quartz_schedule(row, default_zone)?;
    let Some(options) = &row.options else { return Ok(schedule) };
    let mut better = schedule.clone();
    for option in read_options(row, &options.names)?.0 {
        better = better.with_option(option).map_err(|e| unreadable(row, e.to_string()))?;
    }
    Ok(if options.beside_quartz { schedule } else { better })
}

/// The policies of a row that have an effect: none beside a node of Quartz.
///
/// # Errors
/// As [`schedule`].
pub(super) fn policies(row: &TriggerRow) -> Result<Policies> {
    match row.options.as_ref().filter(|options| !options.beside_quartz) {
        Some(_) => stored_policies(row),
        None => Ok(Policies::default()),
    }
}

/// The policies of a row, whether or not they have an effect now.
pub(super) fn stored_policies(row: &TriggerRow) -> Result<Policies> {
    row.options.as_ref().map_or(Ok(Policies::default()), |options| Ok(read_options(row, &options.names)?.1))
}

/// True if the end of a run sets the next time of the trigger; not beside a node of Quartz.
pub(super) fn is_fixed_delay(row: &TriggerRow) -> bool {
    let options = row.options.as_ref().filter(|options| !options.beside_quartz);
    options.is_some_and(|options| options.names.split(',').any(|name| name == TriggerOption::FixedDelay.name()))
}

fn read_options(row: &TriggerRow, names: &str) -> Result<(Vec<TriggerOption>, Policies)> {
    let (mut options, mut policies) = (Vec::new(), Policies::default());
    for name in names.split(',') {
        match TriggerOption::from_name(name) {
            Some(option) => options.push(option),
            None if policies.take(name) => {}
            None => {
                let known = TriggerOption::ALL.map(TriggerOption::name).join(", ");
                let known = format!("{known}, overlap-…, catch-up=…, pause-on-failure");
                return Err(unreadable(row, format!("OPTIONS = `{names}`: expected some of {known}")));
            }
        }
    }
    Ok((options, policies))
}

/// The schedule of a row without its options.
fn quartz_schedule(row: &TriggerRow, default_zone: Tz) -> Result<Schedule> {
    let schedule = match (&row.schedule, row.kind.as_str()) {
        (ScheduleRow::Simple { repeat_count, interval_ms, times_triggered }, "SIMPLE") => {
            let simple = SimpleSchedule {
                // More fires than anybody will see.
                repeat_count: (*repeat_count).min(i32::MAX.into()),
                interval_ms: *interval_ms,
                times_triggered: *times_triggered,
                fixed_delay: false,
            };
            simple.check().map(|()| Schedule::Simple(simple))
        }
        (ScheduleRow::Cron { expression, zone }, "CRON") => {
            let zone = zone_of(row, "TIME_ZONE_ID", zone.as_deref(), default_zone)?;
            let expression = CronExpression::parse(expression).map_err(|e| unreadable(row, e.to_string()))?;
            Ok(Schedule::Cron(CronSchedule {
                expression,
                zone,
                is_zone_given: true,
                time_change: TimeChange::default(),
            }))
        }
        (
            ScheduleRow::CalendarInterval { interval, unit, zone, preserve_hour, skip_day, times_triggered },
            "CAL_INT",
        ) => {
            let calendar_interval = CalendarIntervalSchedule {
                interval: *interval,
                unit: unit_of(row, unit)?,
                zone: zone_of(row, "STR_PROP_2", zone.as_deref(), default_zone)?,
                is_zone_given: true,
                preserve_hour: *preserve_hour,
                skip_day: *skip_day,
                without_drift: false,
                times_triggered: *times_triggered,
            };
            calendar_interval.check().map(|()| Schedule::CalendarInterval(calendar_interval))
        }
        (
            ScheduleRow::DailyTimeInterval { interval, unit, repeat_count, days, times_of_day, times_triggered },
            "DAILY_I",
        ) => {
            let (from, to) = times_of(row, times_of_day.as_deref())?;
            let daily = DailyTimeIntervalSchedule {
                interval: *interval,
                unit: unit_of(row, unit)?,
                repeat_count: *repeat_count,
                days: days_of(row, days.as_deref())?,
                from,
                to: Some(to),
                times_triggered: *times_triggered,
                respect_end: false,
                default_zone,
            };
            daily.check().map(|()| Schedule::DailyTimeInterval(daily))
        }
        (ScheduleRow::Recurrence { rule, zone }, "RRULE") => {
            let zone = zone_of(row, "TIME_ZONE_ID", Some(zone), default_zone)?;
            RecurrenceSchedule::new(rule).map(|recurrence| Schedule::Recurrence(recurrence.in_zone(zone)))
        }
        (ScheduleRow::Missing, kind) if Schedule::KINDS.contains(&kind) => {
            return Err(unreadable(row, "its row in the table of its kind is missing".to_owned()));
        }
        (_, kind) => {
            let known = Schedule::KINDS.join(", ");
            return Err(unreadable(row, format!("TRIGGER_TYPE = `{kind}`: this version knows {known}")));
        }
    };
    schedule.map_err(|e| unreadable(row, e.to_string()))
}

fn zone_of(row: &TriggerRow, column: &str, name: Option<&str>, default_zone: Tz) -> Result<Tz> {
    match name.map(str::trim) {
        None | Some("") => Ok(default_zone),
        Some(name) => zone::named(name)
            .ok_or_else(|| unreadable(row, format!("{column} = `{name}`: expected the name of a time zone"))),
    }
}

fn unit_of(row: &TriggerRow, name: &str) -> Result<IntervalUnit> {
    IntervalUnit::from_name(name).ok_or_else(|| {
        let known = IntervalUnit::ALL.map(IntervalUnit::name).join(", ");
        unreadable(row, format!("STR_PROP_1 = `{name}`: expected one of {known}"))
    })
}

/// `1,7`: 1 is Sunday.
fn days_text(days: WeekdaySet) -> String {
    days.iter(Weekday::Sun).map(|day| (day.num_days_from_sunday() + 1).to_string()).collect::<Vec<_>>().join(",")
}

fn days_of(row: &TriggerRow, text: Option<&str>) -> Result<WeekdaySet> {
    let Some(text) = text else { return Ok(WeekdaySet::ALL) };
    let day =
        |number: &str| Weekday::try_from((number.parse::<u8>().ok()?.checked_sub(1).filter(|n| *n < 7)? + 6) % 7).ok();
    text.split(',').try_fold(WeekdaySet::EMPTY, |days, number| {
        let day = day(number).ok_or_else(|| {
            unreadable(row, format!("STR_PROP_2 = `{text}`: expected days of the week such as `1,7`; 1 is Sunday"))
        })?;
        Ok(days.union(WeekdaySet::single(day)))
    })
}

/// `8,5,0,17,0,30`: the first time of the day, then the last; `,,,` where there is none.
fn times_text(from: NaiveTime, to: Option<NaiveTime>) -> String {
    let numbers = |time: NaiveTime| format!("{},{},{}", time.hour(), time.minute(), time.second());
    format!("{},{}", numbers(from), to.map_or(",,,".to_owned(), numbers))
}

fn times_of(row: &TriggerRow, text: Option<&str>) -> Result<(NaiveTime, NaiveTime)> {
    let text = text.unwrap_or_default();
    let bad = || unreadable(row, format!("STR_PROP_3 = `{text}`: expected two times of day such as `8,0,0,17,30,0`"));
    // Empty parts at the end are dropped, as in Java.
    let numbers: Vec<u32> = match text.trim_end_matches(',') {
        "" => Vec::new(),
        given => given.split(',').map(|number| number.parse().map_err(|_| bad())).collect::<Result<_>>()?,
    };
    let time = |numbers: Option<&[u32]>, otherwise| match numbers {
        Some([hour, minute, second]) => NaiveTime::from_hms_opt(*hour, *minute, *second).ok_or_else(bad),
        _ => Ok(otherwise),
    };
    let last_second = DailyTimeIntervalSchedule::LAST_SECOND;
    Ok((time(numbers.get(..3), NaiveTime::MIN)?, time(numbers.get(3..6), last_second)?))
}

/// The error of a trigger's row that cannot be read, and why.
pub(super) fn unreadable(row: &TriggerRow, reason: String) -> Error {
    Error::unreadable("TRIGGERS", &row.key, reason)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{JobKey, TriggerKey};

    fn row(kind: &str, schedule: ScheduleRow) -> TriggerRow {
        TriggerRow {
            key: TriggerKey::named("t"),
            job: JobKey::named("j"),
            description: None,
            next_ms: None,
            previous_ms: None,
            priority: 5,
            state: "WAITING".to_owned(),
            kind: kind.to_owned(),
            start_ms: 0,
            end_ms: None,
            calendar: None,
            misfire: 0,
            data: None,
            schedule,
            options: None,
        }
    }

    fn daily(days: Option<&str>, times_of_day: Option<&str>) -> TriggerRow {
        let schedule = ScheduleRow::DailyTimeInterval {
            interval: 1,
            unit: "HOUR".to_owned(),
            repeat_count: -1,
            days: days.map(str::to_owned),
            times_of_day: times_of_day.map(str::to_owned),
            times_triggered: 0,
        };
        row("DAILY_I", schedule)
    }

    /// Empty parts at the end count as missing, as in Java.
    #[test]
    fn times_of_day_are_read_as_java_reads_them() {
        let cases = [
            (None, "00:00:00 23:59:59"),
            (Some(""), "00:00:00 23:59:59"),
            (Some(",,,,,,"), "00:00:00 23:59:59"),
            (Some("8,5,0"), "08:05:00 23:59:59"),
            (Some("8,5,0,,,,"), "08:05:00 23:59:59"),
            (Some("8,5,0,17,0"), "08:05:00 23:59:59"),
            (Some("8,5,0,17,0,30"), "08:05:00 17:00:30"),
        ];
        for (text, expected) in cases {
            let Schedule::DailyTimeInterval(read) = schedule(&daily(None, text), Tz::UTC).unwrap() else { panic!() };
            assert_eq!(format!("{} {}", read.from, read.to.unwrap()), expected, "{text:?}");
        }
        for text in ["8,5,x", "8,60,0", "24,0,0", ",,,17,0,0", "-1,0,0", "17,0,0,8,0,0"] {
            assert!(schedule(&daily(None, Some(text)), Tz::UTC).is_err(), "{text}");
        }
    }

    #[test]
    fn days_are_numbers_from_sunday_in_any_order() {
        let read = |text| schedule(&daily(Some(text), None), Tz::UTC);
        for (text, again) in [("1", "1"), ("7,1,1", "1,7"), ("6,5,4,3,2", "2,3,4,5,6")] {
            let ScheduleRow::DailyTimeInterval { days, .. } = schedule_row(&read(text).unwrap()) else { panic!() };
            assert_eq!(days.as_deref(), Some(again));
        }
        for text in ["", "0", "8", "1,", "MON", "1, 2", "256"] {
            assert!(read(text).is_err(), "`{text}`");
        }
    }

    #[test]
    fn options_are_read_as_they_are_written_and_have_no_effect_beside_quartz() {
        let nightly = CronSchedule::new("0 30 2 * * ?").unwrap().in_zone(Tz::UTC);
        let cron = Schedule::from(nightly.fire_at_gap_end(true).both_passes(true));
        let with = |names: &str, beside_quartz| {
            let options = Some(OptionsRow { names: names.to_owned(), beside_quartz });
            schedule(&TriggerRow { options, ..row("CRON", schedule_row(&cron)) }, Tz::UTC)
        };
        let options_of = |schedule: Schedule| {
            let key = crate::TriggerKey::named("t");
            options_row(&Trigger::builder(key, crate::JobKey::named("j")).schedule(schedule).build().unwrap())
        };
        let written = options_of(cron.clone()).unwrap().names;
        assert_eq!(written, "fire-at-gap-end,both-passes");
        assert_eq!(with(&written, false).unwrap(), cron);
        assert_eq!(with(&written, true).unwrap().options(), []);
        assert_eq!(options_of(with(&written, true).unwrap()), None);
        for (names, expected) in [
            ("", "expected some of"),
            ("faster", "OPTIONS = `faster`"),
            ("without-drift", "it is for CAL_INT triggers"),
        ] {
            for beside_quartz in [false, true] {
                let error = with(names, beside_quartz).unwrap_err().to_string();
                assert!(error.contains(expected), "{error}");
            }
        }
    }

    #[test]
    fn a_kind_and_the_row_of_another_do_not_go_together() {
        let simple = ScheduleRow::Simple { repeat_count: 0, interval_ms: 0, times_triggered: 0 };
        for (kind, expected) in
            [("CRON", "knows SIMPLE"), ("BLOB", "TRIGGER_TYPE = `BLOB`: this version knows SIMPLE, CRON")]
        {
            let error = schedule(&row(kind, simple.clone()), Tz::UTC).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        let error = schedule(&row("DAILY_I", ScheduleRow::Missing), Tz::UTC).unwrap_err().to_string();
        assert!(error.contains("its row in the table of its kind is missing"), "{error}");
    }
}
