//! Calendars: stored, replaced and deleted, and their effect on triggers.

use super::*;
use carnelian::calendar::{Calendar, CalendarRule, CronTimes, Holidays, MonthDays, Weekdays};
use carnelian::store::CompletionInstruction;
use carnelian::store::row::{CalendarRow, Selection};
use carnelian::{CronSchedule, Error, GroupMatcher, MisfireInstruction, TriggerState};

/// Leaves out these minutes of every hour. The tests begin at a full hour.
fn minutes(excluded: &str) -> Calendar {
    Calendar::new(CronTimes::excluding(&format!("* {excluded} * * * ?")).unwrap())
}

fn nothing_left() -> Calendar {
    Calendar::new(MonthDays::excluding(1..=31).unwrap())
}

fn add(cluster: &Cluster, name: &str, calendar: &Calendar) {
    cluster.store.catalogue().add_calendar(name, calendar, false, false).unwrap();
}

/// Replaces a calendar and lets its triggers follow.
fn update(cluster: &Cluster, name: &str, calendar: &Calendar) {
    cluster.store.catalogue().add_calendar(name, calendar, true, true).unwrap();
}

/// Fires every minute but those that calendar `c` leaves out.
fn guarded(name: &str, job: &str, from_ms: i64) -> carnelian::TriggerBuilder {
    minutely(name, job, from_ms).calendar("c")
}

/// Bytes of a calendar of a class that only somebody's own JVM knows.
fn of_ones_own() -> Vec<u8> {
    let bytes = Calendar::new(Weekdays::weekend()).to_java_bytes().unwrap();
    let (ours, theirs) = (b"org.quartz.impl.calendar.WeeklyCalendar", b"com.example.batch.PhasesOfTheMoonCalend");
    let at = bytes.windows(ours.len()).position(|window| window == ours).unwrap();
    [&bytes[..at], theirs, &bytes[at + theirs.len()..]].concat()
}

fn put_bytes(cluster: &Cluster, name: &str, bytes: Vec<u8>) {
    let row = CalendarRow { name: name.to_owned(), bytes };
    cluster.tamper(|s| s.insert(&row));
}

on_each_database!(a_calendar_comes_back_as_it_was_stored);
fn a_calendar_comes_back_as_it_was_stored() {
    let cluster = Cluster::new(open());
    let store = &cluster.store;
    let weekend = Calendar::new(Weekdays::weekend())
        .in_zone(chrono_tz::Europe::Berlin)
        .describe("née à la fin")
        .over(minutes("1-2"));
    assert_eq!((store.catalogue().calendar_names().unwrap(), store.catalogue().calendar("b").unwrap()), (vec![], None));
    add(&cluster, "b", &weekend);
    add(&cluster, "Ä", &minutes("5"));
    assert_eq!(store.catalogue().calendar("b").unwrap(), Some(weekend));
    let mut names = store.catalogue().calendar_names().unwrap();
    names.sort();
    assert_eq!(names, ["b", "Ä"]);

    let error = store.catalogue().add_calendar("b", &minutes("5"), false, false).unwrap_err();
    assert!(error.is_already_exists() && error.to_string().contains("calendar `b`"), "{error}");
    store.catalogue().add_calendar("b", &minutes("5"), true, false).unwrap();
    assert_eq!(store.catalogue().calendar("b").unwrap(), Some(minutes("5")));
    assert!(store.catalogue().delete_calendar("b").unwrap());
    assert!(!store.catalogue().delete_calendar("b").unwrap());
    assert!(store.catalogue().add_calendar("", &minutes("5"), false, false).is_err());
    assert!(store.catalogue().add_calendar(&"x".repeat(191), &minutes("5"), false, false).is_err());
    store.catalogue().clear().unwrap();
    assert!(store.catalogue().calendar_names().unwrap().is_empty());
}

