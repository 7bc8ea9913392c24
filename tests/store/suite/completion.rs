//! Completion: the effect of the end of a fire on its trigger and its job.

use super::*;
use carnelian::JobDataMap;
use carnelian::store::CompletionInstruction::*;
use carnelian::store::CompletionOutcome::*;

on_each_strategy!(a_repeating_trigger_goes_on_after_its_fire);
fn a_repeating_trigger_goes_on_after_its_fire() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    let bundle = a.fire_one();
    assert_eq!(a.complete(&bundle), Recorded);
    assert!(cluster.fires().is_empty());
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + MINUTE)));
}

on_each_strategy!(the_last_fire_takes_the_trigger_along_and_the_job_if_it_is_not_durable);
/// S10.
fn the_last_fire_takes_the_trigger_along_and_the_job_if_it_is_not_durable() {
    for (recovery, durable) in [(false, false), (false, true), (true, false), (true, true)] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a").requests_recovery(recovery).durable(durable), [once("t", "a", NOW)]);
        let bundle = a.fire_one();
        assert!(cluster.has_job("a"), "while it runs");
        assert_eq!(cluster.state("t"), if recovery { "COMPLETE" } else { "-" });
        assert_eq!(a.complete(&bundle), Recorded);
        assert_eq!(cluster.state("t"), "-");
        assert_eq!(cluster.has_job("a"), durable, "recovery={recovery}");
    }
}

on_each_strategy!(a_job_that_is_not_durable_stays_until_its_last_fire_has_ended);
/// H21: the last fire must not take the job from an earlier one that still runs.
fn a_job_that_is_not_durable_stays_until_its_last_fire_has_ended() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW), once("u", "a", NOW)]);
    let fired = a.acquire().fired;
    a.complete(&fired[1]);
    assert!(cluster.has_job("a"));
    assert_eq!(cluster.state("t"), "COMPLETE");
    a.complete(&fired[0]);
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(a_complete_trigger_stays_until_its_last_fire_has_ended);
fn a_complete_trigger_stays_until_its_last_fire_has_ended() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let twice = once("t", "a", NOW)
        .schedule(carnelian::SimpleSchedule::every(std::time::Duration::from_secs(1)).repeat(1))
        .misfire(carnelian::MisfireInstruction::Ignore);
    cluster.schedule(job("a").requests_recovery(true), [twice]);
    let first = a.fire_one();
    cluster.advance(SECOND);
    let second = a.fire_one();
    assert_eq!(cluster.state("t"), "COMPLETE");
    a.complete(&second);
    assert_eq!(cluster.state("t"), "COMPLETE");
    a.complete(&first);
    assert_eq!(cluster.state("t"), "-");
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(a_one_shot_that_ends_in_error_has_fired_once);
/// Quartz counts every fire in the trigger's row; the row of a last fire was kept here, with one
/// fire too few in it.
fn a_one_shot_that_ends_in_error_has_fired_once() {
    for instruction in [SetTriggerError, SetAllJobTriggersError] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
        let bundle = a.fire_one();
        assert_eq!(a.complete_with(&bundle, instruction), Recorded);
        assert_eq!((cluster.state("t").as_str(), times_fired(&cluster, "t")), ("ERROR", 1), "{instruction:?}");
    }
}

fn times_fired(cluster: &Cluster, name: &str) -> u64 {
    let stored = cluster.store.catalogue().trigger(&trigger_key(name)).unwrap().unwrap();
    let carnelian::Schedule::Simple(simple) = stored.schedule() else { panic!("{stored:?}") };
    simple.times_triggered()
}

on_each_strategy!(a_last_fire_counts_once_whoever_puts_its_trigger_in_error);
/// The end of another fire puts the trigger in error while its last fire runs: it counted for
/// nothing then.
fn a_last_fire_counts_once_whoever_puts_its_trigger_in_error() {
    for last in [NoInstruction, SetTriggerError, SetAllJobTriggersError] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a").requests_recovery(true), [minutely("m", "a", NOW), once("t", "a", NOW)]);
        let fired = a.acquire().fired;
        let of = |name| fired.iter().find(|fire| fire.trigger.key() == &trigger_key(name)).unwrap();
        a.complete_with(of("m"), SetAllJobTriggersError);
        assert_eq!((cluster.state("t").as_str(), times_fired(&cluster, "t")), ("ERROR", 1), "{last:?}");
        a.complete_with(of("t"), last);
        assert_eq!((cluster.state("t").as_str(), times_fired(&cluster, "t")), ("ERROR", 1), "{last:?}");
        assert_eq!((cluster.state("m").as_str(), times_fired(&cluster, "m")), ("ERROR", 1), "{last:?}");
    }
}

on_each_strategy!(unscheduling_the_firing_trigger_ends_it);
fn unscheduling_the_firing_trigger_ends_it() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW + MINUTE)]);
    let bundle = a.fire_one();
    a.complete_with(&bundle, SetTriggerComplete);
    assert_eq!((cluster.state("t").as_str(), cluster.state("u").as_str()), ("-", "WAITING"));
    assert!(cluster.has_job("a"));
}

