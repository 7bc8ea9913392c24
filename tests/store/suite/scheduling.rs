//! Scheduling: the work that is stored, the work that is refused, and the state that survives a
//! replacement.

use super::*;
use carnelian::{CronSchedule, DataValue, Error, JobDataMap, JobDetail, SimpleSchedule, Trigger, TriggerKey};
use std::time::Duration;

on_each_database!(a_job_and_its_triggers_come_back_as_they_were_stored);
fn a_job_and_its_triggers_come_back_as_they_were_stored() {
    let cluster = Cluster::new(open());
    let data: JobDataMap = [("text", DataValue::from("ü\n=#!")), ("n", DataValue::Int(7))].into_iter().collect();
    let work = job("a")
        .description("does the work")
        .requests_recovery(true)
        .disallow_concurrent_execution(true)
        .persist_job_data_after_execution(true)
        .data_map(data.clone());
    let simple = minutely("simple", "a", NOW + MINUTE).priority(9).data("k", "v").description("every minute");
    let cron = once("cron", "a", NOW)
        .schedule(CronSchedule::new("0 0 12 * * ?").unwrap().in_zone(chrono_tz::Europe::Berlin))
        .end_at(at(NOW + 90 * 86_400_000));
    let stored = cluster.schedule(work.clone(), [simple, cron]);

    assert_eq!(cluster.store.catalogue().job(&job_key("a")).unwrap(), Some(work.build().unwrap()));
    for trigger in &stored {
        assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap().as_ref(), Some(trigger));
        assert_eq!(cluster.state_of(trigger.key()), "WAITING");
    }
    assert_eq!(stored[0].next_fire_time(), Some(at(NOW + MINUTE)));
    assert_eq!(stored[1].next_fire_time().unwrap().to_rfc3339(), "2027-01-15T11:00:00+00:00");
    assert_eq!(cluster.store.catalogue().triggers_of_job(&job_key("a")).unwrap().len(), 2);
}

on_each_database!(a_trigger_without_a_start_starts_when_it_is_stored);
fn a_trigger_without_a_start_starts_when_it_is_stored() {
    let cluster = Cluster::new(open());
    let trigger = Trigger::builder(trigger_key("t"), job_key("a"));
    cluster.schedule(job("a"), [trigger]);
    assert_eq!(cluster.next("t"), Some(NOW));
}

on_each_database!(a_job_that_exists_is_not_stored_again);
fn a_job_that_exists_is_not_stored_again() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let before = cluster.rows();
    let error = cluster.try_schedule(job("a"), [once("u", "a", NOW)]).unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    assert_eq!(cluster.rows(), before);
}

on_each_database!(a_trigger_that_exists_is_not_stored_again_and_its_job_neither);
fn a_trigger_that_exists_is_not_stored_again_and_its_job_neither() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let error = cluster.try_schedule(job("b"), [once("u", "b", NOW), once("t", "b", NOW)]).unwrap_err();
    assert!(error.is_already_exists(), "{error}");
    assert!(!cluster.has_job("b"));
    assert_eq!(cluster.state("u"), "-");
}

on_each_database!(a_key_given_twice_in_one_call_is_refused);
fn a_key_given_twice_in_one_call_is_refused() {
    let cluster = Cluster::new(open());
    assert!(cluster.try_schedule(job("a"), [once("t", "a", NOW), once("t", "a", NOW)]).is_err());
    assert!(!cluster.has_job("a"));
}

on_each_database!(replacing_a_trigger_may_change_its_kind);
/// Quartz leaves a trigger of the new kind without its row (#920).
fn replacing_a_trigger_may_change_its_kind() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW)]);
    let cron = once("t", "a", NOW).schedule(CronSchedule::new("0 0 12 * * ?").unwrap()).build().unwrap();
    let cron = cluster.store.catalogue().add_trigger(cron, true).unwrap();
    assert_eq!(cluster.store.catalogue().trigger(cron.key()).unwrap(), Some(cron));
    let simple = cluster.store.catalogue().add_trigger(minutely("t", "a", NOW).build().unwrap(), true).unwrap();
    assert_eq!(cluster.store.catalogue().trigger(simple.key()).unwrap(), Some(simple));
}

on_each_database!(replacing_a_job_and_its_trigger_keeps_the_fire_in_progress);
/// H16: a program that declares its triggers at each start must not forget what runs.
fn replacing_a_job_and_its_trigger_keeps_the_fire_in_progress() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let work = || lone_job("a").requests_recovery(true);
    cluster.schedule(work(), [minutely("t", "a", NOW)]);
    let bundle = a.fire_one();
    let again = minutely("t", "a", NOW + MINUTE).build().unwrap();
    cluster.store.catalogue().schedule(vec![(work().build().unwrap(), vec![again])], true).unwrap();

    assert_eq!(cluster.fires(), ["t/EXECUTING@A"]);
    assert_eq!(cluster.state("t"), "BLOCKED");
    a.complete(&bundle);
    assert_eq!(cluster.state("t"), "WAITING");
}

