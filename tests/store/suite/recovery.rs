//! Recovery: the fate of the fires of a node that is gone.

use super::acquisition::break_trigger;
use super::*;
use carnelian::key::RECOVERY_GROUP;
use carnelian::store::Recovered;
use carnelian::store::row::{FiredRow, FiredState, ScheduleRow, Selection};
use carnelian::{GroupMatcher, TriggerState};
use std::collections::BTreeMap;

/// B alone is left and finds A dead.
fn kill(cluster: &Cluster, b: &mut Node) -> Recovered {
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let mut recovered = b.recovers();
    assert_eq!(recovered.len(), 1, "{recovered:?}");
    cluster.check();
    recovered.pop().unwrap()
}

fn two(cluster: &Cluster) -> (Node, Node) {
    (cluster.node("A"), cluster.node("B"))
}

on_each_strategy!(acquired_triggers_are_set_free);
/// QZ-62.
fn acquired_triggers_are_set_free() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW + 20 * SECOND)]);
    a.reserve_one();
    let recovered = kill(&cluster, &mut b);
    assert_eq!((recovered.freed, recovered.recovery_triggers.len()), (1, 0));
    assert_eq!(cluster.state("t"), "WAITING");
    assert!(cluster.fires().is_empty());
    assert_eq!(names(&b.acquire().fired), ["t"]);
}

on_each_strategy!(an_acquired_trigger_that_was_paused_stays_paused);
/// QZ-60: a reservation that was paused meanwhile stays paused.
fn an_acquired_trigger_that_was_paused_stays_paused() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a"), [once("t", "a", NOW + 20 * SECOND), once("u", "a", NOW + 20 * SECOND)]);
    a.acquire();
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    kill(&cluster, &mut b);
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["PAUSED", "WAITING"]);
}

on_each_strategy!(an_interrupted_fire_becomes_a_one_shot_recovery_trigger);
/// QZ-63…70, golden 27.
fn an_interrupted_fire_becomes_a_one_shot_recovery_trigger() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(
        job("a").requests_recovery(true).data("job", "data"),
        [minutely("t", "a", NOW - SECOND).priority(8).data("mine", "kept")],
    );
    let bundle = a.fire_one();
    let recovered = kill(&cluster, &mut b);
    assert_eq!((recovered.instance.as_str(), recovered.freed, recovered.other), ("A", 0, 0));
    assert!(recovered.lost.is_empty());

    let trigger = cluster.recovery_trigger();
    assert_eq!(recovered.recovery_triggers, [(bundle.fire_id.clone(), trigger.key().clone())]);
    assert_eq!(trigger.key().group(), RECOVERY_GROUP);
    let number = trigger.key().name().strip_prefix("recover_A_").expect("its name");
    assert!(number.parse::<i64>().unwrap() >= NOW, "{number}");
    assert_eq!(trigger.job_key(), &job_key("a"));
    assert_eq!(trigger.priority(), 8);
    assert_eq!(trigger.misfire_instruction(), carnelian::MisfireInstruction::Ignore);
    assert_eq!((trigger.start_time(), trigger.next_fire_time()), (at(NOW - SECOND), Some(at(NOW - SECOND))));
    assert_eq!((trigger.end_time(), trigger.calendar_name()), (None, None));

    let data: Vec<(String, String)> = trigger.data().iter().map(|(k, v)| (k.to_owned(), v.to_string())).collect();
    let expected = [
        ("QRTZ_FAILED_JOB_ORIG_TRIGGER_FIRETIME_IN_MILLISECONDS_AS_STRING", NOW.to_string()),
        ("QRTZ_FAILED_JOB_ORIG_TRIGGER_GROUP", "triggers".to_owned()),
        ("QRTZ_FAILED_JOB_ORIG_TRIGGER_NAME", "t".to_owned()),
        ("QRTZ_FAILED_JOB_ORIG_TRIGGER_SCHEDULED_FIRETIME_IN_MILLISECONDS_AS_STRING", (NOW - SECOND).to_string()),
        ("mine", "kept".to_owned()),
    ];
    assert_eq!(data, expected.map(|(k, v)| (k.to_owned(), v)));

    let snapshot = cluster.snapshot();
    let row = snapshot.triggers.iter().find(|t| &t.key == trigger.key()).unwrap();
    assert_eq!((row.state.as_str(), row.kind.as_str(), row.misfire), ("WAITING", "SIMPLE", -1));
    assert_eq!(row.schedule, ScheduleRow::Simple { repeat_count: 0, interval_ms: 0, times_triggered: 0 });
    let origin = &snapshot.recoveries[0];
    assert_eq!((&origin.origin_fire_id, &origin.root_fire_id), (&bundle.fire_id, &bundle.fire_id));
    assert_eq!((origin.original_scheduled_ms, origin.attempt), (NOW - SECOND, 1));
    assert_eq!(snapshot.instances.len(), 1, "QZ-50");
}