on_each_database!(what_a_java_node_stored_is_stored_again_as_it_was);
fn what_a_java_node_stored_is_stored_again_as_it_was() {
    let cluster = Cluster::new(open());
    let mut bytes = minutes("1").in_zone(chrono_tz::Europe::Berlin).to_java_bytes().unwrap();
    // A table of offsets that only another version of the zone data has.
    let at = bytes.windows(4).position(|window| window == 7_200_000_i32.to_be_bytes()).unwrap();
    bytes[at + 3] ^= 1;
    put_bytes(&cluster, "c", bytes.clone());
    let read = cluster.store.catalogue().calendar("c").unwrap().unwrap();
    update(&cluster, "c", &read);
    add(&cluster, "copy", &read);
    let stored = cluster.snapshot().calendars;
    assert!(stored.len() == 2 && stored.iter().all(|row| row.bytes == bytes));
}

on_each_database!(fires_pass_over_what_the_calendar_leaves_out);
fn fires_pass_over_what_the_calendar_leaves_out() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("1-2,4"));
    cluster.schedule(
        job("a"),
        [guarded("t", "a", NOW), guarded("late start", "a", NOW + MINUTE), minutely("u", "a", NOW)],
    );
    assert_eq!(cluster.next("late start"), Some(NOW + 3 * MINUTE));
    let fired = a.acquire().fired;
    for bundle in &fired {
        let calendar = (bundle.trigger.key().name() == "t").then(|| minutes("1-2,4"));
        assert_eq!(bundle.calendar.as_deref(), calendar.as_ref());
    }
    assert_eq!((fired.len(), cluster.next("t"), cluster.next("u")), (2, Some(NOW + 3 * MINUTE), Some(NOW + MINUTE)));
    // A trigger that is reserved first goes the same way.
    cluster.advance(3 * MINUTE - SECOND);
    let reserved = a.acquire().reserved;
    assert_eq!(reserved.len(), 2);
    cluster.advance(SECOND);
    let bundles = a.fire(&reserved);
    assert_eq!((bundles.len(), cluster.next("t")), (2, Some(NOW + 5 * MINUTE)));
}

on_each_database!(a_trigger_for_which_the_calendar_leaves_no_time_is_refused);
fn a_trigger_for_which_the_calendar_leaves_no_time_is_refused() {
    let cluster = Cluster::new(open());
    add(&cluster, "c", &nothing_left());
    let error = cluster.try_schedule(job("a"), [guarded("t", "a", NOW)]).unwrap_err();
    assert!(matches!(error, Error::NeverFires { .. }) && error.to_string().contains("calendar `c`"), "{error}");
    assert!(!cluster.has_job("a"));
}

on_each_database!(the_last_fire_is_the_last_that_the_calendar_includes);
fn the_last_fire_is_the_last_that_the_calendar_includes() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("1-59"));
    cluster.schedule(job("a"), [guarded("t", "a", NOW).end_at(at(NOW + 10 * MINUTE))]);
    let fired = a.fire_one();
    a.complete(&fired);
    assert!(!cluster.has_job("a"));
}

on_each_database!(a_calendar_in_use_is_not_deleted);
fn a_calendar_in_use_is_not_deleted() {
    let cluster = Cluster::new(open());
    add(&cluster, "c", &minutes("1"));
    let triggers: Vec<_> = (0..7).map(|n| guarded(&format!("t{n}"), "a", NOW).build().unwrap()).collect();
    cluster.store.catalogue().schedule(vec![(job("a").build().unwrap(), triggers)], false).unwrap();
    let error = cluster.store.catalogue().delete_calendar("c").unwrap_err().to_string();
    assert!(error.contains("`triggers.t0`") && error.contains("`triggers.t4` and 2 more"), "{error}");
    assert_eq!(cluster.store.catalogue().calendar("c").unwrap(), Some(minutes("1")));
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    assert!(cluster.store.catalogue().delete_calendar("c").unwrap());
}

on_each_database!(triggers_follow_a_new_calendar_if_they_are_told_to);
fn triggers_follow_a_new_calendar_if_they_are_told_to() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a"), [guarded("t", "a", NOW), minutely("other", "a", NOW)]);
    a.acquire();
    cluster.store.catalogue().add_calendar("c", &minutes("1-3"), true, false).unwrap();
    assert_eq!(cluster.next("t"), Some(NOW + MINUTE));
    update(&cluster, "c", &minutes("1-4"));
    assert_eq!((cluster.next("t"), cluster.next("other")), (Some(NOW + 5 * MINUTE), Some(NOW + MINUTE)));
    // The last fire counts: a time may be due, and late, that was left out until now.
    cluster.advance(4 * MINUTE);
    update(&cluster, "c", &minutes("1,7-9"));
    assert_eq!(cluster.next("t"), Some(NOW + 3 * MINUTE), "the second was passed over with the first");
    assert_eq!(names(&a.acquire().fired), ["t"]);
    assert_eq!(cluster.next("t"), Some(NOW + 4 * MINUTE));
}

