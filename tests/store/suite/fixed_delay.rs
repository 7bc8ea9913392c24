//! Fixed delay: the end of a run sets the next time of its trigger.

use super::beside_quartz::{JAVA, java_joins};
use super::*;
use carnelian::store::{CompletionInstruction, CompletionOutcome, FireBundle};
use carnelian::trigger::TriggerOption;
use carnelian::{MisfireInstruction, Overlap, SimpleSchedule, TriggerBuilder};
use std::time::Duration;

fn delay() -> SimpleSchedule {
    SimpleSchedule::fixed_delay(Duration::from_secs(60))
}

fn delayed(name: &str, job: &str) -> TriggerBuilder {
    once(name, job, NOW).schedule(delay())
}

/// The state and the next time of `t`, after the beginning.
fn seen(cluster: &Cluster) -> (String, Option<i64>) {
    (cluster.state("t"), cluster.next("t").map(|ms| ms - NOW))
}

fn waits_until(ms: i64) -> (String, Option<i64>) {
    ("WAITING".to_owned(), Some(ms))
}

fn fails(node: &Node, bundle: &FireBundle) {
    let mut completion = bundle.completion(CompletionInstruction::NoInstruction, None);
    completion.failed = true;
    node.complete_all(&[completion]);
}

on_each_database!(the_next_time_counts_from_the_end_of_the_run);
fn the_next_time_counts_from_the_end_of_the_run() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    let stored = cluster.schedule(job("a"), [delayed("t", "a")]);
    assert_eq!(cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().as_ref(), Some(&stored[0]));
    assert_eq!(
        (stored[0].schedule().options(), stored[0].overlap()),
        (vec![TriggerOption::FixedDelay], Overlap::BufferOne)
    );
    let first = a.fire_one();
    assert_eq!(seen(&cluster), ("BLOCKED".to_owned(), Some(MINUTE)));
    cluster.advance(5 * MINUTE);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled, [], "nothing is late while it runs");
    assert!(b.acquire().fired.is_empty());
    a.complete(&first);
    assert_eq!(seen(&cluster), waits_until(6 * MINUTE));

    cluster.advance(MINUTE);
    let second = b.fire_one();
    cluster.advance(SECOND);
    fails(&b, &second);
    assert_eq!(seen(&cluster), waits_until(7 * MINUTE + SECOND), "after a failure too");
}

on_each_database!(the_series_goes_on_after_a_run_that_died);
fn the_series_goes_on_after_a_run_that_died() {
    for recovers in [false, true] {
        let cluster = Cluster::one_of_many(open());
        let (a, mut b) = (cluster.node("A"), cluster.node("B"));
        cluster.schedule(job("a").requests_recovery(recovers), [delayed("t", "a")]);
        a.fire_one();
        cluster.advance(10 * SECOND);
        b.check_in();
        cluster.advance(12_501);
        assert_eq!(b.recovers().len(), 1);
        assert_eq!(seen(&cluster), waits_until(22_501 + MINUTE));
        let again = b.acquire().fired;
        assert_eq!(again.len(), usize::from(recovers), "the work itself goes on at once");
        again.iter().for_each(|bundle| assert_eq!(b.complete(bundle), CompletionOutcome::Recorded));
        cluster.advance(MINUTE);
        assert_eq!(names(&b.acquire().fired), ["t"]);
    }
}

on_each_database!(a_count_ends_the_series);
fn a_count_ends_the_series() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW).schedule(delay().repeat(1))]);
    for _ in 0..2 {
        let bundle = a.fire_one();
        cluster.advance(3 * MINUTE);
        a.complete(&bundle);
        cluster.advance(MINUTE);
    }
    assert_eq!((cluster.state("t").as_str(), cluster.has_job("a")), ("-", false));
}

on_each_database!(an_end_time_ends_the_series_with_the_run_before_it);
fn an_end_time_ends_the_series_with_the_run_before_it() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [delayed("t", "a").end_at(at(NOW + 3 * MINUTE))]);
    let bundle = a.fire_one();
    cluster.advance(2 * MINUTE);
    a.complete(&bundle);
    assert_eq!((cluster.state("t").as_str(), cluster.has_job("a")), ("-", false));
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0, "its option went with it");
}