on_each_strategy!(a_recovery_trigger_goes_the_ordinary_way_and_says_what_it_stands_for);
/// QZ-76.
fn a_recovery_trigger_goes_the_ordinary_way_and_says_what_it_stands_for() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    let lost = a.fire_one();
    kill(&cluster, &mut b);
    let bundle = b.fire_one();
    let recovering = bundle.recovering.clone().unwrap();
    assert_eq!(recovering.trigger, trigger_key("t"));
    assert_eq!((recovering.fire_time, recovering.scheduled_fire_time, recovering.attempt), (at(NOW), at(NOW), 1));
    assert_eq!(recovering.root_fire_id.as_ref(), Some(&lost.fire_id));
    assert_eq!(bundle.scheduled_ms, NOW);
    assert!(bundle.fence > lost.fence);
    b.complete(&bundle);
    assert!(cluster.recovery_triggers().is_empty());
    assert!(cluster.snapshot().recoveries.is_empty());
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(an_interrupted_fire_that_asks_for_no_recovery_is_lost_and_said_so);
/// QZ-24.
fn an_interrupted_fire_that_asks_for_no_recovery_is_lost_and_said_so() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    cluster.schedule(job("b"), [once("u", "b", NOW)]);
    let fired = a.acquire().fired;
    let mut recovered = kill(&cluster, &mut b);
    recovered.lost.sort();
    let mut ids: Vec<_> = fired.iter().map(|f| f.fire_id.clone()).collect();
    ids.sort();
    assert_eq!(recovered.lost, ids);
    assert!(cluster.recovery_triggers().is_empty() && cluster.fires().is_empty());
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["WAITING", "-"]);
    assert!(cluster.has_job("a") && !cluster.has_job("b"));
}

on_each_strategy!(the_dead_nodes_lone_jobs_are_set_free);
/// QZ-60, QZ-72.
fn the_dead_nodes_lone_jobs_are_set_free() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW + 10 * MINUTE)]);
    a.fire_one();
    cluster.store.catalogue().pause_triggers(&[trigger_key("u")]).unwrap();
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["BLOCKED", "PAUSED_BLOCKED"]);
    kill(&cluster, &mut b);
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["WAITING", "PAUSED"]);
}

on_each_strategy!(a_recovery_trigger_of_a_lone_job_does_not_run_beside_the_regular_one);
/// QZ-74: in Quartz the recovery trigger and the regular one run the same lone job together.
fn a_recovery_trigger_of_a_lone_job_does_not_run_beside_the_regular_one() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(lone_job("a").requests_recovery(true), [minutely("t", "a", NOW)]);
    a.fire_one();
    cluster.advance(MINUTE - 15 * SECOND);
    b.check_in();
    cluster.advance(15 * SECOND);
    b.check_in();
    assert_eq!(cluster.recovery_triggers().len(), 1);
    let fired = b.acquire().fired;
    assert_eq!(fired.len(), 1);
    assert!(fired[0].recovering.is_some(), "the older time first");
    assert_eq!(cluster.state("t"), "BLOCKED");
    b.complete(&fired[0]);
    assert_eq!(names(&b.acquire().fired), ["t"]);
}