on_each_database!(an_update_wakes_all_but_paused_groups);
/// As in Quartz: the triggers are stored anew, whatever their state.
fn an_update_wakes_all_but_paused_groups() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    let in_group = |name: &str, group: &str| {
        carnelian::Trigger::builder(carnelian::TriggerKey::new(group, name), job_key("a"))
            .schedule(carnelian::SimpleSchedule::every(std::time::Duration::from_secs(60)))
            .start_at(at(NOW + 10 * MINUTE))
            .calendar("c")
    };
    cluster.schedule(
        job("a"),
        [guarded("error", "a", NOW), guarded("paused", "a", NOW + 10 * MINUTE), in_group("t", "paused group")],
    );
    let fired = a.fire_one();
    a.complete_with(&fired, CompletionInstruction::SetTriggerError);
    cluster.store.catalogue().pause_triggers(&[trigger_key("paused")]).unwrap();
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("paused group")).unwrap();
    assert_eq!((cluster.state("error").as_str(), cluster.state("paused").as_str()), ("ERROR", "PAUSED"));

    update(&cluster, "c", &minutes("1,10"));
    assert_eq!((cluster.state("error").as_str(), cluster.next("error")), ("WAITING", Some(NOW + 2 * MINUTE)));
    assert_eq!((cluster.state("paused").as_str(), cluster.next("paused")), ("WAITING", Some(NOW + 11 * MINUTE)));
    let key = carnelian::TriggerKey::new("paused group", "t");
    assert_eq!(cluster.state_of(&key), "PAUSED");
    let trigger = cluster.store.catalogue().trigger(&key).unwrap().unwrap();
    assert_eq!(trigger.next_fire_time(), Some(at(NOW + 11 * MINUTE)));

    cluster.store.catalogue().pause_all().unwrap();
    update(&cluster, "c", &minutes("1"));
    assert_eq!(cluster.state("paused"), "PAUSED");
}

on_each_database!(an_update_takes_reservations_back_and_leaves_blocked_triggers_blocked);
fn an_update_takes_reservations_back_and_leaves_blocked_triggers_blocked() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a"), [guarded("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    update(&cluster, "c", &minutes("0"));
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + MINUTE + SECOND)));
    cluster.advance(SECOND);
    assert!(a.fire(&[reservation]).is_empty() && cluster.fires().is_empty());

    cluster.schedule(lone_job("b"), [guarded("lone", "b", NOW + SECOND), guarded("beside", "b", NOW + 2 * MINUTE)]);
    cluster.advance(MINUTE);
    let fired = a.acquire().fired;
    assert_eq!((names(&fired).contains(&"lone"), cluster.state("beside").as_str()), (true, "BLOCKED"));
    update(&cluster, "c", &minutes("5"));
    assert_eq!((cluster.state("lone").as_str(), cluster.state("beside").as_str()), ("BLOCKED", "BLOCKED"));
    for bundle in &fired {
        a.complete(bundle);
    }
    assert_eq!((cluster.state("lone").as_str(), cluster.state("beside").as_str()), ("WAITING", "WAITING"));
}

on_each_database!(a_trigger_without_a_time_left_waits_for_another_calendar);
/// Quartz leaves such a trigger for ever; here a later calendar wakes it.
fn a_trigger_without_a_time_left_waits_for_another_calendar() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a"), [guarded("t", "a", NOW + MINUTE)]);
    update(&cluster, "c", &nothing_left());
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", None));
    cluster.advance(5 * MINUTE);
    assert!(a.acquire().fired.is_empty());
    assert!(cluster.store.upkeep().handle_misfires().unwrap().handled.is_empty());
    cluster.check();
    update(&cluster, "c", &minutes("6"));
    assert_eq!(cluster.next("t"), Some(NOW + 7 * MINUTE));
}

