//! Options: behaviour of triggers that differs from Quartz, stored beside their rows, and suspended
//! beside its nodes.

use super::beside_quartz::{JAVA, java_joins};
use super::*;
use carnelian::store::row::{Departure, OptionsRow, TriggerSelection};
use carnelian::trigger::TriggerOption;
use carnelian::{
    CalendarIntervalSchedule, CronSchedule, DailyTimeIntervalSchedule, Error, IntervalUnit, MisfireInstruction,
    Schedule,
};
use chrono::{DateTime, NaiveTime};
use chrono_tz::Europe::Berlin;

fn ms(text: &str) -> i64 {
    DateTime::parse_from_rfc3339(text).unwrap().timestamp_millis()
}

fn nightly() -> CronSchedule {
    CronSchedule::new("0 30 2 * * ?").unwrap().in_zone(Berlin).fire_at_gap_end(true).both_passes(true)
}

fn monthly() -> CalendarIntervalSchedule {
    CalendarIntervalSchedule::every(1, IntervalUnit::Month).without_drift(true)
}

/// At 8:00, 8:30 and 9:00 in UTC; each test begins at 8:00.
fn mornings() -> DailyTimeIntervalSchedule {
    let clock = |hour| NaiveTime::from_hms_opt(hour, 0, 0).unwrap();
    let half_hours = DailyTimeIntervalSchedule::every(30, IntervalUnit::Minute).respect_end_time(true);
    half_hours.starting_daily_at(clock(8)).ending_daily_at(clock(9))
}

/// The options in the side table, `-` if there are none or there is no trigger.
fn stored(cluster: &Cluster, name: &str) -> String {
    let row = cluster.snapshot().triggers.into_iter().find(|row| row.key == trigger_key(name));
    row.and_then(|row| row.options).map_or("-".to_owned(), |options| options.names)
}

fn options(cluster: &Cluster, name: &str) -> Vec<TriggerOption> {
    cluster.store.catalogue().trigger(&trigger_key(name)).unwrap().unwrap().schedule().options()
}

/// The clock is set to a moment, the trigger that is due fires, and this is when it fires next.
fn fires_at(cluster: &Cluster, node: &Node, name: &str, at: &str) -> Option<i64> {
    cluster.advance(ms(at) - cluster.now());
    let bundle = node.fire_one();
    assert_eq!((bundle.trigger.key().name(), bundle.scheduled_ms), (name, ms(at)));
    node.complete(&bundle);
    cluster.next(name)
}

fn java_leaves(cluster: &Cluster, node: &mut Node) {
    cluster.tamper(|s| s.delete_instance(JAVA, Departure::Any).map(drop));
    node.check_in();
    assert!(!node.store.is_beside_quartz());
}

on_each_database!(triggers_with_options_come_back_as_they_were_stored);
fn triggers_with_options_come_back_as_they_were_stored() {
    let cluster = Cluster::new(open());
    let stored_triggers = cluster.schedule(
        job("a"),
        [
            once("nightly", "a", NOW).schedule(nightly()),
            once("passes", "a", NOW).schedule(nightly().fire_at_gap_end(false)),
            once("monthly", "a", NOW).schedule(monthly()),
            once("mornings", "a", NOW).schedule(mornings()),
            once("quartz", "a", NOW).schedule(monthly().without_drift(false)),
            minutely("simple", "a", NOW),
        ],
    );
    for trigger in &stored_triggers {
        assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap().as_ref(), Some(trigger));
    }
    let names = ["nightly", "passes", "monthly", "mornings", "quartz", "simple"].map(|name| stored(&cluster, name));
    assert_eq!(names, ["fire-at-gap-end,both-passes", "both-passes", "without-drift", "respect-end-time", "-", "-"]);
    let of_job = cluster.store.catalogue().triggers_of_job(&job_key("a")).unwrap();
    assert!(of_job.iter().all(|trigger| stored_triggers.contains(trigger)), "{of_job:#?}");
}

on_each_database!(a_time_in_the_gap_fires_at_its_end_and_one_that_comes_twice_fires_twice);
fn a_time_in_the_gap_fires_at_its_end_and_one_that_comes_twice_fires_twice() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", ms("2027-03-27T12:00:00+01:00")).schedule(nightly())]);
    assert_eq!(cluster.next("t"), Some(ms("2027-03-28T03:00:00+02:00")));
    assert_eq!(fires_at(&cluster, &a, "t", "2027-03-28T03:00:00+02:00"), Some(ms("2027-03-29T02:30:00+02:00")));
    cluster.schedule(job("b"), [once("u", "b", ms("2027-10-30T12:00:00+02:00")).schedule(nightly())]);
    cluster.store.catalogue().unschedule(&[trigger_key("t")]).unwrap();
    assert_eq!(fires_at(&cluster, &a, "u", "2027-10-31T02:30:00+02:00"), Some(ms("2027-10-31T02:30:00+01:00")));
    assert_eq!(fires_at(&cluster, &a, "u", "2027-10-31T02:30:00+01:00"), Some(ms("2027-11-01T02:30:00+01:00")));
}