on_each_strategy!(a_complete_trigger_of_the_dead_node_goes);
/// QZ-60: COMPLETE → deleted.
fn a_complete_trigger_of_the_dead_node_goes() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a").requests_recovery(true).durable(true), [once("t", "a", NOW)]);
    a.fire_one();
    assert_eq!(cluster.state("t"), "COMPLETE");
    kill(&cluster, &mut b);
    assert_eq!(cluster.state("t"), "-");
    assert_eq!(cluster.recovery_triggers().len(), 1);
}

on_each_strategy!(the_recovery_of_a_recovery_stands_for_the_first_fire);
/// H15: the chain keeps the first trigger's values.
fn the_recovery_of_a_recovery_stands_for_the_first_fire() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    let mut c = cluster.node("C");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW).priority(7).data("x", "y")]);
    let first = a.fire_one();
    cluster.advance(10 * SECOND);
    b.check_in();
    c.check_in();
    cluster.advance(12_501);
    b.check_in();
    c.check_in();
    let second = b.fire_one();
    kill(&cluster, &mut c);

    let trigger = cluster.recovery_trigger();
    assert!(trigger.key().name().starts_with("recover_B_"));
    assert_eq!(trigger.priority(), 7);
    assert_eq!(trigger.data().text("x"), Some("y"));
    assert_eq!(trigger.data().len(), 5);
    assert_eq!(trigger.start_time(), at(NOW));
    let origin = cluster.snapshot().recoveries.remove(0);
    assert_eq!((&origin.origin_fire_id, &origin.root_fire_id), (&second.fire_id, &first.fire_id));
    let third = c.fire_one();
    let recovering = third.recovering.clone().unwrap();
    assert_eq!((recovering.trigger, recovering.fire_time), (trigger_key("t"), at(NOW)));
    assert_eq!((recovering.scheduled_fire_time, recovering.attempt), (at(NOW), 2));
    assert_eq!(recovering.root_fire_id, Some(first.fire_id));
    c.complete(&third);
    assert!(cluster.snapshot().triggers.is_empty() && !cluster.has_job("a"));
}

on_each_strategy!(a_job_stays_while_a_fire_of_it_is_unfinished_and_is_recovered_then);
/// H21: in Quartz the last fire deletes the job, and the earlier interrupted run is lost.
fn a_job_stays_while_a_fire_of_it_is_unfinished_and_is_recovered_then() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW), once("u", "a", NOW)]);
    let on_a = a.try_acquire(1).unwrap().fired;
    let on_b = b.try_acquire(1).unwrap().fired;
    b.complete(&on_b[0]);
    assert!(cluster.has_job("a"));
    let recovered = kill(&cluster, &mut b);
    assert_eq!(recovered.recovery_triggers[0].0, on_a[0].fire_id);
    let bundle = b.fire_one();
    b.complete(&bundle);
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(a_fire_whose_job_was_deleted_is_only_cleaned_up);
/// QZ-71.
fn a_fire_whose_job_was_deleted_is_only_cleaned_up() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a").requests_recovery(true), [minutely("t", "a", NOW)]);
    a.fire_one();
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    let recovered = kill(&cluster, &mut b);
    assert_eq!((recovered.other, recovered.recovery_triggers.len()), (1, 0));
    assert!(cluster.fires().is_empty());
}

on_each_strategy!(a_fire_whose_trigger_was_deleted_is_recovered_all_the_same);
/// The original trigger may be gone: the four keys are enough.
fn a_fire_whose_trigger_was_deleted_is_recovered_all_the_same() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a").durable(true).requests_recovery(true), [minutely("t", "a", NOW).data("x", "y")]);
    a.fire_one();
    cluster.store.catalogue().unschedule(&[trigger_key("t")]).unwrap();
    kill(&cluster, &mut b);
    assert_eq!(cluster.recovery_trigger().data().len(), 4);
}