on_each_database!(a_trigger_without_a_time_left_hides_no_other);
/// A row without a time sorts before all others, and a trigger that ignores misfires is due
/// whenever its time was.
fn a_trigger_without_a_time_left_hides_no_other() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    let ignoring = guarded("t", "a", NOW + MINUTE).misfire(MisfireInstruction::Ignore);
    cluster.schedule(job("a"), [ignoring, minutely("u", "a", NOW + MINUTE)]);
    update(&cluster, "c", &nothing_left());
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", None));
    let earliest = || cluster.store.firing().poll(None, "", &["work".to_owned()]).unwrap().earliest_ms;
    assert_eq!(earliest(), Some(NOW + MINUTE));
    cluster.advance(MINUTE);
    assert_eq!(names(&a.acquire().fired), ["u"]);
}

on_each_database!(a_trigger_whose_last_fire_runs_stays_complete);
fn a_trigger_whose_last_fire_runs_stays_complete() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW).calendar("c")]);
    let fired = a.fire_one();
    assert_eq!(cluster.state("t"), "COMPLETE");
    update(&cluster, "c", &minutes("31"));
    assert_eq!(cluster.state("t"), "COMPLETE");
    a.complete(&fired);
    assert_eq!(cluster.state("t"), "-");
}

on_each_database!(a_trigger_that_java_has_wait_while_its_last_fire_runs_goes_with_that_fire);
/// Quartz gives the new calendar to complete triggers too, and has them wait. Triggers of this sort
/// would stay for ever, or be fired once more by Java's misfire handler.
fn a_trigger_that_java_has_wait_while_its_last_fire_runs_goes_with_that_fire() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW).calendar("c")]);
    super::beside_quartz::java_joins(&cluster, &mut a);
    let fired = a.fire_one();
    let (keys, moves) = ([trigger_key("t")], [(TriggerState::Complete, TriggerState::Waiting)]);
    cluster.tamper(|s| s.change_states(Selection::Triggers(&keys), &moves, false).map(drop));
    a.complete(&fired);
    assert_eq!((cluster.state("t").as_str(), cluster.has_job("a")), ("-", false));
}

on_each_database!(a_trigger_that_waits_for_another_calendar_goes_with_no_run_of_its_own);
/// A run that is not its last ends or dies, or somebody resets it: the next calendar finds it.
fn a_trigger_that_waits_for_another_calendar_goes_with_no_run_of_its_own() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a").durable(true), [guarded("t", "a", NOW).end_at(at(NOW + 5 * MINUTE))]);
    cluster.schedule(job("b").durable(true), [guarded("u", "b", NOW).end_at(at(NOW + 5 * MINUTE))]);
    let first = a.acquire().fired;
    assert_eq!(names(&first), ["t", "u"]);
    update(&cluster, "c", &nothing_left());
    for fire in first.iter().filter(|fire| fire.job.key() == &job_key("a")) {
        a.complete(fire);
    }
    assert!(!cluster.store.catalogue().reset_from_error(&trigger_key("t")).unwrap());
    cluster.advance(WINDOW + SECOND);
    cluster.stranger("C").recovers();
    assert_eq!((cluster.state("t").as_str(), cluster.state("u").as_str()), ("WAITING", "WAITING"));
}

on_each_database!(a_trigger_whose_calendar_is_not_stored_waits_for_it);
/// Quartz takes it and then acquires and releases the trigger for ever.
fn a_trigger_whose_calendar_is_not_stored_waits_for_it() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [guarded("t", "a", NOW), minutely("u", "a", NOW)]);
    let error = cluster.store.catalogue().add_trigger(guarded("v", "a", NOW).build().unwrap(), false).unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("calendar `c`"), "{error}");

    let acquisition = a.acquire();
    assert_eq!(names(&acquisition.fired), ["u"]);
    let [(key, reason)] = acquisition.unreadable.as_slice() else { panic!("{acquisition:?}") };
    assert!(*key == trigger_key("t") && reason.contains("CALENDAR_NAME = c"), "{reason}");
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW)));

    add(&cluster, "c", &minutes("1"));
    assert_eq!(names(&a.acquire().fired), ["t"]);
    assert_eq!(cluster.next("t"), Some(NOW + 2 * MINUTE));
}

