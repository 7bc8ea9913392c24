//! Acquisition: the due triggers that a node takes, and their order.

use super::*;
use carnelian::store::row::{ScheduleRow, TriggerRow, TriggerSelection};
use carnelian::{CronSchedule, JobDetail, MisfireInstruction, TriggerState};
use std::collections::BTreeSet;

on_each_strategy!(due_triggers_come_by_time_and_then_by_priority);
fn due_triggers_come_by_time_and_then_by_priority() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(
        job("a"),
        [
            once("late", "a", NOW),
            once("low", "a", NOW - 2 * SECOND).priority(1),
            once("high", "a", NOW - 2 * SECOND).priority(10),
            once("middle", "a", NOW - SECOND),
            once("usual", "a", NOW - 2 * SECOND),
        ],
    );
    assert_eq!(names(&a.acquire().fired), ["high", "usual", "low", "middle", "late"]);
}

on_each_strategy!(no_more_than_the_free_workers_are_taken);
fn no_more_than_the_free_workers_are_taken() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [1, 2, 3, 4, 5].map(|i| once(&format!("t{i}"), "a", NOW - 10 * SECOND + i)));
    assert_eq!(names(&a.try_acquire(2).unwrap().fired), ["t1", "t2"]);
    assert!(a.try_acquire(0).unwrap().fired.is_empty());
    assert_eq!(names(&a.try_acquire(2).unwrap().fired), ["t3", "t4"]);
    assert_eq!(names(&a.acquire().fired), ["t5"]);
}

on_each_strategy!(what_is_due_soon_is_reserved_and_what_is_due_later_is_left);
fn what_is_due_soon_is_reserved_and_what_is_due_later_is_left() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let triggers = [
        once("now", "a", NOW),
        once("soon", "a", NOW + 1),
        once("edge", "a", NOW + 30 * SECOND),
        once("later", "a", NOW + 30 * SECOND + 1),
    ];
    cluster.schedule(job("a"), triggers);
    let acquisition = a.acquire();
    assert_eq!(names(&acquisition.fired), ["now"]);
    let reserved: Vec<_> = acquisition.reserved.iter().map(|r| (r.trigger.name(), r.scheduled_ms)).collect();
    assert_eq!(reserved, [("soon", NOW + 1), ("edge", NOW + 30 * SECOND)]);
    assert_eq!(["soon", "edge", "later"].map(|t| cluster.state(t)), ["ACQUIRED", "ACQUIRED", "WAITING"]);
    assert_eq!(cluster.fires(), ["edge/ACQUIRED@A", "now/EXECUTING@A", "soon/ACQUIRED@A"]);
}

on_each_strategy!(with_a_fire_ahead_window_close_triggers_are_fired_together);
fn with_a_fire_ahead_window_close_triggers_are_fired_together() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW), once("u", "a", NOW + 500), once("v", "a", NOW + 501)]);
    let acquisition = a.acquire_with(100, |r| r.fire_ahead_ms = 500).unwrap();
    assert_eq!(names(&acquisition.fired), ["t", "u"]);
    assert_eq!(acquisition.fired[1].scheduled_ms, NOW + 500);
    assert_eq!(acquisition.reserved.len(), 1);
}

on_each_strategy!(a_trigger_is_taken_by_one_node);
fn a_trigger_is_taken_by_one_node() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [once("t", "a", NOW), once("u", "a", NOW + SECOND)]);
    let first = a.acquire();
    let second = b.acquire();
    assert_eq!((first.fired.len(), first.reserved.len()), (1, 1));
    assert_eq!((second.fired.len(), second.reserved.len()), (0, 0));
}

