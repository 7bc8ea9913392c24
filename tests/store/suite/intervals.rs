//! Intervals: triggers by the calendar and by the time of day, whose rows are those of Quartz's
//! `SIMPROP_TRIGGERS`.

use super::*;
use carnelian::store::row::{ScheduleRow, TriggerRow, TriggerSelection};
use carnelian::{
    CalendarIntervalSchedule, DailyTimeIntervalSchedule, Error, IntervalUnit, MisfireInstruction, Schedule,
};
use chrono::{NaiveTime, Weekday};
use chrono_tz::Europe::Berlin;

const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// From eight o'clock in UTC, when each test begins.
fn daily() -> CalendarIntervalSchedule {
    CalendarIntervalSchedule::every(1, IntervalUnit::Day).in_zone(Berlin)
}

/// At 8:00, 8:30 and 9:00 of the default zone, from Monday to Friday; each test begins on a Friday.
fn mornings() -> DailyTimeIntervalSchedule {
    let clock = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap();
    let half_hours = DailyTimeIntervalSchedule::every(30, IntervalUnit::Minute).on_monday_through_friday();
    half_hours.starting_daily_at(clock(8)).ending_daily_at(clock(9))
}

fn scheduled(cluster: &Cluster, name: &str) -> Schedule {
    cluster.store.catalogue().trigger(&trigger_key(name)).unwrap().unwrap().schedule().clone()
}

fn times_triggered(cluster: &Cluster, name: &str) -> u64 {
    match scheduled(cluster, name) {
        Schedule::CalendarInterval(interval) => interval.times_triggered(),
        Schedule::DailyTimeInterval(daily) => daily.times_triggered(),
        other => panic!("{other:?}"),
    }
}

fn row(cluster: &Cluster, name: &str) -> TriggerRow {
    let rows = cluster.snapshot().triggers;
    rows.into_iter().find(|row| row.key == trigger_key(name)).unwrap()
}

/// Replaces the row of a trigger's kind, as another program may have written it.
fn rewrite(cluster: &Cluster, name: &str, change: impl Fn(&mut ScheduleRow)) {
    let key = [trigger_key(name)];
    cluster.tamper(|s| {
        let mut rows = s.triggers(TriggerSelection::Keys(&key))?;
        s.delete_triggers(&key, None)?;
        rows.iter_mut().for_each(|row| change(&mut row.schedule));
        s.insert_triggers(&rows)
    });
}

on_each_strategy!(triggers_of_intervals_come_back_as_they_were_stored);
fn triggers_of_intervals_come_back_as_they_were_stored() {
    let cluster = Cluster::new(open());
    let yearly = CalendarIntervalSchedule::every(2, IntervalUnit::Year).preserve_hour(true);
    let stored = cluster.schedule(
        job("a"),
        [
            once("daily", "a", NOW).schedule(daily().preserve_hour(true).skip_day_without_hour(true)),
            once("yearly", "a", NOW).schedule(yearly).misfire(MisfireInstruction::DoNothing),
            once("mornings", "a", NOW).schedule(mornings().repeat(7)).end_at(at(NOW + DAY)),
            once("always", "a", NOW).schedule(DailyTimeIntervalSchedule::every(1, IntervalUnit::Hour)),
        ],
    );
    for trigger in &stored {
        assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap().as_ref(), Some(trigger));
    }
    let kinds: Vec<_> = cluster.snapshot().triggers.into_iter().map(|row| row.kind).collect();
    assert_eq!(kinds.iter().filter(|kind| *kind == "CAL_INT").count(), 2, "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| *kind == "DAILY_I").count(), 2, "{kinds:?}");
}