on_each_database!(a_reservation_whose_calendar_went_is_given_back);
/// Somebody deletes the row by hand while the trigger is reserved.
fn a_reservation_whose_calendar_went_is_given_back() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a"), [guarded("t", "a", NOW + SECOND)]);
    let reservation = a.reserve_one();
    cluster.tamper(|s| s.rows::<CalendarRow>().with("name", "c").delete().map(drop));
    cluster.advance(SECOND);
    assert!(a.fire(&[reservation]).is_empty());
    assert_eq!((cluster.state("t").as_str(), cluster.fires().len()), ("WAITING", 0));
}

on_each_database!(a_calendar_that_cannot_be_read_is_named_and_left_as_it_is);
fn a_calendar_that_cannot_be_read_is_named_and_left_as_it_is() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a"), [guarded("t", "a", NOW), guarded("paused", "a", NOW), minutely("u", "a", NOW)]);
    cluster.store.catalogue().pause_triggers(&[trigger_key("paused")]).unwrap();
    cluster.tamper(|s| s.rows::<CalendarRow>().with("name", "c").delete().map(drop));
    put_bytes(&cluster, "c", of_ones_own());

    let error = cluster.store.catalogue().calendar("c").unwrap_err().to_string();
    assert!(error.contains("CALENDARS") && error.contains("com.example.batch.PhasesOfTheMoonCalend"), "{error}");
    assert_eq!(cluster.store.catalogue().calendar_names().unwrap(), ["c"]);
    let acquisition = a.acquire();
    assert_eq!((names(&acquisition.fired), acquisition.unreadable.len()), (vec!["u"], 1));
    assert!(acquisition.unreadable[0].1.contains("PhasesOfTheMoon"), "{:?}", acquisition.unreadable);
    assert!(cluster.try_schedule(job("b"), [guarded("v", "b", NOW)]).is_err());

    cluster.advance(10 * MINUTE);
    let pass = cluster.store.upkeep().handle_misfires().unwrap();
    assert!(pass.unreadable.iter().any(|(key, _)| *key == trigger_key("t")), "{pass:?}");
    assert_eq!(cluster.next("t"), Some(NOW));
    assert_eq!(cluster.store.catalogue().resume_triggers(&[trigger_key("paused")], true).unwrap(), 1);
    assert_eq!((cluster.state("paused").as_str(), cluster.next("paused")), ("WAITING", Some(NOW)));
    assert!(cluster.store.catalogue().delete_calendar("c").is_err(), "its triggers still name it");
    assert_eq!(cluster.snapshot().calendars[0].bytes, of_ones_own());
}

on_each_database!(misfires_are_moved_to_times_that_the_calendar_includes);
fn misfires_are_moved_to_times_that_the_calendar_includes() {
    let cluster = Cluster::new(open());
    add(&cluster, "c", &minutes("10-14"));
    let noon = CronSchedule::new("0 * * * * ?").unwrap();
    let cron = once("cron", "a", NOW).schedule(noon).misfire(MisfireInstruction::DoNothing).calendar("c");
    cluster.schedule(job("a"), [cron.clone(), guarded("simple", "a", NOW)]);
    cluster.schedule(
        job("b"),
        [minutely("paused", "b", NOW).calendar("c"), minutely("astray", "b", NOW).calendar("none")],
    );
    cluster.store.catalogue().pause_triggers(&[trigger_key("paused")]).unwrap();
    cluster.advance(9 * MINUTE + 30 * SECOND);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 3);
    assert_eq!((cluster.next("cron"), cluster.next("simple")), (Some(NOW + 15 * MINUTE), Some(NOW + 15 * MINUTE)));
    // As in Quartz, a calendar that is not stored leaves nothing out.
    assert_eq!(cluster.next("astray"), Some(NOW + 10 * MINUTE));
    cluster.store.catalogue().resume_triggers(&[trigger_key("paused")], true).unwrap();
    assert_eq!(cluster.next("paused"), Some(NOW + 15 * MINUTE));
}