on_each_strategy!(triggers_of_unknown_job_types_are_neither_taken_nor_changed);
/// H13: in a rolling upgrade Quartz's old nodes set triggers of new classes to ERROR, for all.
fn triggers_of_unknown_job_types_are_neither_taken_nor_changed() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    for i in 0..150 {
        let name = format!("x{i}");
        let unknown = JobDetail::builder(job_key(&name), "of.another.Node");
        cluster.schedule(unknown, [once(&name, &name, NOW - 10 * SECOND)]);
    }
    let before = cluster.rows();
    assert!(a.acquire().fired.is_empty());
    assert_eq!(cluster.rows(), before);
    assert_eq!(earliest_due(&a, &["work".to_owned()]), (NOW, None));

    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    assert_eq!(names(&a.acquire().fired), ["t"]);
    assert!(a.acquire_with(10, |r| r.job_types = &[]).unwrap().fired.is_empty());
}

on_each_strategy!(one_trigger_of_a_lone_job_is_taken_at_a_time);
/// H4, QZ: batches too, which is where Quartz's own test stops.
fn one_trigger_of_a_lone_job_is_taken_at_a_time() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(lone_job("a"), [once("t", "a", NOW), once("u", "a", NOW), once("v", "a", NOW + SECOND)]);
    cluster.schedule(job("b"), [once("w", "b", NOW)]);
    let fired = a.acquire().fired;
    assert_eq!(fired.len(), 2, "one of each job");
    assert!(b.acquire().fired.is_empty());
    let states: BTreeSet<String> = ["t", "u", "v"].map(|t| cluster.state(t)).into();
    assert!(!states.contains("WAITING"), "{states:?}");

    let lone = fired.iter().find(|f| f.job.key() == &job_key("a")).unwrap();
    a.complete(lone);
    assert_eq!(b.acquire().fired.len(), 1);
}

on_each_strategy!(a_lone_job_with_many_triggers_does_not_hide_the_triggers_behind_it);
fn a_lone_job_with_many_triggers_does_not_hide_the_triggers_behind_it() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let triggers: Vec<_> = (0..60).map(|i| once(&format!("t{i}"), "a", NOW - 10 * SECOND).build().unwrap()).collect();
    cluster.store.catalogue().schedule(vec![(lone_job("a").build().unwrap(), triggers)], false).unwrap();
    cluster.schedule(job("b"), [once("behind", "b", NOW)]);
    let fired = a.try_acquire(10).unwrap().fired;
    assert_eq!(fired.len(), 2);
    assert_eq!(fired[1].trigger.key(), &trigger_key("behind"));
}

on_each_strategy!(a_lone_job_that_executes_is_not_taken_though_its_trigger_says_waiting);
/// H4: a Java node's release sets a blocked trigger free while its job still runs.
fn a_lone_job_that_executes_is_not_taken_though_its_trigger_says_waiting() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW), once("u", "a", NOW)]);
    a.acquire();
    cluster.damage(|s| {
        let keys = [trigger_key("t"), trigger_key("u")];
        let moves = [(TriggerState::Blocked, TriggerState::Waiting)];
        s.change_states(carnelian::store::row::Selection::Triggers(&keys), &moves, false).map(drop)
    });
    assert!(b.acquire().fired.is_empty());
    assert_eq!(cluster.fires().len(), 1);
}

on_each_strategy!(misfired_triggers_are_left_to_the_misfire_handler);
fn misfired_triggers_are_left_to_the_misfire_handler() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("edge", "a", NOW), minutely("late", "a", NOW - 1)]);
    cluster.advance(MINUTE);
    assert_eq!(names(&a.acquire().fired), ["edge"]);
    assert_eq!(cluster.state("late"), "WAITING");
}

on_each_strategy!(triggers_that_ignore_misfires_are_taken_however_late_each_missed_time);
/// QTZ-283.
fn triggers_that_ignore_misfires_are_taken_however_late_each_missed_time() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW).misfire(MisfireInstruction::Ignore)]);
    cluster.advance(3 * MINUTE);
    let scheduled: Vec<i64> = (0..4).map(|_| a.fire_one().scheduled_ms - NOW).collect();
    assert_eq!(scheduled, [0, MINUTE, 2 * MINUTE, 3 * MINUTE]);
    assert!(a.acquire().fired.is_empty());
}

