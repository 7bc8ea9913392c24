//! Misfires: the state of a trigger after its instruction. Golden data checks the times that each
//! instruction computes.

use super::*;
use carnelian::store::row::{ScheduleRow, TriggerSelection};
use carnelian::{CronSchedule, MisfireInstruction, SimpleSchedule};
use std::time::Duration;

/// Fires at `NOW + 5 min` and every minute after it, `count` times more, and has missed it all
/// until `NOW + 10 min 30 s`.
fn late(cluster: &Cluster, count: Option<u32>, instruction: MisfireInstruction) {
    let every = SimpleSchedule::every(Duration::from_secs(60));
    let schedule = match count {
        Some(count) => every.repeat(count),
        None => every,
    };
    cluster.schedule(job("a"), [once("t", "a", NOW + 5 * MINUTE).schedule(schedule).misfire(instruction)]);
    cluster.advance(10 * MINUTE + 30 * SECOND);
}

on_each_strategy!(nothing_late_takes_no_lock_and_writes_nothing);
fn nothing_late_takes_no_lock_and_writes_nothing() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    cluster.advance(MINUTE);
    let before = cluster.opened.database.counts();
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap(), Default::default());
    let after = cluster.opened.database.counts();
    assert_eq!(after.commits, before.commits);
    assert!(after.statements - before.statements <= 2);
}

on_each_strategy!(each_instruction_moves_a_late_trigger_as_quartz_does);
fn each_instruction_moves_a_late_trigger_as_quartz_does() {
    use MisfireInstruction::*;
    let late_by = NOW + 10 * MINUTE + 30 * SECOND;
    let next = NOW + 11 * MINUTE;
    for (count, instruction, expected) in [
        (Some(0), Smart, Some(late_by)),
        (None, Smart, Some(next)),
        (Some(9), Smart, Some(late_by)),
        (Some(0), FireNow, Some(late_by)),
        (Some(9), RescheduleNowWithExistingCount, Some(late_by)),
        (Some(9), RescheduleNowWithRemainingCount, Some(late_by)),
        (Some(9), RescheduleNextWithExistingCount, Some(next)),
        (Some(9), RescheduleNextWithRemainingCount, Some(next)),
    ] {
        let cluster = Cluster::new(open());
        late(&cluster, count, instruction);
        let pass = cluster.store.upkeep().handle_misfires().unwrap();
        assert_eq!(pass.handled.iter().map(|t| t.key()).collect::<Vec<_>>(), [&trigger_key("t")], "{instruction:?}");
        assert_eq!(
            (cluster.state("t").as_str(), cluster.next("t")),
            ("WAITING", expected),
            "{count:?} {instruction:?}"
        );
    }
}

on_each_strategy!(who_ignores_misfires_is_not_touched);
fn who_ignores_misfires_is_not_touched() {
    let cluster = Cluster::new(open());
    late(&cluster, Some(9), MisfireInstruction::Ignore);
    assert!(cluster.store.upkeep().handle_misfires().unwrap().handled.is_empty());
    assert_eq!(cluster.next("t"), Some(NOW + 5 * MINUTE));
}

on_each_strategy!(counts_of_a_simple_trigger_are_stored_with_it);
fn counts_of_a_simple_trigger_are_stored_with_it() {
    let cluster = Cluster::new(open());
    late(&cluster, Some(9), MisfireInstruction::RescheduleNowWithRemainingCount);
    cluster.store.upkeep().handle_misfires().unwrap();
    let row = cluster.snapshot().triggers.remove(0);
    assert_eq!(row.schedule, ScheduleRow::Simple { repeat_count: 4, interval_ms: MINUTE, times_triggered: 0 });
    assert_eq!(row.start_ms, NOW + 10 * MINUTE + 30 * SECOND);
}

on_each_strategy!(a_late_cron_trigger_fires_once_or_waits);
fn a_late_cron_trigger_fires_once_or_waits() {
    for (instruction, next) in
        [(MisfireInstruction::Smart, NOW + 10 * MINUTE), (MisfireInstruction::DoNothing, NOW + 15 * MINUTE)]
    {
        let cluster = Cluster::new(open());
        let cron = once("t", "a", NOW).schedule(CronSchedule::new("0 0/5 * * * ?").unwrap()).misfire(instruction);
        cluster.schedule(job("a"), [cron]);
        cluster.advance(10 * MINUTE);
        assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 1);
        assert_eq!(cluster.next("t"), Some(next));
    }
}

on_each_strategy!(a_trigger_is_late_one_millisecond_after_the_threshold);
fn a_trigger_is_late_one_millisecond_after_the_threshold() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    cluster.advance(MINUTE);
    assert!(cluster.store.upkeep().handle_misfires().unwrap().handled.is_empty());
    cluster.advance(1);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 1);
}

on_each_strategy!(a_trigger_that_misfires_past_its_end_goes_with_its_job);
/// #586: Quartz leaves a COMPLETE trigger and its job for ever.
fn a_trigger_that_misfires_past_its_end_goes_with_its_job() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [minutely("t", "a", NOW).end_at(at(NOW + MINUTE))]);
    cluster.advance(10 * MINUTE);
    let pass = cluster.store.upkeep().handle_misfires().unwrap();
    assert_eq!(pass.finalized, [trigger_key("t")]);
    assert_eq!(cluster.state("t"), "-");
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(a_trigger_that_misfires_past_its_end_while_its_job_runs_leaves_the_job);
fn a_trigger_that_misfires_past_its_end_while_its_job_runs_leaves_the_job() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW).end_at(at(NOW + 2 * MINUTE))]);
    let bundle = a.fire_one();
    cluster.advance(10 * MINUTE);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().finalized, [trigger_key("t")]);
    assert!(cluster.has_job("a"));
    cluster.check();
    a.complete(&bundle);
    assert_eq!(cluster.state("t"), "-", "I6");
    assert!(!cluster.has_job("a"), "I14");
}