on_each_strategy!(their_rows_are_those_that_quartz_writes);
fn their_rows_are_those_that_quartz_writes() {
    let cluster = Cluster::new(open());
    let weekend = mornings().on_days([Weekday::Sat, Weekday::Sun]);
    cluster.schedule(
        job("a"),
        [
            once("interval", "a", NOW).schedule(daily().preserve_hour(true)),
            once("weekend", "a", NOW).schedule(weekend),
            once("open", "a", NOW).schedule(mornings().without_end_of_day().repeat(3)),
        ],
    );
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(
        row(&cluster, "interval").schedule,
        ScheduleRow::CalendarInterval {
            interval: 1,
            unit: "DAY".to_owned(),
            zone: text("Europe/Berlin"),
            preserve_hour: true,
            skip_day: false,
            times_triggered: 0,
        }
    );
    let daily = |days, times, repeat_count| ScheduleRow::DailyTimeInterval {
        interval: 30,
        unit: "MINUTE".to_owned(),
        repeat_count,
        days: text(days),
        times_of_day: text(times),
        times_triggered: 0,
    };
    assert_eq!(row(&cluster, "weekend").schedule, daily("1,7", "8,0,0,9,0,0", -1));
    assert_eq!(row(&cluster, "open").schedule, daily("2,3,4,5,6", "8,0,0,,,,", 3));
}

on_each_strategy!(they_fire_and_move_on_and_are_counted);
fn they_fire_and_move_on_and_are_counted() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(
        job("a"),
        [once("daily", "a", NOW).schedule(daily()), once("mornings", "a", NOW).schedule(mornings())],
    );
    for (round, next) in [(1, 30 * MINUTE), (2, HOUR), (3, 3 * DAY)] {
        for bundle in a.acquire().fired {
            a.complete(&bundle);
        }
        assert_eq!((cluster.next("mornings"), times_triggered(&cluster, "mornings")), (Some(NOW + next), round));
        assert_eq!((cluster.next("daily"), times_triggered(&cluster, "daily")), (Some(NOW + DAY), 1));
        cluster.advance(30 * MINUTE);
    }
}

on_each_strategy!(a_daily_interval_that_is_used_up_goes_with_its_job);
fn a_daily_interval_that_is_used_up_goes_with_its_job() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW).schedule(mornings().repeat(1))]);
    a.complete(&a.fire_one());
    cluster.advance(30 * MINUTE);
    a.complete(&a.fire_one());
    assert_eq!((cluster.state("t").as_str(), cluster.has_job("a")), ("-", false));
    assert_eq!(cluster.snapshot().stray_schedules, []);
}

on_each_strategy!(a_calendar_interval_that_ends_goes_too_also_where_its_job_asks_for_recovery);
fn a_calendar_interval_that_ends_goes_too_also_where_its_job_asks_for_recovery() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    for (name, recovery) in [("a", false), ("b", true)] {
        let ends = once(name, name, NOW).schedule(daily()).end_at(at(NOW + DAY));
        cluster.schedule(job(name).requests_recovery(recovery), [ends]);
        a.complete(&a.fire_one());
        assert_eq!((cluster.state(name).as_str(), cluster.has_job(name)), ("-", false));
    }
    assert_eq!(cluster.snapshot().stray_schedules, []);
}

on_each_strategy!(a_daily_interval_may_fire_after_its_end_on_the_last_day);
/// Quartz compares the end with the beginning of a day only.
fn a_daily_interval_may_fire_after_its_end_on_the_last_day() {
    let cluster = Cluster::new(open());
    let ends = once("t", "a", NOW + MINUTE).schedule(mornings()).end_at(at(NOW + 2 * MINUTE));
    cluster.schedule(job("a"), [ends]);
    assert_eq!(cluster.next("t"), Some(NOW + 30 * MINUTE));
}

