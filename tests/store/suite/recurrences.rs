//! Recurrences: triggers by a rule of iCalendar, whose rows a node of Quartz never takes.

use super::beside_quartz::{JAVA, java_joins};
use super::*;
use carnelian::store::row::{ScheduleRow, TriggerSelection};
use carnelian::{Error, MisfireInstruction, RecurrenceSchedule, Schedule};
use chrono::NaiveDate;
use chrono_tz::Europe::Berlin;

const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// At eight o'clock in UTC, when each test begins; each test begins on a Friday.
fn daily() -> RecurrenceSchedule {
    RecurrenceSchedule::new("FREQ=DAILY").unwrap()
}

on_each_database!(recurrences_come_back_as_they_were_stored);
fn recurrences_come_back_as_they_were_stored() {
    let cluster = Cluster::new(open());
    let holiday = NaiveDate::from_ymd_opt(2027, 3, 26).unwrap().and_hms_opt(9, 0, 0).unwrap();
    let last_friday = RecurrenceSchedule::new("FREQ=MONTHLY;BYDAY=-1FR").unwrap().in_zone(Berlin);
    let stored = cluster.schedule(
        job("a"),
        [
            once("daily", "a", NOW).schedule(daily()),
            once("friday", "a", NOW)
                .schedule(last_friday.leaving_out([holiday]).also_at([holiday + chrono::TimeDelta::days(5)]))
                .misfire(MisfireInstruction::DoNothing),
            once("until", "a", NOW).schedule(RecurrenceSchedule::new("FREQ=WEEKLY;UNTIL=20280101").unwrap()),
            once("ignores", "a", NOW).schedule(daily()).misfire(MisfireInstruction::Ignore),
        ],
    );
    for trigger in &stored {
        assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap().as_ref(), Some(trigger));
    }
    let next = chrono::DateTime::parse_from_rfc3339("2027-01-29T09:00:00+01:00").unwrap();
    assert_eq!(cluster.next("friday"), Some(next.timestamp_millis()));
    let row = cluster.snapshot().triggers.into_iter().find(|row| row.key == trigger_key("friday")).unwrap();
    let rule = "RRULE:FREQ=MONTHLY;BYDAY=-1FR\nEXDATE:20270326T090000\nRDATE:20270331T090000";
    assert_eq!(row.schedule, ScheduleRow::Recurrence { rule: rule.to_owned(), zone: "Europe/Berlin".to_owned() });
    assert_eq!((row.kind.as_str(), row.misfire), ("RRULE", 2));
}

on_each_database!(they_are_reserved_fire_and_move_on);
fn they_are_reserved_fire_and_move_on() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let weekly = RecurrenceSchedule::new("FREQ=WEEKLY;BYDAY=FR,MO").unwrap();
    cluster.schedule(job("a"), [once("t", "a", NOW + SECOND).schedule(weekly)]);
    let reserved = a.reserve_one();
    cluster.advance(SECOND);
    let fired = a.fire(&[reserved]);
    a.complete(&fired[0]);
    for passed in [3 * DAY, 4 * DAY, 3 * DAY] {
        let due = cluster.now() + passed;
        assert_eq!(cluster.next("t"), Some(due));
        cluster.advance(passed);
        let bundle = a.fire_one();
        assert_eq!(bundle.scheduled_ms, due);
        a.complete(&bundle);
    }
}

on_each_database!(one_that_has_counted_to_its_end_goes_with_its_job);
fn one_that_has_counted_to_its_end_goes_with_its_job() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    for (name, recovery) in [("a", false), ("b", true)] {
        let twice = RecurrenceSchedule::new("FREQ=HOURLY;COUNT=2").unwrap();
        cluster.schedule(job(name).requests_recovery(recovery), [once(name, name, cluster.now()).schedule(twice)]);
        a.complete(&a.fire_one());
        assert_eq!(cluster.next(name), Some(cluster.now() + HOUR));
        cluster.advance(HOUR);
        a.complete(&a.fire_one());
        assert_eq!((cluster.state(name).as_str(), cluster.has_job(name)), ("-", false));
    }
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0, "its rule has gone too");
}