on_each_strategy!(a_pass_handles_a_batch_and_says_that_there_are_more);
fn a_pass_handles_a_batch_and_says_that_there_are_more() {
    let cluster = Cluster::with(open(), |s| s.job_store.max_misfires_at_a_time = 20);
    let triggers: Vec<_> = (0..50).map(|i| minutely(&format!("t{i}"), "a", NOW + i).build().unwrap()).collect();
    cluster.store.catalogue().schedule(vec![(job("a").build().unwrap(), triggers)], false).unwrap();
    cluster.advance(10 * MINUTE);
    let passes: Vec<_> = (0..3).map(|_| cluster.store.upkeep().handle_misfires().unwrap()).collect();
    assert_eq!(passes.iter().map(|p| p.handled.len()).collect::<Vec<_>>(), [20, 20, 10]);
    assert_eq!(passes.iter().map(|p| p.more).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(passes[0].handled[0].key(), &trigger_key("t0"), "the latest first");
}

on_each_strategy!(unreadable_rows_do_not_keep_the_handler_from_the_others);
/// H12: in Quartz 2.3 one bad row blocks all misfire handling for ever.
fn unreadable_rows_do_not_keep_the_handler_from_the_others() {
    let cluster = Cluster::with(open(), |s| s.job_store.max_misfires_at_a_time = 5);
    let triggers: Vec<_> = (0..30).map(|i| minutely(&format!("t{i}"), "a", NOW + i).build().unwrap()).collect();
    let keys: Vec<_> = triggers[..20].iter().map(|t| t.key().clone()).collect();
    cluster.store.catalogue().schedule(vec![(job("a").build().unwrap(), triggers)], false).unwrap();
    cluster.damage(|s| {
        let mut rows = s.triggers(TriggerSelection::Keys(&keys))?;
        s.delete_triggers(&keys, None)?;
        rows.iter_mut().for_each(|row| row.data = Some(vec![1, 2, 3]));
        s.insert_triggers(&rows)
    });
    cluster.advance(10 * MINUTE);
    let pass = cluster.store.upkeep().handle_misfires().unwrap();
    assert_eq!(pass.handled.len(), 5);
    assert!(pass.more);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 5);
    let last = cluster.store.upkeep().handle_misfires().unwrap();
    assert_eq!((last.handled.len(), last.unreadable.len()), (0, 20));
}

on_each_strategy!(paused_and_blocked_and_reserved_triggers_are_not_handled);
fn paused_and_blocked_and_reserved_triggers_are_not_handled() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW + SECOND)]);
    cluster.schedule(job("b"), [minutely("v", "b", NOW + SECOND), minutely("w", "b", NOW + SECOND)]);
    cluster.store.catalogue().pause_triggers(&[trigger_key("w")]).unwrap();
    let acquisition = a.acquire();
    cluster.advance(10 * MINUTE);
    let before = cluster.rows();
    assert!(cluster.store.upkeep().handle_misfires().unwrap().handled.is_empty());
    assert_eq!(cluster.rows(), before);
    a.complete(&acquisition.fired[0]);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 2);
}

on_each_strategy!(a_look_finds_what_ignores_misfires_among_what_is_late);
/// The look begins behind what is the misfire handler's, and finds what ignores misfires all the
/// same; with a horizon it sees nothing beyond it.
fn a_look_finds_what_ignores_misfires_among_what_is_late() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let types = ["work".to_owned()];
    let earliest = |horizon: Option<Duration>| cluster.store.firing().poll(horizon, "", &types).unwrap().earliest_ms;
    let near = Some(Duration::from_secs(2));
    let ignoring = |name: &str, ms: i64| minutely(name, "a", ms).misfire(MisfireInstruction::Ignore);
    cluster.schedule(
        job("a").durable(true),
        [
            once("late", "a", NOW + 1),
            ignoring("ignores", NOW + 2),
            once("later", "a", NOW + 3),
            once("far", "a", NOW + 3 * 60 * MINUTE),
        ],
    );
    cluster.advance(60 * MINUTE);
    assert_eq!((earliest(None), earliest(near)), (Some(NOW + 2), Some(NOW + 2)));
    assert_eq!(names(&a.try_acquire(1).unwrap().fired), ["ignores"]);
    cluster.store.catalogue().pause_triggers(&[trigger_key("ignores")]).unwrap();
    let far = NOW + 3 * 60 * MINUTE;
    assert_eq!((earliest(None), earliest(near)), (Some(far), None), "the rest is left to the handler");
    assert!(a.acquire().fired.is_empty());
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 2);
    assert_eq!(earliest(near), Some(cluster.now()));
    assert_eq!(names(&a.acquire().fired), ["late", "later"]);
    cluster.advance(2 * 60 * MINUTE - 2 * SECOND);
    assert_eq!(earliest(near), Some(far), "it is within the horizon to the millisecond");
}