on_each_strategy!(a_daily_interval_is_read_by_the_zone_of_its_scheduler);
fn a_daily_interval_is_read_by_the_zone_of_its_scheduler() {
    let cluster = Cluster::with(open(), |settings| settings.scheduler.time_zone = Berlin);
    cluster.schedule(job("a"), [once("t", "a", NOW).schedule(mornings().with_default_zone(chrono_tz::Asia::Tokyo))]);
    // Nine in Berlin is eight in UTC.
    assert_eq!(cluster.next("t"), Some(NOW));
    let Schedule::DailyTimeInterval(daily) = scheduled(&cluster, "t") else { panic!("a daily interval") };
    assert_eq!(daily.default_zone(), Berlin);
    let a = cluster.node("A");
    a.complete(&a.fire_one());
    assert_eq!(cluster.next("t"), Some(NOW + 3 * DAY - HOUR), "Monday at eight in Berlin");
}

on_each_strategy!(late_ones_fire_once_now_or_wait_as_they_are_told);
fn late_ones_fire_once_now_or_wait_as_they_are_told() {
    let cluster = Cluster::new(open());
    use MisfireInstruction::{DoNothing, FireOnceNow, Smart};
    for (name, instruction) in [("smart", Smart), ("once", FireOnceNow), ("wait", DoNothing)] {
        let triggers = [
            once(&format!("{name}-daily"), name, NOW).schedule(daily()).misfire(instruction),
            once(&format!("{name}-mornings"), name, NOW).schedule(mornings()).misfire(instruction),
        ];
        cluster.schedule(job(name), triggers);
    }
    cluster.advance(5 * MINUTE);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 6);
    let late = Some(NOW + 5 * MINUTE);
    for name in ["smart", "once"] {
        let next = |kind| cluster.next(&format!("{name}-{kind}"));
        assert_eq!((next("daily"), next("mornings")), (late, late), "{name}");
    }
    assert_eq!((cluster.next("wait-daily"), cluster.next("wait-mornings")), (Some(NOW + DAY), Some(NOW + 30 * MINUTE)));
}

on_each_strategy!(instructions_of_simple_triggers_are_refused);
fn instructions_of_simple_triggers_are_refused() {
    let schedules: [Schedule; 2] = [daily().into(), mornings().into()];
    for schedule in schedules {
        let trigger = once("t", "a", NOW).schedule(schedule).misfire(MisfireInstruction::FireNow);
        let error = trigger.build().unwrap_err().to_string();
        assert!(error.contains("ignore, smart, fire-once, do-nothing"), "{error}");
    }
}

on_each_strategy!(replacing_a_trigger_by_one_of_another_kind_leaves_nothing_behind);
fn replacing_a_trigger_by_one_of_another_kind_leaves_nothing_behind() {
    let cluster = Cluster::new(open());
    let schedules: [Schedule; 5] = [
        daily().into(),
        mornings().into(),
        carnelian::CronSchedule::new("0 0 12 * * ?").unwrap().into(),
        daily().into(),
        carnelian::SimpleSchedule::once().into(),
    ];
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW)]);
    for schedule in schedules {
        let trigger = once("t", "a", NOW).schedule(schedule).build().unwrap();
        let trigger = cluster.store.catalogue().add_trigger(trigger, true).unwrap();
        assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap(), Some(trigger));
        cluster.check();
    }
    cluster.store.catalogue().unschedule(&[trigger_key("t")]).unwrap();
    assert_eq!(cluster.snapshot().stray_schedules, []);
}

on_each_strategy!(an_interrupted_fire_of_an_interval_is_recovered);
fn an_interrupted_fire_of_an_interval_is_recovered() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW).schedule(mornings())]);
    a.fire_one();
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(WINDOW - 10 * SECOND + 1);
    assert_eq!(b.recovers().len(), 1);
    assert_eq!(cluster.recovery_trigger().start_time(), at(NOW));
    assert_eq!((cluster.next("t"), times_triggered(&cluster, "t")), (Some(NOW + 30 * MINUTE), 1));
}