on_each_strategy!(paused_and_completed_and_failed_triggers_are_not_taken);
fn paused_and_completed_and_failed_triggers_are_not_taken() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [once("paused", "a", NOW), minutely("failed", "a", NOW)]);
    cluster.store.catalogue().pause_triggers(&[trigger_key("paused")]).unwrap();
    let bundle = a.fire_one();
    a.complete_with(&bundle, carnelian::store::CompletionInstruction::SetTriggerError);
    cluster.advance(MINUTE);
    assert!(a.acquire().fired.is_empty());
}

on_each_strategy!(a_row_that_cannot_be_read_is_named_and_the_others_go_on);
/// H12: in Quartz one such row stops the whole cluster.
fn a_row_that_cannot_be_read_is_named_and_the_others_go_on() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("good", "a", NOW), once("bad", "a", NOW - SECOND)]);
    let cron = ScheduleRow::Cron { expression: "no cron at all".to_owned(), zone: None };
    break_trigger(&cluster, "bad", move |row| {
        row.kind = "CRON".to_owned();
        row.schedule = cron.clone();
    });

    let acquisition = a.try_acquire(1).unwrap();
    assert_eq!(names(&acquisition.fired), ["good"]);
    assert_eq!(acquisition.unreadable.len(), 1);
    assert_eq!(acquisition.unreadable[0].0, trigger_key("bad"));
    assert!(acquisition.unreadable[0].1.contains("no cron at all"), "{}", acquisition.unreadable[0].1);
    assert_eq!(cluster.state("bad"), "WAITING");

    let quarantined = BTreeSet::from([trigger_key("bad")]);
    let again = a.acquire_with(10, |r| r.quarantined = &quarantined).unwrap();
    assert!(again.unreadable.is_empty(), "named once");
}

on_each_strategy!(a_trigger_with_data_that_cannot_be_read_is_named_and_the_others_go_on);
fn a_trigger_with_data_that_cannot_be_read_is_named_and_the_others_go_on() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("good", "a", NOW), once("bad", "a", NOW)]);
    break_trigger(&cluster, "bad", |row| row.data = Some(vec![0xAC, 0xED, 0, 5, 1, 2, 3]));
    let acquisition = a.acquire();
    assert_eq!(names(&acquisition.fired), ["good"]);
    assert_eq!(acquisition.unreadable.len(), 1);
}

on_each_strategy!(a_trigger_whose_row_of_its_kind_is_missing_does_not_stop_the_others);
fn a_trigger_whose_row_of_its_kind_is_missing_does_not_stop_the_others() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("good", "a", NOW), once("bad", "a", NOW)]);
    break_trigger(&cluster, "bad", |row| row.schedule = ScheduleRow::Missing);
    assert_eq!(names(&a.acquire().fired), ["good"]);
    assert_eq!(cluster.state("bad"), "WAITING");
}

on_each_strategy!(triggers_of_kinds_we_do_not_fire_are_left_to_others);
/// Java nodes fire these kinds; we leave them alone and do not look at them again and again.
fn triggers_of_kinds_we_do_not_fire_are_left_to_others() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("good", "a", NOW), once("blob", "a", NOW)]);
    break_trigger(&cluster, "blob", |row| {
        row.kind = "BLOB".to_owned();
        row.schedule = ScheduleRow::Missing;
    });
    let before = cluster.state("blob");
    let acquisition = a.acquire();
    assert_eq!(names(&acquisition.fired), ["good"]);
    assert_eq!(cluster.state("blob"), before);
    assert_eq!(a.store.firing().poll(None, "", &["work".to_owned()]).unwrap().earliest_ms, None);
}

fn earliest_due(node: &Node, types: &[String]) -> (i64, Option<i64>) {
    let poll = node.store.firing().poll(None, "", types).unwrap();
    (poll.now_ms, poll.earliest_ms)
}