on_each_database!(replacing_a_reserved_trigger_takes_the_reservation_back);
fn replacing_a_reserved_trigger_takes_the_reservation_back() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW + 10 * SECOND)]);
    let reservation = a.reserve_one();
    cluster.store.catalogue().add_trigger(once("t", "a", NOW + 20 * SECOND).build().unwrap(), true).unwrap();
    assert_eq!(cluster.state("t"), "WAITING");
    assert!(a.fire(&[reservation]).is_empty());
    assert_eq!(cluster.next("t"), Some(NOW + 20 * SECOND));
}

on_each_database!(a_trigger_that_will_never_fire_is_refused);
fn a_trigger_that_will_never_fire_is_refused() {
    let cluster = Cluster::new(open());
    let past = once("t", "a", NOW).schedule(CronSchedule::new("0 0 12 1 1 ? 2020").unwrap());
    let error = cluster.try_schedule(job("a"), [past]).unwrap_err();
    assert!(matches!(error, Error::NeverFires { .. }), "{error}");
    assert!(!cluster.has_job("a"));
}

on_each_database!(a_trigger_for_an_unknown_job_is_refused);
fn a_trigger_for_an_unknown_job_is_refused() {
    let cluster = Cluster::new(open());
    let error = cluster.store.catalogue().add_trigger(once("t", "nobody", NOW).build().unwrap(), false).unwrap_err();
    assert!(error.is_not_found(), "{error}");
    assert!(cluster.store.catalogue().trigger_job(&job_key("nobody"), JobDataMap::new()).unwrap_err().is_not_found());
}

on_each_database!(a_job_without_a_trigger_must_be_durable);
fn a_job_without_a_trigger_must_be_durable() {
    let cluster = Cluster::new(open());
    assert!(cluster.store.catalogue().add_job(&job("a").build().unwrap(), false).is_err());
    cluster.store.catalogue().add_job(&job("a").durable(true).build().unwrap(), false).unwrap();
    assert!(
        cluster
            .store
            .catalogue()
            .add_job(&job("a").durable(true).build().unwrap(), false)
            .unwrap_err()
            .is_already_exists()
    );
    let changed = job("a").durable(true).description("new").build().unwrap();
    cluster.store.catalogue().add_job(&changed, true).unwrap();
    assert_eq!(cluster.store.catalogue().job(&job_key("a")).unwrap(), Some(changed));
}

on_each_database!(names_of_the_full_length_and_of_any_script_come_back);
fn names_of_the_full_length_and_of_any_script_come_back() {
    let cluster = Cluster::new(open());
    let hostile = ["'; DROP TABLE QRTZ_TRIGGERS; --", "100 % _ \\ \" ` $1 ?", "😀𝔘 ütf-8 名前", "a\tb\nc", " spaces "];
    let long: String = "😀".repeat(190);
    for name in hostile.iter().copied().chain([long.as_str()]) {
        let key = carnelian::JobKey::new(name, name);
        let work = JobDetail::builder(key.clone(), "work").description(name).data(name, name).build().unwrap();
        let trigger = Trigger::builder(TriggerKey::new(name, name), key.clone()).start_at(at(NOW)).data(name, name);
        let stored =
            cluster.store.catalogue().schedule(vec![(work.clone(), vec![trigger.build().unwrap()])], false).unwrap();
        assert_eq!(cluster.store.catalogue().job(&key).unwrap(), Some(work));
        assert_eq!(cluster.store.catalogue().trigger(stored[0].key()).unwrap(), Some(stored[0].clone()));
    }
    let a = cluster.node("A");
    let fired = a.acquire().fired;
    assert_eq!(fired.len(), hostile.len() + 1);
    for bundle in &fired {
        a.complete(bundle);
    }
    assert!(cluster.snapshot().triggers.is_empty());
}

on_each_database!(names_that_differ_in_case_or_accent_are_different);
fn names_that_differ_in_case_or_accent_are_different() {
    let cluster = Cluster::new(open());
    let names = ["a", "A", "á"];
    for name in names {
        cluster.schedule(job(name), [once(name, name, NOW)]);
    }
    for name in names {
        assert_eq!(cluster.store.catalogue().trigger(&trigger_key(name)).unwrap().unwrap().job_key(), &job_key(name));
    }
}