on_each_database!(one_that_never_recurs_is_refused);
fn one_that_never_recurs_is_refused() {
    let cluster = Cluster::new(open());
    for rule in ["FREQ=YEARLY;BYMONTH=2;BYMONTHDAY=30", "FREQ=DAILY;UNTIL=20261231"] {
        let error = cluster
            .try_schedule(job("a"), [once("t", "a", NOW).schedule(RecurrenceSchedule::new(rule).unwrap())])
            .unwrap_err();
        assert!(matches!(error, Error::NeverFires { .. }), "{rule}: {error}");
    }
    assert!(!cluster.has_job("a"));
}

on_each_database!(one_without_a_start_begins_with_the_second_in_which_it_is_stored);
/// A start that was left open is that of the store's clock, cut to the second.
fn one_without_a_start_begins_with_the_second_in_which_it_is_stored() {
    let cluster = Cluster::new(open());
    cluster.advance(700);
    let builder = carnelian::Trigger::builder(trigger_key("t"), job_key("a")).schedule(daily());
    cluster.schedule(job("a"), [builder]);
    assert_eq!(cluster.next("t"), Some(NOW));
}

on_each_database!(late_ones_fire_once_now_or_wait_or_fire_each_time);
fn late_ones_fire_once_now_or_wait_or_fire_each_time() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    use MisfireInstruction::{DoNothing, FireOnceNow, Ignore, Smart};
    for (name, instruction) in [("smart", Smart), ("once", FireOnceNow), ("wait", DoNothing), ("each", Ignore)] {
        cluster.schedule(job(name), [once(name, name, NOW).schedule(daily()).misfire(instruction)]);
    }
    cluster.advance(2 * DAY + HOUR);
    let late = cluster.now();
    assert_eq!(super::names(&a.acquire().fired), ["each"], "the others are the misfire handler's");
    assert_eq!(a.store.firing().poll(None, "", &["work".to_owned()]).unwrap().earliest_ms, Some(NOW + DAY));
    assert_eq!(super::names(&a.acquire().fired), ["each"]);
    let handled = cluster.store.upkeep().handle_misfires().unwrap().handled;
    assert_eq!(handled.len(), 3, "{handled:#?}");
    let next = ["smart", "once", "wait", "each"].map(|name| cluster.next(name));
    assert_eq!(next, [Some(late), Some(late), Some(NOW + 3 * DAY), Some(NOW + 2 * DAY)]);
    let mut fired: Vec<_> = super::names(&a.acquire().fired).into_iter().map(str::to_owned).collect();
    fired.sort();
    assert_eq!(fired, ["each", "once", "smart"]);
    for name in ["smart", "once", "wait", "each"] {
        assert_eq!(cluster.next(name), Some(NOW + 3 * DAY), "{name} goes on by its rule");
    }
    assert!(cluster.store.upkeep().handle_misfires().unwrap().handled.is_empty());
}

on_each_database!(instructions_of_simple_triggers_are_refused);
fn instructions_of_simple_triggers_are_refused() {
    let error = once("t", "a", NOW).schedule(daily()).misfire(MisfireInstruction::FireNow).build().unwrap_err();
    assert!(error.to_string().contains("a RRULE trigger takes one of ignore, smart, fire-once, do-nothing"), "{error}");
}