on_each_strategy!(a_trigger_that_cannot_be_read_does_not_keep_its_fire_from_being_recovered);
/// H12: in Quartz one such row makes failover impossible for the whole cluster.
fn a_trigger_that_cannot_be_read_does_not_keep_its_fire_from_being_recovered() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a").requests_recovery(true), [minutely("t", "a", NOW).data("x", "y")]);
    a.fire_one();
    break_trigger(&cluster, "t", |row| row.data = Some(vec![9, 9, 9]));
    kill(&cluster, &mut b);
    assert_eq!(cluster.recovery_trigger().data().len(), 4);
}

on_each_strategy!(a_trigger_of_a_kind_that_only_quartz_knows_leaves_its_data_to_the_recovery);
/// The work of a fire without its data would be other work. Quartz reads the same column.
fn a_trigger_of_a_kind_that_only_quartz_knows_leaves_its_data_to_the_recovery() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster.schedule(job("a").requests_recovery(true), [minutely("t", "a", NOW).data("x", "y")]);
    a.fire_one();
    break_trigger(&cluster, "t", |row| row.kind = "BLOB".to_owned());
    kill(&cluster, &mut b);
    assert_eq!(cluster.recovery_trigger().data().text("x"), Some("y"));
}

on_each_strategy!(recovery_triggers_are_paused_where_everything_is);
fn recovery_triggers_are_paused_where_everything_is() {
    for group in [GroupMatcher::equals(RECOVERY_GROUP), GroupMatcher::any()] {
        let cluster = Cluster::new(open());
        let (a, mut b) = two(&cluster);
        cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
        a.fire_one();
        match group {
            GroupMatcher::Any => cluster.store.catalogue().pause_all().unwrap(),
            group => drop(cluster.store.catalogue().pause_trigger_groups(&group).unwrap()),
        }
        kill(&cluster, &mut b);
        let key = cluster.recovery_triggers().remove(0);
        assert_eq!(cluster.state_of(&key), "PAUSED");
        cluster.store.catalogue().resume_all(true).unwrap();
        assert_eq!(b.fire_one().trigger.key(), &key, "its misfire instruction is to ignore misfires");
    }
}

on_each_strategy!(fires_of_an_instance_without_a_row_are_found_at_any_check_in);
/// H7, QZ-47: at any check-in, not only the first.
fn fires_of_an_instance_without_a_row_are_found_at_any_check_in() {
    let cluster = Cluster::new(open());
    let mut b = cluster.node("B");
    cluster.schedule(
        job("a").requests_recovery(true),
        [minutely("t", "a", NOW + MINUTE), minutely("u", "a", NOW + MINUTE)],
    );
    b.check_in();
    cluster.tamper(|s| {
        let keys = [trigger_key("u")];
        s.change_states(Selection::Triggers(&keys), &[(TriggerState::Waiting, TriggerState::Acquired)], false)?;
        let rows = vec![
            orphan("00c0ffee-0123456789abcdef-00000001", "t", FiredState::Executing),
            FiredRow {
                job: None,
                requests_recovery: false,
                ..orphan("00c0ffee-0123456789abcdef-00000002", "u", FiredState::Acquired)
            },
        ];
        s.insert_fired(rows, &BTreeMap::new()).map(drop)
    });
    let recovered = b.recovers();
    assert_eq!(recovered.len(), 1);
    assert_eq!((recovered[0].instance.as_str(), recovered[0].last_checkin, recovered[0].freed), ("ghost", None, 1));
    assert_eq!(recovered[0].recovery_triggers.len(), 1);
    assert_eq!(cluster.state("u"), "WAITING");
    assert!(cluster.fires().is_empty());
}