on_each_strategy!(unscheduling_all_triggers_ends_them_and_the_job);
fn unscheduling_all_triggers_ends_them_and_the_job() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(
        lone_job("a"),
        [minutely("t", "a", NOW), minutely("u", "a", NOW + MINUTE), minutely("v", "a", NOW + MINUTE)],
    );
    cluster.store.catalogue().pause_triggers(&[trigger_key("v")]).unwrap();
    let bundle = a.fire_one();
    a.complete_with(&bundle, SetAllJobTriggersComplete);
    assert_eq!(["t", "u", "v"].map(|t| cluster.state(t)), ["-", "-", "-"]);
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(all_triggers_of_a_job_may_be_ended_while_another_of_its_fires_runs);
fn all_triggers_of_a_job_may_be_ended_while_another_of_its_fires_runs() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW)]);
    let fired = a.acquire().fired;
    a.complete_with(&fired[0], SetAllJobTriggersComplete);
    assert_eq!(cluster.state_of(fired[0].trigger.key()), "-");
    assert_eq!(cluster.state_of(fired[1].trigger.key()), "COMPLETE");
    cluster.check();
    a.complete(&fired[1]);
    // The fire began before its trigger was ended: its completion does not know that it was the
    // last.
    assert_eq!(cluster.state_of(fired[1].trigger.key()), "-");
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(all_triggers_may_be_ended_while_one_of_them_is_reserved);
fn all_triggers_may_be_ended_while_one_of_them_is_reserved() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW + SECOND)]);
    let acquisition = a.acquire();
    a.complete_with(&acquisition.fired[0], SetAllJobTriggersComplete);
    assert!(a.fire(&acquisition.reserved).is_empty());
    assert!(b.acquire().fired.is_empty());
    assert!(cluster.fires().is_empty() && !cluster.has_job("a"));
}

on_each_strategy!(a_trigger_that_is_reserved_again_may_be_ended_or_put_in_error);
/// The next fire of the trigger is reserved, perhaps by another node, while this one ends.
fn a_trigger_that_is_reserved_again_may_be_ended_or_put_in_error() {
    for (instruction, state) in [(SetTriggerComplete, "-"), (SetTriggerError, "ERROR")] {
        let cluster = Cluster::new(open());
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        let often = carnelian::SimpleSchedule::every(std::time::Duration::from_secs(5));
        cluster.schedule(job("a").durable(true), [once("t", "a", NOW).schedule(often)]);
        let bundle = a.fire_one();
        let reservation = b.reserve_one();
        a.complete_with(&bundle, instruction);
        assert_eq!(cluster.state("t"), state);
        cluster.check();
        cluster.advance(5 * SECOND);
        assert!(b.fire(&[reservation]).is_empty());
        assert!(cluster.fires().is_empty());
        assert_eq!(cluster.state("t"), state);
    }
}

on_each_strategy!(a_trigger_in_error_stays_until_somebody_resets_it);
fn a_trigger_in_error_stays_until_somebody_resets_it() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW + MINUTE)]);
    let bundle = a.fire_one();
    a.complete_with(&bundle, SetTriggerError);
    assert_eq!((cluster.state("t").as_str(), cluster.state("u").as_str()), ("ERROR", "WAITING"));
    assert!(cluster.store.catalogue().reset_from_error(&trigger_key("t")).unwrap());
    assert!(!cluster.store.catalogue().reset_from_error(&trigger_key("t")).unwrap());
    assert!(!cluster.store.catalogue().reset_from_error(&trigger_key("nobody")).unwrap());
    assert_eq!(cluster.state("t"), "WAITING");
}

on_each_strategy!(all_triggers_of_a_lone_job_may_be_put_in_error);
fn all_triggers_of_a_lone_job_may_be_put_in_error() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW), minutely("u", "a", NOW + MINUTE)]);
    let bundle = a.fire_one();
    a.complete_with(&bundle, SetAllJobTriggersError);
    assert_eq!(["t", "u"].map(|t| cluster.state(t)), ["ERROR", "ERROR"]);
    assert!(cluster.fires().is_empty());
}

on_each_strategy!(a_one_shot_that_ends_in_error_stays_for_a_person_to_see);
fn a_one_shot_that_ends_in_error_stays_for_a_person_to_see() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    let bundle = a.fire_one();
    a.complete_with(&bundle, SetTriggerError);
    assert_eq!(cluster.state("t"), "ERROR");
    assert!(cluster.has_job("a"));
    assert!(cluster.store.catalogue().reset_from_error(&trigger_key("t")).unwrap());
    assert_eq!(cluster.state("t"), "-", "it has no fire left");
    assert!(!cluster.has_job("a"));
}