on_each_strategy!(what_another_program_left_out_of_a_row_has_its_default);
fn what_another_program_left_out_of_a_row_has_its_default() {
    let cluster = Cluster::with(open(), |settings| settings.scheduler.time_zone = Berlin);
    let triggers = [once("interval", "a", NOW).schedule(daily()), once("mornings", "a", NOW).schedule(mornings())];
    cluster.schedule(job("a"), triggers);
    for empty in [None, Some(String::new())] {
        rewrite(&cluster, "interval", |row| {
            let ScheduleRow::CalendarInterval { zone, .. } = row else { panic!("{row:?}") };
            *zone = empty.clone();
        });
        let Schedule::CalendarInterval(interval) = scheduled(&cluster, "interval") else { panic!("an interval") };
        assert_eq!(interval.zone(), Berlin);
    }
    rewrite(&cluster, "mornings", |row| {
        let ScheduleRow::DailyTimeInterval { days, times_of_day, .. } = row else { panic!("{row:?}") };
        (*days, *times_of_day) = (None, None);
    });
    let Schedule::DailyTimeInterval(read) = scheduled(&cluster, "mornings") else { panic!("a daily interval") };
    let all = DailyTimeIntervalSchedule::every(30, IntervalUnit::Minute).with_default_zone(Berlin);
    assert_eq!(read, all);
}

on_each_strategy!(a_row_that_makes_no_sense_is_named_and_the_others_go_on);
fn a_row_that_makes_no_sense_is_named_and_the_others_go_on() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let names = ["unit", "zone", "interval", "days", "times", "long"];
    let breaks = |name: &str, row: &mut ScheduleRow| match row {
        ScheduleRow::CalendarInterval { unit, zone, interval, .. } => match name {
            "unit" => *unit = "MILLISECOND".to_owned(),
            "zone" => *zone = Some("Mars/Olympus".to_owned()),
            _ => *interval = 0,
        },
        ScheduleRow::DailyTimeInterval { days, times_of_day, interval, .. } => match name {
            "days" => *days = Some("2,8".to_owned()),
            "times" => *times_of_day = Some("8,0,0,25,0,0".to_owned()),
            _ => *interval = 1441,
        },
        other => panic!("{other:?}"),
    };
    cluster.schedule(job("good"), [once("good", "good", NOW)]);
    for (i, name) in names.into_iter().enumerate() {
        let schedule: Schedule = if i < 3 { daily().into() } else { mornings().into() };
        cluster.schedule(job(name), [once(name, name, NOW).schedule(schedule)]);
        rewrite(&cluster, name, |row| breaks(name, row));
    }
    let acquisition = a.acquire();
    assert_eq!(super::names(&acquisition.fired), ["good"]);
    assert_eq!(acquisition.unreadable.len(), names.len());
    let expected = [
        "STR_PROP_1 = `MILLISECOND`: expected one of SECOND, MINUTE",
        "STR_PROP_2 = `Mars/Olympus`: expected the name of a time zone",
        "calendar interval",
        "STR_PROP_2 = `2,8`: expected days of the week",
        "STR_PROP_3 = `8,0,0,25,0,0`: expected two times of day",
        "at most 24 hours",
    ];
    for (name, expected) in names.into_iter().zip(expected) {
        let error = cluster.store.catalogue().trigger(&trigger_key(name)).unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }) && error.to_string().contains(expected), "{error}");
    }
}

on_each_strategy!(a_daily_trigger_without_an_end_of_day_has_one_once_it_was_read);
/// Quartz reads a trigger that was given no end of day as one that ends at 23:59:59, and writes
/// that with its next fire.
fn a_daily_trigger_without_an_end_of_day_has_one_once_it_was_read() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let endless = DailyTimeIntervalSchedule::every(30, IntervalUnit::Minute).without_end_of_day();
    cluster.schedule(job("a"), [once("t", "a", NOW).schedule(endless)]);
    let times = || match row(&cluster, "t").schedule {
        ScheduleRow::DailyTimeInterval { times_of_day, .. } => times_of_day.unwrap(),
        other => panic!("{other:?}"),
    };
    assert_eq!(times(), "0,0,0,,,,");
    a.fire_one();
    assert_eq!(times(), "0,0,0,23,59,59");
    assert_eq!(times_triggered(&cluster, "t"), 1);
}