fn orphan(id: &str, trigger: &str, state: FiredState) -> FiredRow {
    FiredRow {
        fire_id: id.to_owned(),
        trigger: trigger_key(trigger),
        instance: "ghost".to_owned(),
        fired_ms: NOW,
        scheduled_ms: NOW,
        priority: 5,
        state,
        job: Some(job_key("a")),
        nonconcurrent: false,
        requests_recovery: true,
    }
}

on_each_strategy!(of_two_survivors_one_recovers_the_dead_node);
/// QZ-43, S5: whoever comes second finds nothing to do.
fn of_two_survivors_one_recovers_the_dead_node() {
    for _ in 0..10 {
        let cluster = Cluster::new(open());
        let (a, mut b) = two(&cluster);
        let mut c = cluster.node("C");
        cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW), once("u", "a", NOW)]);
        assert_eq!(a.acquire().fired.len(), 2);
        cluster.advance(10 * SECOND);
        b.check_in();
        c.check_in();
        cluster.advance(12_501);
        let barrier = std::sync::Barrier::new(2);
        let race = |node: &mut Node| {
            barrier.wait();
            // A busy database is the caller's to try again.
            (0..20).find_map(|_| node.store.upkeep().check_in(&mut node.me).ok()).expect("a check-in").recovered.len()
        };
        let (by_b, by_c) = std::thread::scope(|scope| {
            let second = scope.spawn(|| race(&mut c));
            (race(&mut b), second.join().unwrap())
        });
        assert_eq!(by_b + by_c, 1);
        assert_eq!(cluster.recovery_triggers().len(), 2);
    }
}

on_each_strategy!(a_survivor_that_comes_late_finds_nothing_to_do);
/// QZ-43: the second look, under the lock. B suspects A; before B has the lock, C has recovered A.
fn a_survivor_that_comes_late_finds_nothing_to_do() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    let mut c = cluster.node("C");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    a.fire_one();
    cluster.advance(10 * SECOND);
    b.check_in();
    c.check_in();
    cluster.advance(12_501);
    cluster.hold_up(&mut b, "recover a failed instance", move || assert_eq!(c.recovers().len(), 1));
    assert!(b.recovers().is_empty());
    assert_eq!(cluster.recovery_triggers().len(), 1);
}

on_each_strategy!(a_suspect_that_checks_in_before_it_is_recovered_is_not);
/// QZ-43: before B has the lock, A has checked in after all.
fn a_suspect_that_checks_in_before_it_is_recovered_is_not() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = two(&cluster);
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    let bundle = a.fire_one();
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let (done, result) = std::sync::mpsc::channel();
    cluster.hold_up(&mut b, "recover a failed instance", move || {
        assert!(!a.check_in().failed_out);
        done.send(a).unwrap();
    });
    assert!(b.recovers().is_empty());
    let a = result.recv().unwrap();
    assert_eq!(a.complete(&bundle), carnelian::store::CompletionOutcome::Recorded);
}

on_each_strategy!(a_recovery_trigger_waits_while_its_lone_job_executes_elsewhere);
/// QZ-74, H5: only a node of Quartz lets a lone job run twice; ours does not make it three times.
fn a_recovery_trigger_waits_while_its_lone_job_executes_elsewhere() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    cluster
        .schedule(lone_job("a").requests_recovery(true), [minutely("t", "a", NOW), minutely("u", "a", NOW + MINUTE)]);
    a.fire_one();
    let elsewhere =
        FiredRow { instance: "B".to_owned(), nonconcurrent: true, ..orphan("other", "u", FiredState::Executing) };
    cluster.tamper(|s| s.insert_fired(vec![elsewhere.clone()], &BTreeMap::new()).map(drop));
    kill(&cluster, &mut b);
    let key = cluster.recovery_triggers().remove(0);
    assert_eq!(cluster.state_of(&key), "BLOCKED");
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["BLOCKED", "BLOCKED"]);
}