on_each_database!(a_name_that_differs_in_a_trailing_space_is_different_or_refused);
/// MySQL compares without trailing spaces, also in its `_bin` collations: there the second name is
/// taken, and said so.
fn a_name_that_differs_in_a_trailing_space_is_different_or_refused() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").description("first"), [once("a", "a", NOW)]);
    match cluster.try_schedule(job("a "), [once("a ", "a ", NOW)]) {
        Ok(_) => assert_eq!(cluster.snapshot().triggers.len(), 2),
        Err(error) => assert!(error.is_already_exists(), "{error}"),
    }
    assert_eq!(cluster.store.catalogue().job(&job_key("a")).unwrap().unwrap().description(), Some("first"));
}

on_each_database!(a_group_is_matched_literally);
fn a_group_is_matched_literally() {
    let cluster = Cluster::new(open());
    for group in ["a_b", "axb", "A_B", "a%b"] {
        let trigger = Trigger::builder(TriggerKey::new(group, "t"), job_key(group)).start_at(at(NOW + MINUTE));
        cluster.schedule(job(group), [trigger]);
    }
    let groups = carnelian::GroupMatcher::starts_with("a_");
    assert_eq!(cluster.store.catalogue().pause_trigger_groups(&groups).unwrap(), ["a_b"]);
    let paused: Vec<_> = cluster.snapshot().triggers.into_iter().filter(|t| t.state == "PAUSED").collect();
    assert_eq!(paused.len(), 1);
}

on_each_database!(what_no_table_can_hold_is_refused);
fn what_no_table_can_hold_is_refused() {
    let cluster = Cluster::new(open());
    assert!(JobDetail::builder(carnelian::JobKey::new("g", "x".repeat(191)), "work").build().is_err());
    assert!(JobDetail::builder(carnelian::JobKey::new("g", "a\0b"), "work").build().is_err());
    assert!(job("a").description("x".repeat(251)).build().is_err());
    assert!(once("t", "a", NOW).description("a\0b").build().is_err());
    let too_often = once("t", "a", NOW).schedule(SimpleSchedule::every(Duration::ZERO)).build().unwrap_err();
    assert!(too_often.to_string().contains("at least 1 ms"), "{too_often}");
    let backwards = once("t", "a", NOW).end_at(at(NOW - 1)).build().unwrap_err();
    assert!(matches!(backwards, Error::NeverFires { .. }), "{backwards}");
    assert!(cluster.snapshot().jobs.is_empty());
}

on_each_database!(rescheduling_puts_another_trigger_in_the_place_of_the_old);
fn rescheduling_puts_another_trigger_in_the_place_of_the_old() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("old", "a", NOW + MINUTE)]);
    let new =
        cluster.store.catalogue().reschedule(&trigger_key("old"), minutely("new", "a", NOW).build().unwrap()).unwrap();
    assert_eq!(new.unwrap().next_fire_time(), Some(at(NOW)));
    assert_eq!((cluster.state("old").as_str(), cluster.state("new").as_str()), ("-", "WAITING"));
    assert!(cluster.has_job("a"));
    let none =
        cluster.store.catalogue().reschedule(&trigger_key("old"), once("old", "a", NOW).build().unwrap()).unwrap();
    assert_eq!(none, None);
    assert_eq!(cluster.state("old"), "-");
}

on_each_database!(unscheduling_the_last_trigger_deletes_a_job_that_is_not_durable);
fn unscheduling_the_last_trigger_deletes_a_job_that_is_not_durable() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("t", "a", NOW), once("u", "a", NOW)]);
    cluster.schedule(job("b").durable(true), [once("v", "b", NOW)]);
    assert_eq!(cluster.store.catalogue().unschedule(&[trigger_key("t"), trigger_key("nobody")]).unwrap(), 1);
    assert!(cluster.has_job("a"));
    assert_eq!(cluster.store.catalogue().unschedule(&[trigger_key("u"), trigger_key("v")]).unwrap(), 2);
    assert!(!cluster.has_job("a"));
    assert!(cluster.has_job("b"));
}

on_each_database!(deleting_jobs_takes_their_triggers_along);
fn deleting_jobs_takes_their_triggers_along() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [once("t", "a", NOW), once("u", "a", NOW)]);
    cluster.schedule(job("b"), [once("v", "b", NOW)]);
    assert_eq!(cluster.store.catalogue().delete_jobs(&[job_key("a"), job_key("nobody")]).unwrap(), 1);
    assert_eq!((cluster.state("t"), cluster.state("v")), ("-".to_owned(), "WAITING".to_owned()));
}