on_each_strategy!(changed_job_data_is_stored_and_seen_by_the_next_fire);
fn changed_job_data_is_stored_and_seen_by_the_next_fire() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let counting = lone_job("a").persist_job_data_after_execution(true).data("n", 0);
    cluster.schedule(counting, [minutely("t", "a", NOW)]);
    for n in 1..4 {
        let bundle = a.fire_one();
        assert_eq!(bundle.job.data().integer("n"), Some(n - 1));
        let data: JobDataMap = [("n", n)].into_iter().collect();
        a.complete_all(&[bundle.completion(NoInstruction, Some(data))]);
        cluster.advance(MINUTE);
    }
    assert_eq!(cluster.store.catalogue().job(&job_key("a")).unwrap().unwrap().data().integer("n"), Some(3));
}

on_each_strategy!(fifty_fires_end_in_one_transaction);
/// Law 9: one transaction whatever the number.
fn fifty_fires_end_in_one_transaction() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let triggers: Vec<_> = (0..50).map(|i| once(&format!("t{i}"), "a", NOW).build().unwrap()).collect();
    cluster.store.catalogue().schedule(vec![(job("a").build().unwrap(), triggers)], false).unwrap();
    let before = cluster.opened.database.counts().commits;
    let fired = a.acquire().fired;
    assert_eq!(fired.len(), 50);
    let ends: Vec<_> = fired.iter().map(|f| f.completion(NoInstruction, None)).collect();
    assert_eq!(a.complete_all(&ends), [Recorded; 50]);
    // To claim takes a transaction more, for the fences.
    let claims = cluster.store.polling_strategy().unwrap() == carnelian::settings::PollingStrategy::LockAndFetch;
    assert_eq!(cluster.opened.database.counts().commits - before, 2 + u64::from(claims));
    assert!(cluster.fires().is_empty() && !cluster.has_job("a"));
}

on_each_strategy!(a_fire_that_ended_twice_is_recorded_once);
fn a_fire_that_ended_twice_is_recorded_once() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW)]);
    let bundle = a.fire_one();
    assert_eq!(a.complete(&bundle), Recorded);
    cluster.advance(MINUTE);
    let next = a.fire_one();
    assert_eq!(a.complete_with(&bundle, SetTriggerError), Fenced);
    assert_eq!((cluster.state("t").as_str(), cluster.fires().len()), ("BLOCKED", 1));
    a.complete(&next);
}

on_each_strategy!(a_job_deleted_while_it_runs_ends_as_usual);
fn a_job_deleted_while_it_runs_ends_as_usual() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a").persist_job_data_after_execution(true), [minutely("t", "a", NOW)]);
    let bundle = a.fire_one();
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    let data = JobDataMap::new();
    assert_eq!(a.complete_all(&[bundle.completion(NoInstruction, Some(data))]), [Recorded]);
    assert!(cluster.fires().is_empty() && !cluster.has_job("a"));
}

on_each_strategy!(unscheduling_a_running_one_shot_leaves_the_job_until_it_ends);
fn unscheduling_a_running_one_shot_leaves_the_job_until_it_ends() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [minutely("t", "a", NOW)]);
    let bundle = a.fire_one();
    cluster.store.catalogue().unschedule(&[trigger_key("t")]).unwrap();
    assert!(cluster.has_job("a"), "H21");
    a.complete(&bundle);
    assert!(!cluster.has_job("a"), "I14");
}

on_each_strategy!(a_job_whose_trigger_is_given_to_another_while_it_runs_goes_with_its_run);
/// Seed 1002310101544854208 of the fast path: the row of the trigger was there, and nobody saw that
/// it was another job's.
fn a_job_whose_trigger_is_given_to_another_while_it_runs_goes_with_its_run() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    let run = a.fire_one();
    let other = (job("b").build().unwrap(), vec![minutely("t", "b", NOW + 10 * MINUTE).build().unwrap()]);
    cluster.store.catalogue().schedule(vec![other], true).unwrap();
    assert!(cluster.has_job("a"), "it runs");
    assert_eq!(a.complete(&run), Recorded);
    assert!(!cluster.has_job("a") && cluster.has_job("b"));
    assert_eq!(cluster.state("t"), "WAITING");
}

#[cfg(feature = "test-util")]
on_each_strategy!(what_a_job_left_behind_goes_though_the_commit_that_tidies_is_lost);
/// A job on a server has ended its fire in a transaction of its own, which leaves the job. The
/// commit that takes it away is lost, and nobody else would ever do so.
#[cfg(feature = "test-util")]
fn what_a_job_left_behind_goes_though_the_commit_that_tidies_is_lost() {
    use carnelian::store::faults::Fault;
    for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a"), [once("t", "a", NOW)]);
        let bundle = a.fire_one();
        cluster.damage(|s| s.delete_fired(std::slice::from_ref(&bundle.fire_id), Vec::new()).map(drop));
        cluster.opened.database.plan().plan(1, fault);
        let ended = carnelian::store::Completion { by_job: true, ..bundle.completion(NoInstruction, None) };
        assert_eq!(a.complete_all(&[ended]), [Fenced], "{fault:?}");
        assert!(!cluster.has_job("a"), "{fault:?}");
    }
}