on_each_strategy!(several_dead_nodes_are_recovered_each_by_itself);
fn several_dead_nodes_are_recovered_each_by_itself() {
    let cluster = Cluster::new(open());
    let (a, mut b) = two(&cluster);
    let c = cluster.node("C");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW), once("u", "a", NOW)]);
    a.try_acquire(1).unwrap();
    c.try_acquire(1).unwrap();
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let recovered = b.recovers();
    assert_eq!(recovered.len(), 2);
    assert_eq!(cluster.recovery_triggers().len(), 2);
    assert_eq!(cluster.snapshot().instances.len(), 1);
}

on_each_strategy!(many_fires_of_a_node_with_a_long_name_are_recovered);
/// H14: names of any length, and many recoveries in one millisecond.
fn many_fires_of_a_node_with_a_long_name_are_recovered() {
    let cluster = Cluster::new(open());
    let a = cluster.node(&"ü".repeat(190));
    let mut b = cluster.node("B");
    let triggers: Vec<_> = (0..40).map(|i| once(&format!("t{i}"), "a", NOW).build().unwrap()).collect();
    cluster
        .store
        .catalogue()
        .schedule(vec![(job("a").requests_recovery(true).build().unwrap(), triggers)], false)
        .unwrap();
    assert_eq!(a.acquire().fired.len(), 40);
    let recovered = kill(&cluster, &mut b);
    assert_eq!(recovered.recovery_triggers.len(), 40);
    assert_eq!(cluster.recovery_triggers().len(), 40);
    assert_eq!(b.acquire().fired.len(), 40);
}

on_each_strategy!(a_dead_node_without_fires_is_only_forgotten);
fn a_dead_node_without_fires_is_only_forgotten() {
    let cluster = Cluster::new(open());
    let (_, mut b) = two(&cluster);
    let recovered = kill(&cluster, &mut b);
    assert_eq!((recovered.freed, recovered.other), (0, 0));
    assert_eq!(cluster.snapshot().instances.len(), 1);
}

on_each_strategy!(a_take_over_delay_leaves_slow_zombies_more_time);
fn a_take_over_delay_leaves_slow_zombies_more_time() {
    let cluster = Cluster::with(open(), |s| s.cluster.takeover_delay = std::time::Duration::from_secs(10));
    let (_, mut b) = two(&cluster);
    for _ in 0..3 {
        cluster.advance(10 * SECOND);
        assert!(b.recovers().is_empty());
    }
    cluster.advance(2_501);
    assert_eq!(b.recovers().len(), 1);
}

on_each_strategy!(the_audit_mends_triggers_that_nobody_is_responsible_for);
/// H11: rows frozen by somebody else's doing.
fn the_audit_mends_triggers_that_nobody_is_responsible_for() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW + MINUTE), minutely("u", "a", NOW + MINUTE)]);
    cluster.schedule(job("b"), [minutely("v", "b", NOW + MINUTE), minutely("w", "b", NOW + MINUTE)]);
    cluster.schedule(job("c"), [minutely("x", "c", NOW + MINUTE)]);
    assert_eq!(cluster.store.upkeep().audit().unwrap(), Default::default());
    cluster.tamper(|s| {
        use TriggerState::*;
        for (trigger, to) in [("t", Blocked), ("u", PausedBlocked), ("v", Acquired), ("x", Complete)] {
            let keys = [trigger_key(trigger)];
            s.change_states(Selection::Triggers(&keys), &[(Waiting, to)], false)?;
        }
        Ok(())
    });
    let pass = cluster.store.upkeep().audit().unwrap();
    assert_eq!((pass.released.len(), pass.unblocked.len(), pass.finished.len()), (1, 2, 1));
    assert_eq!(["t", "u", "v", "w", "x"].map(|t| cluster.state(t)), ["WAITING", "PAUSED", "WAITING", "WAITING", "-"]);
    assert!(!cluster.has_job("c"));
    assert_eq!(cluster.store.upkeep().audit().unwrap(), Default::default());
    drop(a);
}