on_each_database!(a_month_is_counted_from_the_start);
fn a_month_is_counted_from_the_start() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", ms("2027-01-31T09:00:00Z")).schedule(monthly())]);
    let times =
        ["2027-01-31", "2027-02-28", "2027-03-31", "2027-04-30", "2027-05-31"].map(|d| format!("{d}T09:00:00Z"));
    for pair in times.windows(2) {
        assert_eq!(fires_at(&cluster, &a, "t", &pair[0]), Some(ms(&pair[1])));
    }
}

on_each_database!(an_end_time_that_is_respected_ends_the_trigger_and_its_options_go_with_it);
fn an_end_time_that_is_respected_ends_the_trigger_and_its_options_go_with_it() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let ends = once("t", "a", NOW).schedule(mornings()).end_at(at(NOW + 10 * MINUTE));
    cluster.schedule(job("a").durable(true), [ends]);
    a.complete(&a.fire_one());
    assert_eq!((cluster.state("t").as_str(), stored(&cluster, "t").as_str()), ("-", "-"));
    cluster.schedule(job("b"), [once("t", "b", NOW).schedule(mornings().respect_end_time(false))]);
    assert_eq!(options(&cluster, "t"), []);
    let too_late = once("u", "c", NOW + MINUTE).schedule(mornings()).end_at(at(NOW + 2 * MINUTE));
    let error = cluster.try_schedule(job("c"), [too_late]).unwrap_err();
    assert!(matches!(error, Error::NeverFires { .. }), "{error}");
}

on_each_database!(late_ones_wait_for_the_times_of_their_options);
fn late_ones_wait_for_the_times_of_their_options() {
    let cluster = Cluster::new(open());
    cluster.schedule(
        job("a"),
        [
            once("t", "a", NOW).schedule(nightly()).misfire(MisfireInstruction::DoNothing),
            once("over", "a", NOW).schedule(mornings()).end_at(at(NOW + 10 * MINUTE)),
        ],
    );
    cluster.advance(ms("2027-10-31T02:45:00+02:00") - NOW);
    let pass = cluster.store.upkeep().handle_misfires().unwrap();
    assert_eq!((pass.handled.len(), pass.finalized), (2, vec![trigger_key("over")]));
    assert_eq!(cluster.next("t"), Some(ms("2027-10-31T02:30:00+01:00")), "the second pass is still to come");
    assert_eq!((cluster.state("over").as_str(), stored(&cluster, "over").as_str()), ("-", "-"));
}

on_each_database!(who_replaces_a_trigger_replaces_its_options);
fn who_replaces_a_trigger_replaces_its_options() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW).schedule(nightly())]);
    let schedules: [(Schedule, &str); 5] = [
        (nightly().both_passes(false).into(), "fire-at-gap-end"),
        (nightly().both_passes(false).fire_at_gap_end(false).into(), "-"),
        (monthly().into(), "without-drift"),
        (carnelian::SimpleSchedule::once().into(), "-"),
        (mornings().into(), "respect-end-time"),
    ];
    for (schedule, expected) in schedules {
        let trigger = once("t", "a", NOW).schedule(schedule).build().unwrap();
        assert!(cluster.store.catalogue().reschedule(&trigger_key("t"), trigger).unwrap().is_some());
        assert_eq!(stored(&cluster, "t"), expected);
    }
    cluster.store.catalogue().clear().unwrap();
    cluster.schedule(job("a"), [once("t", "a", NOW).schedule(mornings().respect_end_time(false))]);
    assert_eq!(stored(&cluster, "t"), "-");
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0);
}

on_each_database!(what_else_is_done_with_a_trigger_leaves_its_options);
/// A pause is a state of the trigger, and a reservation a row of its own: neither touches what was
/// stored.
fn what_else_is_done_with_a_trigger_leaves_its_options() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW).schedule(mornings())]);
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    a.complete(&a.fire_one());
    cluster.advance(30 * MINUTE - SECOND);
    cluster.store.clone().firing().release(&[a.reserve_one()]).unwrap();
    assert_eq!(options(&cluster, "t"), [TriggerOption::RespectEndTime]);
}

