//! Backfill: the fires of a range of the past are made up for, each once.

use super::*;
use carnelian::backfill::{Backfill, Backfilled};
use carnelian::key::BACKFILL_GROUP;
use carnelian::{CronSchedule, Error, GroupMatcher, MisfireInstruction, Overlap};

const HOUR: i64 = 60 * MINUTE;

fn hourly(name: &str, job: &str) -> carnelian::TriggerBuilder {
    once(name, job, NOW).schedule(CronSchedule::new("0 0 * * * ?").unwrap()).priority(7).data("of", "trigger")
}

fn backfill(name: &str, from_ms: i64, to_ms: i64) -> Backfill {
    Backfill::new(trigger_key(name), at(from_ms), at(to_ms))
}

/// Hours before the beginning, and whether they are new.
fn hours(done: &Backfilled) -> Vec<(i64, bool)> {
    done.fires.iter().map(|fire| ((NOW - fire.scheduled_fire_time.timestamp_millis()) / HOUR, fire.is_new)).collect()
}

on_each_database!(each_time_of_the_range_becomes_a_trigger_that_is_due_at_once);
fn each_time_of_the_range_becomes_a_trigger_that_is_due_at_once() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [hourly("t", "a").start_at(at(NOW + HOUR))]);
    let wanted = backfill("t", NOW - 3 * HOUR, NOW - HOUR);
    let plan = cluster.store.catalogue().backfill(&wanted.clone().dry_run(true)).unwrap();
    assert_eq!((hours(&plan), plan.stored.len()), (vec![(3, true), (2, true), (1, true)], 0));
    assert_eq!(cluster.snapshot().triggers.len(), 1, "nothing is stored");
    let done = cluster.store.catalogue().backfill(&wanted).unwrap();
    assert_eq!((&done.fires, done.stored.len()), (&plan.fires, 3));
    assert_eq!(done.fires[0].trigger.name(), "triggers.t-2027-01-15T05:00:00.000Z");
    for stored in &done.stored {
        assert_eq!(cluster.store.catalogue().trigger(stored.key()).unwrap().as_ref(), Some(stored));
    }
    // However old they are they are no misfires.
    assert!(cluster.store.upkeep().handle_misfires().unwrap().handled.is_empty());
    let fired = a.acquire().fired;
    let times: Vec<_> = fired.iter().map(|bundle| (NOW - bundle.scheduled_ms) / HOUR).collect();
    assert_eq!(times, [3, 2, 1]);
    for bundle in &fired {
        assert_eq!(bundle.trigger.key().group(), BACKFILL_GROUP);
        assert_eq!((bundle.trigger.priority(), bundle.trigger.data().text("of")), (7, Some("trigger")));
        a.complete(bundle);
    }
    assert_eq!(cluster.next("t"), Some(NOW + HOUR), "the trigger itself is as it was");
}

on_each_database!(a_time_is_stored_once_also_after_it_has_been_fired);
fn a_time_is_stored_once_also_after_it_has_been_fired() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [hourly("t", "a").start_at(at(NOW + HOUR))]);
    cluster.store.catalogue().backfill(&backfill("t", NOW - 2 * HOUR, NOW - HOUR)).unwrap();
    for bundle in a.acquire().fired {
        a.complete(&bundle);
    }
    let again = cluster.store.catalogue().backfill(&backfill("t", NOW - 3 * HOUR, NOW - HOUR)).unwrap();
    assert_eq!((hours(&again), again.stored.len()), (vec![(3, true), (2, false), (1, false)], 1));
    // Requests are forgotten after days; what still waits is there.
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals(BACKFILL_GROUP)).unwrap();
    cluster.advance(8 * 24 * HOUR);
    cluster.store.upkeep().clean_up().unwrap();
    let much_later = cluster.store.catalogue().backfill(&backfill("t", NOW - 3 * HOUR, NOW - 3 * HOUR)).unwrap();
    assert_eq!(hours(&much_later), [(3, false)]);
}

on_each_database!(what_the_trigger_still_fires_itself_is_left_to_it);
fn what_the_trigger_still_fires_itself_is_left_to_it() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [hourly("t", "a").misfire(MisfireInstruction::Ignore)]);
    cluster.advance(5 * HOUR);
    let done = cluster.store.catalogue().backfill(&backfill("t", NOW - HOUR, NOW + 3 * HOUR)).unwrap();
    assert_eq!(hours(&done), [(1, true)]);
}