on_each_database!(every_node_sees_a_new_calendar_at_once);
/// Each node decodes a calendar once, and never uses an old one.
fn every_node_sees_a_new_calendar_at_once() {
    let cluster = Cluster::new(open());
    let nodes = [cluster.node("A"), cluster.node("B")];
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a"), [guarded("t", "a", NOW)]);
    let mut next = NOW;
    for (round, excluded) in ["30", "2-3", "30", "5", "6-7,9"].into_iter().enumerate() {
        cluster.store.catalogue().add_calendar("c", &minutes(excluded), true, false).unwrap();
        cluster.advance(next - cluster.now());
        nodes[round % 2].complete(&nodes[round % 2].fire_one());
        next = cluster.next("t").unwrap();
    }
    assert_eq!(next, NOW + 8 * MINUTE);
}

on_each_database!(calendars_cost_a_batch_one_statement_and_none_where_no_trigger_names_one);
fn calendars_cost_a_batch_one_statement_and_none_where_no_trigger_names_one() {
    let statements = |calendars: bool| {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        for name in ["c", "d"] {
            add(&cluster, name, &minutes("30"));
        }
        let trigger = |n: usize| {
            let trigger = minutely(&format!("t{n}"), "a", NOW);
            if calendars { trigger.calendar(["c", "d"][n % 2]) } else { trigger }.build().unwrap()
        };
        cluster
            .store
            .catalogue()
            .schedule(vec![(job("a").build().unwrap(), (0..20).map(trigger).collect())], false)
            .unwrap();
        let before = cluster.opened.database.counts().statements;
        assert_eq!(a.try_acquire(30).unwrap().fired.len(), 20);
        cluster.opened.database.counts().statements - before
    };
    let (without, with) = (statements(false), statements(true));
    // SQLite, where a statement costs no round trip, reads them one by one.
    assert!((1..=2).contains(&(with - without)), "{without} statements without, {with} with calendars");
}

on_each_database!(a_calendar_that_leaves_out_nothing_changes_nothing);
fn a_calendar_that_leaves_out_nothing_changes_nothing() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &Calendar::new(CalendarRule::Nothing));
    cluster.schedule(job("a"), [guarded("t", "a", NOW)]);
    a.fire_one();
    assert_eq!(cluster.next("t"), Some(NOW + MINUTE));
}

on_each_database!(a_holiday_without_a_zone_is_a_day_of_the_schedulers_zone);
/// As in Java, where a holiday is the midnight of the virtual machine's zone. A midnight of UTC, as
/// it was stored once, is none elsewhere: nothing was excluded.
fn a_holiday_without_a_zone_is_a_day_of_the_schedulers_zone() {
    let berlin = chrono_tz::Europe::Berlin;
    let cluster = Cluster::with(open(), |settings| settings.scheduler.time_zone = berlin);
    let holidays = || Calendar::new(Holidays::on(["2026-12-25".parse().unwrap()]));
    add(&cluster, "bank", &holidays());
    add(&cluster, "over", &Calendar::new(Weekdays::excluding([])).over(holidays()));
    for name in ["bank", "over"] {
        let calendar = cluster.store.catalogue().calendar(name).unwrap().unwrap();
        let at = |text: &str| calendar.is_time_included(text.parse().unwrap());
        assert!(!at("2026-12-24T23:00:00Z") && !at("2026-12-25T12:00:00Z") && !at("2026-12-25T22:59:59Z"), "{name}");
        assert!(at("2026-12-24T22:59:59Z") && at("2026-12-25T23:00:00Z"), "{name}");
    }
    let daily =
        once("t", "a", NOW).schedule(CronSchedule::new("0 0 12 * * ?").unwrap().in_zone(berlin)).calendar("bank");
    cluster.schedule(job("a"), [daily.start_at("2026-12-24T12:00:00Z".parse().unwrap())]);
    assert_eq!(cluster.next("t").map(|ms| at(ms).to_string()), Some("2026-12-26 11:00:00 UTC".to_owned()));
}

on_each_database!(a_one_shot_that_is_due_outlives_a_new_calendar);
/// A one-shot has no time after its own: what the new calendar includes stays due.
fn a_one_shot_that_is_due_outlives_a_new_calendar() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    add(&cluster, "c", &minutes("30"));
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW).calendar("c"), once("u", "a", NOW).calendar("c")]);
    update(&cluster, "c", &minutes("40"));
    assert_eq!((cluster.next("t"), cluster.next("u")), (Some(NOW), Some(NOW)));
    assert_eq!(a.acquire_with(10, |_| {}).unwrap().fired.len(), 2);
}