on_each_database!(options_are_refused_beside_quartz);
/// A node of Quartz fires every trigger and would compute the next time by its own rules.
fn options_are_refused_beside_quartz() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("com.acme.Report").durable(true), [once("old", "com.acme.Report", NOW)]);
    java_joins(&cluster, &mut a);
    let java_job = || carnelian::JobDetail::builder(job_key("a"), "com.acme.Report").durable(true);
    let with = |name: &str| once(name, "a", NOW).schedule(nightly());
    let plain = || nightly().fire_at_gap_end(false).both_passes(false);
    let attempts = [
        cluster.try_schedule(java_job(), [with("t")]).map(drop),
        cluster.try_schedule(java_job(), [once("u", "a", NOW).schedule(plain()), with("t")]).map(drop),
        cluster.store.catalogue().add_trigger(with("t").build().unwrap(), true).map(drop),
        cluster.store.catalogue().reschedule(&trigger_key("old"), with("old").build().unwrap()).map(drop),
    ];
    cluster.schedule(java_job(), [once("u", "a", NOW).schedule(plain())]);
    let late = cluster.store.catalogue().add_trigger(with("t").build().unwrap(), true).map(drop);
    for (i, attempt) in attempts.into_iter().chain([late]).enumerate().filter(|(i, _)| *i != 2) {
        let Err(Error::Refused(why)) = attempt else { panic!("{i}: {attempt:?}") };
        assert!(why.contains("fire-at-gap-end") && why.contains(JAVA), "{i}: {why}");
    }
    assert_eq!(cluster.state("t"), "-");
    java_leaves(&cluster, &mut a);
    cluster.store.catalogue().add_trigger(with("t").build().unwrap(), true).unwrap();
}

on_each_database!(options_are_suspended_while_a_node_of_quartz_is_there);
/// If a node of Quartz joins later, all compute as it does until it has left: none else would know
/// the next time.
fn options_are_suspended_while_a_node_of_quartz_is_there() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", ms("2027-10-29T12:00:00+02:00")).schedule(nightly())]);
    cluster.schedule(job("b"), [once("m", "b", ms("2027-08-31T09:00:00Z")).schedule(monthly())]);
    java_joins(&cluster, &mut a);
    let suspended = OptionsRow { names: "without-drift".to_owned(), beside_quartz: true };
    let rows = cluster.snapshot().triggers;
    assert_eq!(rows.iter().find(|row| row.key == trigger_key("m")).unwrap().options, Some(suspended));
    assert_eq!((options(&cluster, "t"), options(&cluster, "m")), (vec![], vec![]));

    // Quartz goes from the 30th of September to the 30th of October.
    assert_eq!(fires_at(&cluster, &a, "m", "2027-08-31T09:00:00Z"), Some(ms("2027-09-30T09:00:00Z")));
    assert_eq!(fires_at(&cluster, &a, "m", "2027-09-30T09:00:00Z"), Some(ms("2027-10-30T09:00:00Z")));
    cluster.store.catalogue().pause_triggers(&[trigger_key("m")]).unwrap();
    // Of 02:30 on the day of the change only the second counts.
    assert_eq!(fires_at(&cluster, &a, "t", "2027-10-30T02:30:00+02:00"), Some(ms("2027-10-31T02:30:00+01:00")));

    java_leaves(&cluster, &mut a);
    assert_eq!(options(&cluster, "t"), [TriggerOption::FireAtGapEnd, TriggerOption::BothPasses]);
    let fired = fires_at(&cluster, &a, "t", "2027-10-31T02:30:00+01:00");
    assert_eq!(fired, Some(ms("2027-11-01T02:30:00+01:00")));
    cluster.store.catalogue().resume_triggers(&[trigger_key("m")], true).unwrap();
    cluster.store.upkeep().handle_misfires().unwrap();
    a.complete(&a.fire_one());
    assert_eq!(cluster.next("m"), Some(ms("2027-10-31T09:00:00Z")), "counted from the start again");
}

on_each_database!(options_that_mean_nothing_are_named_and_the_trigger_is_left_alone);
fn options_that_mean_nothing_are_named_and_the_trigger_is_left_alone() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let keys = ["unknown", "of-another-kind"].map(trigger_key);
    cluster.schedule(job("good"), [once("good", "good", NOW)]);
    cluster.schedule(job("bad"), ["unknown", "of-another-kind"].map(|n| once(n, "bad", NOW).schedule(mornings())));
    cluster.tamper(|s| {
        let mut rows = s.triggers(TriggerSelection::Keys(&keys))?;
        s.delete_triggers(&keys, None)?;
        for row in &mut rows {
            let names = if row.key == keys[0] { "respect-end-time,faster" } else { "both-passes" };
            row.options = Some(OptionsRow { names: names.to_owned(), beside_quartz: false });
        }
        s.insert_triggers(&rows)
    });
    let acquisition = a.acquire();
    assert_eq!((names(&acquisition.fired), acquisition.unreadable.len()), (vec!["good"], 2));
    for (key, expected) in
        keys.iter().zip(["OPTIONS = `respect-end-time,faster`: expected some of", "for CRON triggers"])
    {
        let error = cluster.store.catalogue().trigger(key).unwrap_err();
        assert!(matches!(error, Error::Unreadable { .. }) && error.to_string().contains(expected), "{error}");
    }
}