on_each_database!(triggering_a_job_fires_it_now_and_once);
fn triggering_a_job_fires_it_now_and_once() {
    let cluster = Cluster::new(open());
    cluster.store.catalogue().add_job(&job("a").durable(true).data("x", "job").build().unwrap(), false).unwrap();
    let data = [("x", "now")].into_iter().collect();
    let key = cluster.store.catalogue().trigger_job(&job_key("a"), data).unwrap();
    assert!(key.group() == "DEFAULT" && key.name().starts_with("MT_"), "{key}");
    let a = cluster.node("A");
    let bundle = a.fire_one();
    assert_eq!(bundle.trigger.data().text("x"), Some("now"));
    a.complete(&bundle);
    assert_eq!(cluster.state_of(&key), "-");
}

on_each_database!(a_trigger_stored_while_its_lone_job_runs_is_blocked);
fn a_trigger_stored_while_its_lone_job_runs_is_blocked() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW)]);
    let bundle = a.fire_one();
    cluster.store.catalogue().add_trigger(once("u", "a", NOW).build().unwrap(), false).unwrap();
    assert_eq!(cluster.state("u"), "BLOCKED");
    assert!(a.acquire().fired.is_empty());
    a.complete(&bundle);
    assert_eq!(cluster.state("u"), "WAITING");
}

on_each_database!(a_job_that_becomes_lone_while_it_runs_blocks_nobody_for_ever);
/// The end of a run unblocks nobody if runs beside it were allowed when it began: a trigger that
/// was stored, resumed or run again while it ran, and blocked, stayed blocked for ever.
fn a_job_that_becomes_lone_while_it_runs_blocks_nobody_for_ever() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW), minutely("r", "a", NOW)]);
    cluster.store.catalogue().pause_triggers(&[trigger_key("r")]).unwrap();
    let bundle = a.fire_one();
    cluster.store.catalogue().add_job(&lone_job("a").durable(true).build().unwrap(), true).unwrap();
    cluster.store.catalogue().add_trigger(once("u", "a", NOW).build().unwrap(), false).unwrap();
    cluster.store.catalogue().resume_triggers(&[trigger_key("r")], true).unwrap();
    assert_eq!(["u", "r"].map(|name| cluster.state(name)), ["WAITING", "WAITING"]);
    assert!(a.acquire().fired.is_empty(), "the job runs, and now no other run may be beside it");
    a.complete(&bundle);
    let one = a.fire_one();
    assert!(["u", "r"].map(|name| cluster.state(name)).contains(&"BLOCKED".to_owned()));
    a.complete(&one);
    a.complete(&a.fire_one());
}

on_each_database!(clearing_leaves_nothing_but_fires_in_progress);
fn clearing_leaves_nothing_but_fires_in_progress() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW)]);
    cluster.schedule(job("b"), [once("u", "b", NOW + 10 * SECOND)]);
    let acquisition = a.acquire();
    cluster.store.catalogue().pause_all().unwrap();
    cluster.store.catalogue().clear().unwrap();

    let snapshot = cluster.snapshot();
    assert!(snapshot.jobs.is_empty() && snapshot.triggers.is_empty() && snapshot.paused_groups.is_empty());
    assert_eq!(cluster.fires(), ["t/EXECUTING@A"]);
    a.complete(&acquisition.fired[0]);
    assert!(a.fire(&acquisition.reserved).is_empty());
    assert!(cluster.fires().is_empty());
}

on_each_database!(a_large_map_and_many_triggers_are_stored_whole);
fn a_large_map_and_many_triggers_are_stored_whole() {
    let cluster = Cluster::new(open());
    let text = "x".repeat(60_000);
    let triggers: Vec<_> = (0..600).map(|i| minutely(&format!("t{i}"), "a", NOW).build().unwrap()).collect();
    cluster
        .store
        .catalogue()
        .schedule(vec![(job("a").data("big", text.as_str()).build().unwrap(), triggers)], false)
        .unwrap();
    assert_eq!(cluster.store.catalogue().job(&job_key("a")).unwrap().unwrap().data().text("big"), Some(text.as_str()));
    let keys: Vec<_> = (0..600).map(|i| trigger_key(&format!("t{i}"))).collect();
    assert_eq!(cluster.store.catalogue().unschedule(&keys).unwrap(), 600);
}

on_each_database!(sub_second_intervals_and_far_ends_are_kept);
fn sub_second_intervals_and_far_ends_are_kept() {
    let cluster = Cluster::new(open());
    let trigger = once("t", "a", NOW + 1)
        .schedule(SimpleSchedule::every(Duration::from_millis(7)).repeat(i32::MAX.unsigned_abs()))
        .end_at(at(253_402_300_799_000));
    let stored = cluster.schedule(job("a"), [trigger]);
    assert_eq!(cluster.store.catalogue().trigger(&trigger_key("t")).unwrap(), Some(stored[0].clone()));
}