on_each_database!(a_late_one_fires_once_or_waits_for_its_delay);
/// One time alone can be late, and stands for all.
fn a_late_one_fires_once_or_waits_for_its_delay() {
    for (instruction, fires) in [
        (MisfireInstruction::Smart, true),
        (MisfireInstruction::FireNow, true),
        (MisfireInstruction::Ignore, true),
        (MisfireInstruction::RescheduleNowWithRemainingCount, true),
        (MisfireInstruction::RescheduleNextWithRemainingCount, false),
    ] {
        let cluster = Cluster::one_of_many(open());
        let a = cluster.node("A");
        cluster.schedule(job("a"), [delayed("t", "a").misfire(instruction)]);
        cluster.advance(10 * MINUTE);
        cluster.store.upkeep().handle_misfires().unwrap();
        let fired = a.acquire().fired;
        assert_eq!(fired.len(), usize::from(fires), "{instruction:?}");
        for bundle in &fired {
            cluster.advance(MINUTE);
            a.complete(bundle);
        }
        let ended_ms = if fires { 11 * MINUTE } else { 10 * MINUTE };
        assert_eq!(seen(&cluster), waits_until(ended_ms + MINUTE), "{instruction:?}");
    }
}

on_each_database!(what_was_paused_or_replaced_while_it_ran_stays_so);
fn what_was_paused_or_replaced_while_it_ran_stays_so() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [delayed("t", "a")]);
    let first = a.fire_one();
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    assert_eq!(cluster.state("t"), "PAUSED_BLOCKED");
    a.complete(&first);
    assert_eq!(cluster.state("t"), "PAUSED");
    cluster.advance(2 * MINUTE);
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    let second = a.fire_one();
    let other = once("t", "a", NOW + 30 * MINUTE).schedule(delay()).build().unwrap();
    cluster.store.catalogue().reschedule(&trigger_key("t"), other).unwrap().unwrap();
    a.complete(&second);
    assert_eq!(seen(&cluster), waits_until(30 * MINUTE));
}

on_each_database!(a_job_that_runs_once_at_a_time_counts_from_the_end_too);
/// The trigger of a job that runs once at a time is blocked for two reasons.
fn a_job_that_runs_once_at_a_time_counts_from_the_end_too() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [delayed("t", "a"), once("u", "a", NOW + MINUTE)]);
    let first = a.fire_one();
    cluster.advance(2 * MINUTE);
    a.complete(&first);
    assert_eq!(seen(&cluster), waits_until(3 * MINUTE));
    let other = a.fire_one();
    assert_eq!(other.trigger.key(), &trigger_key("u"));
    assert_eq!(seen(&cluster), ("BLOCKED".to_owned(), Some(3 * MINUTE)));
    cluster.advance(5 * SECOND);
    a.complete(&other);
    assert_eq!(seen(&cluster), waits_until(3 * MINUTE), "the run of another trigger delays nothing");
}

on_each_database!(beside_quartz_it_is_refused_or_suspended);
/// Nodes of Quartz see a simple trigger that fires every minute, and so does everybody then.
fn beside_quartz_it_is_refused_or_suspended() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("a"), [delayed("t", "a")]);
    let first = a.fire_one();
    java_joins(&cluster, &mut a);
    let other = delayed("u", "a").build().unwrap();
    let error = cluster.store.catalogue().add_trigger(other, false).unwrap_err().to_string();
    assert!(error.contains("`fixed-delay`") && error.contains(JAVA), "{error}");
    cluster.advance(5 * SECOND);
    a.complete(&first);
    assert_eq!(seen(&cluster), waits_until(MINUTE), "it is let go, at its own time");
}

on_each_database!(another_overlap_is_refused);
fn another_overlap_is_refused() {
    let overlap = |overlap| delayed("t", "a").overlap(overlap).build();
    assert!(overlap(Overlap::BufferOne).is_ok());
    for other in [Overlap::Skip, Overlap::CancelPrevious] {
        let error = overlap(other).unwrap_err().to_string();
        assert!(error.contains(other.name()) && error.contains("fixed delay"), "{error}");
    }
    let built = delayed("t", "a").build().unwrap();
    let plain = built.to_builder().schedule(SimpleSchedule::once()).build().unwrap();
    assert_eq!(plain.overlap(), Overlap::AllowAll);
}