on_each_database!(pausing_replacing_and_deleting_are_as_ever);
fn pausing_replacing_and_deleting_are_as_ever() {
    let cluster = Cluster::new(open());
    let key = [trigger_key("t")];
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW).schedule(daily())]);
    cluster.store.catalogue().pause_triggers(&key).unwrap();
    cluster.advance(DAY + HOUR);
    cluster.store.catalogue().resume_triggers(&key, true).unwrap();
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(cluster.now())));
    let weekly = RecurrenceSchedule::new("FREQ=WEEKLY").unwrap();
    let schedules: [Schedule; 4] = [
        weekly.clone().into(),
        carnelian::SimpleSchedule::once().into(),
        weekly.into(),
        carnelian::CronSchedule::new("0 0 12 * * ?").unwrap().into(),
    ];
    for schedule in schedules {
        let trigger = once("t", "a", cluster.now()).schedule(schedule).build().unwrap();
        let stored = cluster.store.catalogue().add_trigger(trigger, true).unwrap();
        assert_eq!(cluster.store.catalogue().trigger(&key[0]).unwrap(), Some(stored));
        cluster.check();
    }
    cluster.store.catalogue().unschedule(&key).unwrap();
    cluster.schedule(job("b"), [once("t", "b", NOW).schedule(daily())]);
    cluster.store.catalogue().clear().unwrap();
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0);
}

on_each_database!(an_interrupted_fire_is_recovered);
fn an_interrupted_fire_is_recovered() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW).schedule(daily())]);
    a.fire_one();
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(WINDOW - 10 * SECOND + 1);
    assert_eq!(b.recovers().len(), 1);
    assert_eq!((cluster.recovery_trigger().start_time(), cluster.next("t")), (at(NOW), Some(NOW + DAY)));
}

on_each_database!(a_calendar_leaves_times_out);
fn a_calendar_leaves_times_out() {
    let cluster = Cluster::new(open());
    let weekend = carnelian::calendar::Calendar::new(carnelian::calendar::Weekdays::weekend());
    cluster.store.catalogue().add_calendar("weekend", &weekend, false, false).unwrap();
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW).schedule(daily()).calendar("weekend")]);
    a.complete(&a.fire_one());
    assert_eq!(cluster.next("t"), Some(NOW + 3 * DAY), "Monday");
}

on_each_database!(recurrences_are_refused_beside_quartz_and_go_on_if_it_joins_later);
/// Refused beside a node of Quartz, which could not read it; stored before, it goes on, and our
/// nodes fire it.
fn recurrences_are_refused_beside_quartz_and_go_on_if_it_joins_later() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let java_job = |name| carnelian::JobDetail::builder(job_key(name), "com.acme.Report").durable(true);
    cluster.schedule(job("a"), [once("t", "a", NOW).schedule(daily())]);
    java_joins(&cluster, &mut a);
    let refused = cluster.try_schedule(java_job("b"), [once("u", "b", NOW).schedule(daily())]);
    let Err(Error::Refused(why)) = refused else { panic!("{refused:?}") };
    assert!(why.contains("is a recurrence") && why.contains(JAVA), "{why}");
    a.complete(&a.fire_one());
    assert_eq!(cluster.next("t"), Some(NOW + DAY));
}

on_each_database!(a_rule_that_cannot_be_read_is_named_and_the_others_go_on);
fn a_rule_that_cannot_be_read_is_named_and_the_others_go_on() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let keys = ["rule", "zone"].map(trigger_key);
    cluster.schedule(job("good"), [once("good", "good", NOW).schedule(daily())]);
    cluster.schedule(job("bad"), ["rule", "zone"].map(|name| once(name, "bad", NOW).schedule(daily())));
    cluster.tamper(|s| {
        let mut rows = s.triggers(TriggerSelection::Keys(&keys))?;
        s.delete_triggers(&keys, None)?;
        for row in &mut rows {
            let ScheduleRow::Recurrence { rule, zone } = &mut row.schedule else { panic!("{row:?}") };
            if row.key == keys[0] { *rule = "RRULE:FREQ=OFTEN".to_owned() } else { *zone = "Mars/Olympus".to_owned() }
        }
        s.insert_triggers(&rows)
    });
    let acquisition = a.acquire();
    assert_eq!((super::names(&acquisition.fired), acquisition.unreadable.len()), (vec!["good"], 2));
    for (key, expected) in keys.iter().zip(["OFTEN", "TIME_ZONE_ID = `Mars/Olympus`"]) {
        let error = cluster.store.catalogue().trigger(key).unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }) && error.to_string().contains(expected), "{error}");
    }
}