on_each_strategy!(the_earliest_due_time_is_that_of_the_next_trigger_to_take);
fn the_earliest_due_time_is_that_of_the_next_trigger_to_take() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let types = ["work".to_owned()];
    assert_eq!(earliest_due(&a, &types), (NOW, None));
    cluster.schedule(
        job("a"),
        [once("paused", "a", NOW + SECOND), once("t", "a", NOW + 5 * MINUTE), minutely("late", "a", NOW - 2 * MINUTE)],
    );
    cluster.store.catalogue().pause_triggers(&[trigger_key("paused")]).unwrap();
    assert_eq!(earliest_due(&a, &types), (NOW, Some(NOW + 5 * MINUTE)));
}

on_each_strategy!(cron_triggers_move_on_by_their_expression);
fn cron_triggers_move_on_by_their_expression() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let cron = once("t", "a", NOW).schedule(CronSchedule::new("0 0/5 * * * ?").unwrap());
    cluster.schedule(job("a"), [cron]);
    assert_eq!(cluster.next("t"), Some(NOW));
    let bundle = a.fire_one();
    assert_eq!((bundle.scheduled_ms, bundle.previous_ms), (NOW, None));
    assert_eq!(cluster.next("t"), Some(NOW + 5 * MINUTE));
    a.complete(&bundle);
    cluster.advance(5 * MINUTE);
    assert_eq!(a.fire_one().previous_ms, Some(NOW));
}

on_each_strategy!(fences_grow_and_fire_ids_are_new_for_each_fire);
/// Q1: no fence and no fire id is ever drawn twice.
fn fences_grow_and_fire_ids_are_new_for_each_fire() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW)]);
    let (mut fences, mut ids) = (Vec::new(), BTreeSet::new());
    for _ in 0..5 {
        for node in [&a, &b] {
            for bundle in node.try_acquire(1).unwrap().fired {
                node.complete(&bundle);
                fences.push(bundle.fence);
                ids.insert(bundle.fire_id);
            }
        }
        cluster.advance(MINUTE);
    }
    assert_eq!((fences.len(), ids.len()), (10, 10));
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
}

/// Changes the row of a trigger as no node of ours would.
pub(super) fn break_trigger(cluster: &Cluster, name: &str, change: impl Fn(&mut TriggerRow)) {
    let key = [trigger_key(name)];
    cluster.damage(|s| {
        let mut rows = s.triggers(TriggerSelection::Keys(&key))?;
        s.delete_triggers(&key, None)?;
        rows.iter_mut().for_each(&change);
        s.insert_triggers(&rows)
    });
}

on_each_strategy!(the_most_important_may_come_before_the_earliest);
/// DS-46: the order of db-scheduler, if the settings ask for it: priority before time, among what
/// is due.
fn the_most_important_may_come_before_the_earliest() {
    use carnelian::settings::TriggerOrder;
    for (order, expected) in [
        (TriggerOrder::TimeThenPriority, ["old", "urgent", "new", "soon"]),
        (TriggerOrder::PriorityThenTime, ["urgent", "old", "new", "soon"]),
    ] {
        let cluster = Cluster::with(open(), |settings| settings.job_store.trigger_order = order);
        let node = cluster.node("A");
        let at = |ms| NOW - ms;
        cluster.schedule(
            job("a"),
            [
                once("new", "a", at(1)).priority(1),
                once("old", "a", at(30)).priority(1),
                once("urgent", "a", at(20)).priority(9),
                // More important than any, and not due yet.
                once("soon", "a", NOW + SECOND).priority(10),
            ],
        );
        let mut taken = Vec::new();
        for _ in 0..4 {
            let acquisition = node.try_acquire(1).unwrap();
            taken.extend(acquisition.fired.iter().map(|fire| fire.trigger.key().name().to_owned()));
            taken.extend(acquisition.reserved.iter().map(|reserved| reserved.trigger.name().to_owned()));
            for fire in &acquisition.fired {
                node.complete(fire);
            }
            node.store.firing().release(&acquisition.reserved).unwrap();
        }
        assert_eq!(taken, expected, "{order:?}");
    }
}