on_each_database!(a_paused_group_and_a_running_job_hold_the_fires_of_a_backfill);
fn a_paused_group_and_a_running_job_hold_the_fires_of_a_backfill() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [hourly("t", "a"), once("u", "a", NOW)]);
    let running = a.fire_one();
    let done = cluster.store.catalogue().backfill(&backfill("t", NOW - 2 * HOUR, NOW - HOUR)).unwrap();
    assert_eq!(cluster.state_of(&done.fires[0].trigger), "BLOCKED");
    a.complete(&running);
    cluster.store.catalogue().pause_triggers(&[trigger_key("t"), trigger_key("u")]).unwrap();
    for hours in [2, 1] {
        let bundle = a.fire_one();
        assert_eq!(bundle.scheduled_ms, NOW - hours * HOUR, "one by one");
        a.complete(&bundle);
    }
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals(BACKFILL_GROUP)).unwrap();
    let done = cluster.store.catalogue().backfill(&backfill("t", NOW - 3 * HOUR, NOW - 3 * HOUR)).unwrap();
    assert_eq!(cluster.state_of(&done.fires[0].trigger), "PAUSED");
}

on_each_database!(a_backfill_of_a_trigger_that_may_not_overlap_needs_a_word);
fn a_backfill_of_a_trigger_that_may_not_overlap_needs_a_word() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [hourly("t", "a").overlap(Overlap::Skip)]);
    cluster.schedule(lone_job("b"), [hourly("u", "b").overlap(Overlap::Skip)]);
    let two = |name| backfill(name, NOW - 2 * HOUR, NOW - HOUR);
    let error = cluster.store.catalogue().backfill(&two("t")).unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("`skip`") && why.contains("2 fires")), "{error}");
    assert_eq!(
        cluster.store.catalogue().backfill(&backfill("t", NOW - HOUR, NOW - HOUR)).unwrap().stored.len(),
        1,
        "one alone"
    );
    assert_eq!(cluster.store.catalogue().backfill(&two("t").may_overlap(true)).unwrap().stored.len(), 1);
    assert_eq!(cluster.store.catalogue().backfill(&two("u")).unwrap().stored.len(), 2, "its job runs them one by one");
}

on_each_database!(ranges_that_cannot_be_are_refused_and_nothing_is_stored);
fn ranges_that_cannot_be_are_refused_and_nothing_is_stored() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a"), [hourly("t", "a")]);
    let many = backfill("t", NOW - 50 * HOUR, NOW - HOUR);
    for (wanted, expected) in [
        (backfill("t", NOW, NOW - 1), "beginning of the backfill"),
        (backfill("t", NOW, NOW + 1), "end of the backfill"),
        (many.clone().most(49), "expected at most 49 fires"),
        (many.clone().most(0), "expected 1 to 10000"),
        (many.clone().most(10_001), "expected 1 to 10000"),
        (backfill("none", NOW - HOUR, NOW), "triggers.none"),
    ] {
        for wanted in [wanted.clone(), wanted.dry_run(true)] {
            let error = cluster.store.catalogue().backfill(&wanted).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
    assert_eq!(cluster.snapshot().triggers.len(), 1);
    assert_eq!(cluster.store.catalogue().backfill(&many.most(50)).unwrap().stored.len(), 50);
}

on_each_database!(a_thousand_fires_are_stored_together);
/// Many in one transaction.
fn a_thousand_fires_are_stored_together() {
    let cluster = Cluster::new(open());
    let per_second = once("t", "a", NOW).schedule(CronSchedule::new("* * * * * ?").unwrap());
    cluster.schedule(job("a"), [per_second]);
    let wanted = backfill("t", NOW - 1_000 * SECOND, NOW - SECOND);
    let before = cluster.opened.database.counts();
    assert_eq!(cluster.store.catalogue().backfill(&wanted).unwrap().stored.len(), 1_000);
    assert_eq!(cluster.opened.database.counts().commits - before.commits, 1);
    assert_eq!(cluster.store.catalogue().backfill(&wanted).unwrap().stored.len(), 0);
    assert_eq!(cluster.snapshot().triggers.len(), 1_001);
}
