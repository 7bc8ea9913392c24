//! Overlap, catch-up and pause on failure: policies of triggers that Quartz does not know.

use super::beside_quartz::{JAVA, java_joins};
use super::*;
use carnelian::listener::{SkipReason, SkippedFires};
use carnelian::store::row::Departure;
use carnelian::store::{CompletionInstruction, CompletionOutcome, CompletionReport, FireBundle, Heartbeats};
use carnelian::{
    CronSchedule, Error, JobPolicy, MisfireInstruction, OnDead, Overlap, SimpleSchedule, TriggerBuilder, TriggerState,
};
use std::collections::BTreeSet;
use std::time::Duration;

fn with(name: &str, job: &str, overlap: Overlap) -> TriggerBuilder {
    minutely(name, job, NOW).overlap(overlap)
}

/// Every minute by a cron expression.
fn by_cron(name: &str, job: &str) -> TriggerBuilder {
    once(name, job, NOW).schedule(CronSchedule::new("0 * * * * ?").unwrap())
}

/// `(first time after the beginning, times, reason)`.
fn told(skipped: &[SkippedFires]) -> Vec<(i64, u64, SkipReason)> {
    skipped.iter().map(|one| (one.first_time.timestamp_millis() - NOW, one.times, one.reason)).collect()
}

fn fails(node: &Node, bundle: &FireBundle) -> CompletionReport {
    let mut completion = bundle.completion(CompletionInstruction::NoInstruction, None);
    completion.failed = true;
    node.store.firing().complete(&node.owner(), &[completion]).unwrap()
}

fn ends(node: &Node, bundle: &FireBundle) -> CompletionReport {
    node.store
        .firing()
        .complete(&node.owner(), &[bundle.completion(CompletionInstruction::NoInstruction, None)])
        .unwrap()
}

on_each_strategy!(policies_come_back_as_they_were_stored_and_go_with_their_triggers);
/// Options in the side table; simple triggers have some too, and they go with their triggers.
fn policies_come_back_as_they_were_stored_and_go_with_their_triggers() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let window = Duration::from_secs(90);
    let stored = cluster.schedule(
        job("a").durable(true),
        [
            once("once", "a", NOW).overlap(Overlap::Skip).catch_up_window(window).pause_on_failure(true),
            minutely("simple", "a", NOW).overlap(Overlap::BufferOne),
            by_cron("cron", "a").overlap(Overlap::CancelPrevious),
            once("plain", "a", NOW),
        ],
    );
    for trigger in &stored {
        assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap().as_ref(), Some(trigger));
    }
    assert_eq!(stored[0].policies(), ["overlap-skip", "catch-up=90000", "pause-on-failure"]);
    for bundle in a.acquire().fired {
        a.complete(&bundle);
    }
    assert_eq!(cluster.state("once"), "-");
    cluster.store.catalogue().unschedule(&[trigger_key("simple")]).unwrap();
    for name in ["once", "simple"] {
        cluster.schedule(job("b").durable(true), [once(name, "b", NOW)]);
        assert_eq!(cluster.store.catalogue().trigger(&trigger_key(name)).unwrap().unwrap().policies(), [""; 0]);
        cluster.store.catalogue().delete_jobs(&[job_key("b")]).unwrap();
    }
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0);
}

on_each_strategy!(policies_go_with_a_trigger_that_was_kept_until_its_end);
/// A one-shot whose job asks for recovery keeps its row until its end; its options go with it.
fn policies_go_with_a_trigger_that_was_kept_until_its_end() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW).overlap(Overlap::Skip)]);
    a.complete(&a.fire_one());
    assert_eq!((cluster.state("t").as_str(), cluster.has_job("a")), ("-", false));
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0);
}

on_each_strategy!(all_fires_may_overlap_unless_told_otherwise);
fn all_fires_may_overlap_unless_told_otherwise() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [with("t", "a", Overlap::AllowAll)]);
    let first = a.fire_one();
    cluster.advance(MINUTE);
    let second = a.fire_one();
    a.complete_all(&[first, second].map(|b| b.completion(CompletionInstruction::NoInstruction, None)));
}

on_each_strategy!(a_fire_that_comes_due_while_another_node_runs_the_last_is_skipped);
fn a_fire_that_comes_due_while_another_node_runs_the_last_is_skipped() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [with("t", "a", Overlap::Skip), minutely("u", "a", NOW + MINUTE)]);
    let first = a.fire_one();
    cluster.advance(MINUTE);
    let brought = b.acquire();
    assert_eq!(names(&brought.fired), ["u"], "another trigger of the job");
    assert_eq!(told(&brought.skipped), [(MINUTE, 1, SkipReason::Overlap)]);
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + 2 * MINUTE)));
    b.complete(&brought.fired[0]);
    cluster.store.catalogue().unschedule(&[trigger_key("u")]).unwrap();
    assert_eq!(ends(&a, &first).skipped, []);
    cluster.advance(MINUTE);
    let next = b.fire_one();
    assert_eq!((next.scheduled_ms, next.previous_ms), (NOW + 2 * MINUTE, Some(NOW)));
    b.complete(&next);
}

on_each_strategy!(a_reserved_fire_is_skipped_if_the_run_before_it_has_not_ended_at_its_time);
/// A reservation was made before its time; whether a run is in the way is asked when it has come.
fn a_reserved_fire_is_skipped_if_the_run_before_it_has_not_ended_at_its_time() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [with("t", "a", Overlap::Skip)]);
    let first = a.fire_one();
    cluster.advance(MINUTE - SECOND);
    let reserved = b.reserve_one();
    cluster.advance(SECOND);
    let brought = b.store.firing().fire(&b.owner(), &[reserved]).unwrap();
    assert_eq!((brought.fired.len(), told(&brought.skipped)), (0, vec![(MINUTE, 1, SkipReason::Overlap)]));
    assert_eq!((cluster.state("t").as_str(), cluster.fires()), ("WAITING", vec!["t/EXECUTING@A".to_owned()]));
    cluster.advance(MINUTE - SECOND);
    let reserved = b.reserve_one();
    a.complete(&first);
    cluster.advance(SECOND);
    let fired = b.fire(&[reserved]);
    assert_eq!(names(&fired), ["t"]);
    b.complete(&fired[0]);
}

on_each_strategy!(a_fire_ahead_of_its_time_is_reserved_if_the_run_before_it_lasts);
/// Triggers may be fired a little ahead of their time; that is no reason to skip one whose time has
/// not come.
fn a_fire_ahead_of_its_time_is_reserved_if_the_run_before_it_lasts() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [with("t", "a", Overlap::Skip)]);
    let first = a.fire_one();
    cluster.advance(MINUTE - SECOND);
    let brought = a.acquire_with(10, |request| request.fire_ahead_ms = 5 * SECOND).unwrap();
    assert_eq!((brought.fired.len(), brought.reserved.len(), brought.skipped.len()), (0, 1, 0));
    a.complete(&first);
    let fired = a.fire(&brought.reserved);
    assert_eq!(fired.len(), 1);
    a.complete(&fired[0]);
}

on_each_strategy!(what_came_due_while_a_run_lasted_is_skipped_at_its_end_even_if_nobody_saw_it);
/// No node may have had a worker free to see it come due: the end of the run decides as well.
fn what_came_due_while_a_run_lasted_is_skipped_at_its_end_even_if_nobody_saw_it() {
    for lone in [false, true] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a").disallow_concurrent_execution(lone), [with("t", "a", Overlap::Skip)]);
        let first = a.fire_one();
        cluster.advance(3 * MINUTE + SECOND);
        let recorded = ends(&a, &first);
        assert_eq!(told(&recorded.skipped), [(MINUTE, 3, SkipReason::Overlap)], "{lone}");
        assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + 4 * MINUTE)));
        assert_eq!(a.acquire().fired.len(), 0);
    }
}

on_each_strategy!(a_reservation_whose_time_came_while_the_run_lasted_is_taken_back);
fn a_reservation_whose_time_came_while_the_run_lasted_is_taken_back() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [with("t", "a", Overlap::Skip)]);
    let first = a.fire_one();
    cluster.advance(MINUTE - SECOND);
    let reserved = b.reserve_one();
    cluster.advance(SECOND);
    assert_eq!(told(&ends(&a, &first).skipped), [(MINUTE, 1, SkipReason::Overlap)]);
    assert_eq!(b.fire(&[reserved]).len(), 0);
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("WAITING", Some(NOW + 2 * MINUTE)));
}

on_each_strategy!(a_trigger_whose_last_times_are_skipped_goes_when_its_run_has_ended);
fn a_trigger_whose_last_times_are_skipped_goes_when_its_run_has_ended() {
    for seen in [false, true] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        let twice = with("t", "a", Overlap::Skip).schedule(SimpleSchedule::every(Duration::from_secs(60)).repeat(1));
        cluster.schedule(job("a"), [twice]);
        let first = a.fire_one();
        cluster.advance(MINUTE);
        if seen {
            let brought = a.acquire();
            assert_eq!((told(&brought.skipped).len(), brought.finalized), (1, vec![trigger_key("t")]));
            assert_eq!(cluster.state("t"), "COMPLETE");
        }
        let recorded = ends(&a, &first);
        assert_eq!(recorded.finalized.len(), usize::from(!seen));
        assert_eq!((cluster.state("t").as_str(), cluster.has_job("a")), ("-", false));
    }
}

on_each_strategy!(one_fire_waits_for_the_end_of_the_run_and_begins_then_at_once);
fn one_fire_waits_for_the_end_of_the_run_and_begins_then_at_once() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [with("t", "a", Overlap::BufferOne), minutely("u", "a", NOW)]);
    let brought = a.acquire();
    let first = brought.fired.iter().find(|bundle| bundle.trigger.key() == &trigger_key("t")).unwrap();
    cluster.store.catalogue().unschedule(&[trigger_key("u")]).unwrap();
    cluster.advance(MINUTE);
    let waits = b.acquire();
    assert_eq!((waits.fired.len(), waits.waiting, waits.skipped.len()), (0, vec![trigger_key("t")], 0));
    assert_eq!((cluster.state("t").as_str(), cluster.next("t")), ("BLOCKED", Some(NOW + MINUTE)));
    assert_eq!(cluster.store.upkeep().audit().unwrap(), carnelian::store::AuditPass::default());
    cluster.advance(10 * SECOND);
    assert_eq!(ends(&a, first).let_go, [trigger_key("t")], "a run of another trigger goes on");
    let second = b.fire_one();
    assert_eq!((second.scheduled_ms, cluster.next("t")), (NOW + MINUTE, Some(NOW + 2 * MINUTE)));
    b.complete(&second);
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    for bundle in brought.fired.iter().filter(|bundle| bundle.fire_id != first.fire_id) {
        a.complete(bundle);
    }
}

on_each_strategy!(a_waiting_fire_is_let_go_though_its_job_has_become_lone);
/// However long it waits it is no misfire, and what comes due meanwhile is left out.
/// The run began as one of many, so its end unblocks nobody for the job's sake.
fn a_waiting_fire_is_let_go_though_its_job_has_become_lone() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").durable(true), [with("t", "a", Overlap::BufferOne)]);
    let bundle = a.fire_one();
    cluster.advance(MINUTE);
    a.acquire();
    assert_eq!(cluster.state("t"), "BLOCKED");
    cluster.store.catalogue().add_job(&lone_job("a").durable(true).build().unwrap(), true).unwrap();
    ends(&a, &bundle);
    assert_eq!(cluster.state("t"), "WAITING");
    a.complete(&a.fire_one());
}

on_each_strategy!(a_fire_that_has_waited_for_long_is_no_misfire);
fn a_fire_that_has_waited_for_long_is_no_misfire() {
    for lone in [false, true] {
        for misfire in [MisfireInstruction::DoNothing, MisfireInstruction::Ignore] {
            let cluster = Cluster::new(open());
            let a = cluster.node("A");
            let trigger = by_cron("t", "a").overlap(Overlap::BufferOne).misfire(misfire);
            let trigger = trigger.catch_up_window(Duration::from_secs(5));
            cluster.schedule(job("a").disallow_concurrent_execution(lone), [trigger]);
            let first = a.fire_one();
            cluster.advance(MINUTE);
            assert_eq!(a.acquire().waiting.len(), usize::from(!lone));
            cluster.advance(9 * MINUTE + SECOND);
            cluster.store.upkeep().handle_misfires().unwrap();
            a.complete(&first);
            cluster.store.upkeep().handle_misfires().unwrap();
            let second = a.acquire();
            assert_eq!((second.fired.len(), told(&second.skipped).len()), (1, 0), "{lone} {misfire:?}");
            assert_eq!(second.fired[0].scheduled_ms, cluster.now());
            assert_eq!(cluster.next("t"), Some(NOW + 11 * MINUTE));
            a.complete(&second.fired[0]);
        }
    }
}

on_each_strategy!(at_most_one_fire_waits);
fn at_most_one_fire_waits() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let trigger = once("t", "a", NOW).schedule(SimpleSchedule::every(Duration::from_secs(5)));
    cluster.schedule(job("a"), [trigger.overlap(Overlap::BufferOne)]);
    let first = a.fire_one();
    cluster.advance(5 * SECOND);
    a.acquire();
    cluster.advance(17 * SECOND);
    a.complete(&first);
    let brought = a.acquire();
    assert_eq!(brought.fired[0].scheduled_ms, NOW + 5 * SECOND);
    assert_eq!(told(&brought.skipped), [(10 * SECOND, 3, SkipReason::Overlap)]);
    assert_eq!(cluster.next("t"), Some(NOW + 25 * SECOND));
    a.complete(&brought.fired[0]);
}

on_each_strategy!(a_waiting_fire_waits_for_every_run_before_it);
fn a_waiting_fire_waits_for_every_run_before_it() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a").durable(true), [with("t", "a", Overlap::AllowAll)]);
    let first = a.fire_one();
    cluster.advance(MINUTE);
    let second = b.fire_one();
    // The trigger is replaced while it runs: its runs are runs of one trigger.
    let replaced = minutely("t", "a", NOW + 2 * MINUTE).overlap(Overlap::BufferOne).build().unwrap();
    cluster.store.catalogue().reschedule(&trigger_key("t"), replaced).unwrap();
    cluster.advance(MINUTE);
    assert_eq!(a.acquire().waiting.len(), 1);
    assert_eq!(ends(&a, &first).let_go, []);
    assert_eq!(ends(&b, &second).let_go, [trigger_key("t")]);
    b.complete(&b.fire_one());
}

on_each_strategy!(a_waiting_fire_is_let_go_by_the_last_run_of_a_trigger_that_was_stored_anew);
/// The run before was the last of its trigger, whose row went with it: the row that is there now is
/// another's, and waits for this run all the same.
fn a_waiting_fire_is_let_go_by_the_last_run_of_a_trigger_that_was_stored_anew() {
    for overlap in [Overlap::BufferOne, Overlap::CancelPrevious] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        cluster.schedule(job("a").durable(true), [once("t", "a", NOW).overlap(overlap)]);
        let first = a.fire_one();
        assert_eq!(cluster.state("t"), "-");
        let anew = once("t", "a", NOW + MINUTE).overlap(overlap).build().unwrap();
        cluster.store.catalogue().add_trigger(anew, false).unwrap();
        cluster.advance(MINUTE);
        assert_eq!(a.acquire().waiting.len(), 1);
        assert_eq!(cluster.state("t"), "BLOCKED");
        assert_eq!(ends(&a, &first).let_go, [trigger_key("t")]);
        assert_eq!(cluster.state("t"), "WAITING");
        a.complete(&a.fire_one());
    }
}

on_each_strategy!(a_waiting_fire_may_be_paused_and_resumed);
fn a_waiting_fire_may_be_paused_and_resumed() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [with("t", "a", Overlap::BufferOne)]);
    let first = a.fire_one();
    cluster.advance(MINUTE);
    a.acquire();
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    assert_eq!(cluster.state("t"), "PAUSED_BLOCKED");
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    assert_eq!(cluster.state("t"), "BLOCKED");
    cluster.store.catalogue().pause_triggers(&[trigger_key("t")]).unwrap();
    assert_eq!(ends(&a, &first).let_go, []);
    assert_eq!(cluster.state("t"), "PAUSED");
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    a.complete(&a.fire_one());
}

on_each_strategy!(what_waits_for_a_run_of_a_dead_node_is_let_go);
/// The runs of a dead node have ended when the node is declared dead.
fn what_waits_for_a_run_of_a_dead_node_is_let_go() {
    for recovers in [false, true] {
        let cluster = Cluster::new(open());
        let (a, mut b) = (cluster.node("A"), cluster.node("B"));
        cluster.schedule(
            job("a").requests_recovery(recovers),
            [with("t", "a", Overlap::BufferOne), with("s", "a", Overlap::Skip)],
        );
        assert_eq!(a.acquire().fired.len(), 2);
        cluster.advance(MINUTE);
        b.check_in();
        let brought = b.acquire();
        assert_eq!((brought.waiting.len(), brought.skipped.len()), (1, 1));
        cluster.advance(MINUTE);
        b.check_in();
        cluster.advance(8 * SECOND);
        let recovered = b.recovers();
        let skipped: Vec<_> = recovered.iter().flat_map(|recovered| told(&recovered.skipped)).collect();
        assert_eq!(skipped, [(2 * MINUTE, 1, SkipReason::Overlap)]);
        assert_eq!(cluster.fires(), [""; 0]);
        assert_eq!(cluster.state("t"), "WAITING");
        let fired = b.acquire().fired;
        assert!(names(&fired).contains(&"t"), "{recovers} {:?}", names(&fired));
        for bundle in &fired {
            b.complete(bundle);
        }
    }
}

on_each_strategy!(a_fire_that_is_revived_is_not_skipped);
/// A fire that is made due again in its place is no time of the schedule.
fn a_fire_that_is_revived_is_not_skipped() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    let revives = job("a").requests_recovery(true).policy(JobPolicy::new().on_dead(OnDead::Revive));
    cluster.schedule(revives, [once("t", "a", NOW).overlap(Overlap::Skip)]);
    a.fire_one();
    cluster.advance(MINUTE);
    b.check_in();
    cluster.advance(8 * SECOND);
    let recovered = b.recovers();
    assert_eq!((recovered[0].revived.len(), recovered[0].skipped.len()), (1, 0));
    let again = b.fire_one();
    assert_eq!(again.trigger.key(), &trigger_key("t"));
    b.complete(&again);
    assert_eq!(cluster.state("t"), "-");
}

on_each_strategy!(what_waits_for_nothing_is_let_go_by_the_audit);
/// A node of Quartz that recovers one of ours knows nothing of a fire that waits; the audit does.
fn what_waits_for_nothing_is_let_go_by_the_audit() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [with("t", "a", Overlap::BufferOne), minutely("u", "a", NOW)]);
    let fired = a.acquire().fired;
    cluster.advance(MINUTE);
    assert_eq!(a.acquire().waiting.len(), 1);
    let run = fired.iter().find(|bundle| bundle.trigger.key() == &trigger_key("t")).unwrap().fire_id.clone();
    cluster.tamper(|s| s.delete_fired(std::slice::from_ref(&run), Vec::new()).map(drop));
    assert_eq!(
        cluster.store.upkeep().audit().unwrap().unblocked,
        [trigger_key("t")],
        "though another run of the job goes on"
    );
    assert_eq!(cluster.state("t"), "WAITING");
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
}

on_each_strategy!(the_runs_before_are_asked_to_stop_and_the_fire_begins_when_they_have);
fn the_runs_before_are_asked_to_stop_and_the_fire_begins_when_they_have() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [with("t", "a", Overlap::CancelPrevious)]);
    let first = a.fire_one();
    cluster.advance(MINUTE);
    let brought = b.acquire();
    assert_eq!((brought.cancelled, brought.waiting), (vec![first.fire_id.clone()], vec![trigger_key("t")]));
    assert_eq!(b.acquire().cancelled, [""; 0], "once");
    let asked = a.store.upkeep().heartbeat(&a.owner(), &[], &mut Heartbeats::default()).unwrap().cancelled;
    assert_eq!(asked, [(first.fire_id.clone(), "the next fire of its trigger".to_owned())], "its node learns of it");
    assert_eq!(ends(&a, &first).let_go, [trigger_key("t")]);
    b.complete(&b.fire_one());

    let error = cluster.try_schedule(lone_job("b"), [with("u", "b", Overlap::CancelPrevious)]).unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("disallows concurrent execution")), "{error}");
}

on_each_strategy!(only_times_within_the_window_are_made_up_for);
/// Times older than the window are left out; the first younger one is what its misfire instruction
/// makes of it.
fn only_times_within_the_window_are_made_up_for() {
    let late = |misfire: MisfireInstruction, window: u64| {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        let trigger = by_cron("t", "a").misfire(misfire).catch_up_window(Duration::from_secs(window));
        cluster.schedule(job("a"), [trigger]);
        cluster.advance(10 * MINUTE + SECOND);
        let pass = cluster.store.upkeep().handle_misfires().unwrap();
        let mut skipped = pass.skipped;
        let mut times = Vec::new();
        loop {
            let brought = a.acquire();
            skipped.extend(brought.skipped);
            assert_eq!(brought.misfired.len() + pass.handled.len(), 1, "told as a misfire");
            if brought.misfired.is_empty() {
                break times.extend(brought.fired.iter().map(|f| f.scheduled_ms - NOW));
            }
        }
        (told(&skipped), times, cluster.next("t").unwrap() - NOW)
    };
    let catch_up = |times| vec![(0, times, SkipReason::CatchUp)];
    // Eight minutes are old, 8:00 and later are young: of those the first is due, the others
    // follow.
    let (left_out, fired, next) = {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        let trigger = by_cron("t", "a").misfire(MisfireInstruction::Ignore).catch_up_window(Duration::from_secs(150));
        cluster.schedule(job("a"), [trigger]);
        cluster.advance(10 * MINUTE + SECOND);
        assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 0);
        let brought = a.acquire();
        assert_eq!((brought.fired.len(), brought.misfired.len()), (0, 1));
        let mut fired = Vec::new();
        while let Some(bundle) = a.acquire().fired.pop() {
            fired.push(bundle.scheduled_ms - NOW);
            a.complete(&bundle);
        }
        (told(&brought.skipped), fired, cluster.next("t").unwrap() - NOW)
    };
    assert_eq!((left_out, fired, next), (catch_up(8), vec![8 * MINUTE, 9 * MINUTE, 10 * MINUTE], 11 * MINUTE));
    let now = 10 * MINUTE + SECOND;
    assert_eq!(late(MisfireInstruction::FireOnceNow, 150), (catch_up(8), vec![now], 11 * MINUTE));
    assert_eq!(late(MisfireInstruction::DoNothing, 150), (catch_up(8), vec![], 11 * MINUTE));
    // The times that are left are in time.
    assert_eq!(late(MisfireInstruction::FireOnceNow, 30), (catch_up(10), vec![10 * MINUTE], 11 * MINUTE));
}

on_each_strategy!(a_window_shorter_than_the_misfire_threshold_counts_too);
fn a_window_shorter_than_the_misfire_threshold_counts_too() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW).catch_up_window(Duration::from_secs(5))]);
    cluster.schedule(job("b"), [minutely("u", "b", NOW).catch_up_window(Duration::from_secs(5))]);
    cluster.advance(5 * SECOND + 1);
    assert!(cluster.store.upkeep().handle_misfires().unwrap().handled.is_empty(), "not late for Quartz");
    let brought = a.acquire();
    assert_eq!((brought.fired.len(), told(&brought.skipped).len()), (0, 2));
    assert_eq!((brought.finalized, cluster.has_job("a")), (vec![trigger_key("t")], false));
    assert_eq!((cluster.state("u").as_str(), cluster.next("u")), ("WAITING", Some(NOW + MINUTE)));
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0);
}

on_each_strategy!(the_policies_of_a_simple_trigger_that_begins_anew_are_kept);
/// Quartz begins a simple trigger anew: its start moves, and its options must be known by the new
/// one.
fn the_policies_of_a_simple_trigger_that_begins_anew_are_kept() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let trigger = minutely("t", "a", NOW).misfire(MisfireInstruction::RescheduleNowWithExistingCount);
    cluster.schedule(job("a"), [trigger.overlap(Overlap::Skip)]);
    cluster.advance(5 * MINUTE + SECOND);
    assert_eq!(cluster.store.upkeep().handle_misfires().unwrap().handled.len(), 1);
    let stored = cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().unwrap();
    assert_eq!((stored.start_time(), stored.overlap()), (at(cluster.now()), Overlap::Skip));
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 0);
    a.complete(&a.fire_one());
    assert_eq!(cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().unwrap().overlap(), Overlap::Skip);
}

on_each_strategy!(a_trigger_is_paused_when_a_run_of_it_fails);
fn a_trigger_is_paused_when_a_run_of_it_fails() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [minutely("t", "a", NOW).pause_on_failure(true), minutely("u", "a", NOW)]);
    let fired = a.acquire().fired;
    cluster.advance(MINUTE - SECOND);
    let reserved = b.acquire().reserved;
    assert_eq!(reserved.len(), 2);
    let paused: Vec<_> = fired.iter().flat_map(|bundle| fails(&a, bundle).paused).collect();
    assert_eq!(paused, [trigger_key("t")]);
    assert_eq!([cluster.state("t"), cluster.state("u")], ["PAUSED", "ACQUIRED"]);
    cluster.advance(SECOND);
    assert_eq!(names(&b.fire(&reserved)), ["u"], "its reservation was taken back");
    cluster.store.catalogue().resume_triggers(&[trigger_key("t")], true).unwrap();
    let again = a.fire_one();
    assert_eq!((again.scheduled_ms, ends(&a, &again).paused), (NOW + MINUTE, vec![]));
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
}

on_each_strategy!(a_trigger_that_is_blocked_or_waits_is_paused_too);
fn a_trigger_that_is_blocked_or_waits_is_paused_too() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(lone_job("a"), [minutely("t", "a", NOW).pause_on_failure(true)]);
    cluster.schedule(job("b"), [with("u", "b", Overlap::BufferOne).pause_on_failure(true)]);
    let fired = a.acquire().fired;
    cluster.advance(MINUTE);
    assert_eq!(a.acquire().waiting, [trigger_key("u")]);
    let paused: BTreeSet<_> = fired.iter().flat_map(|bundle| fails(&a, bundle).paused).collect();
    assert_eq!(paused.len(), 2);
    for name in ["t", "u"] {
        assert_eq!(
            cluster.store.catalogue().trigger_state(&trigger_key(name)).unwrap(),
            Some(TriggerState::Paused),
            "{name}"
        );
        assert_eq!(cluster.next(name), Some(NOW + MINUTE));
    }
}

on_each_strategy!(policies_are_refused_beside_quartz_and_suspended_if_a_node_of_it_joins);
fn policies_are_refused_beside_quartz_and_suspended_if_a_node_of_it_joins() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(
        job("com.acme.Report").durable(true),
        [
            with("waits", "com.acme.Report", Overlap::BufferOne),
            with("skips", "com.acme.Report", Overlap::Skip).pause_on_failure(true),
        ],
    );
    let fired = a.acquire().fired;
    cluster.advance(MINUTE);
    assert_eq!(a.acquire().waiting, [trigger_key("waits")]);
    java_joins(&cluster, &mut a);
    let refused = with("t", "com.acme.Report", Overlap::Skip).build().unwrap();
    let error = cluster.store.catalogue().add_trigger(refused, false).unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("overlap-skip") && why.contains(JAVA)), "{error}");

    cluster.advance(MINUTE);
    let beside = a.acquire().fired;
    assert_eq!(names(&beside), ["skips"], "as Quartz fires it");
    let recorded: Vec<CompletionReport> = fired.iter().chain(&beside).map(|bundle| fails(&a, bundle)).collect();
    assert!(recorded.iter().all(|recorded| recorded.paused.is_empty() && recorded.skipped.is_empty()));
    assert_eq!(cluster.state("waits"), "WAITING", "what waited is let go all the same");
    cluster.tamper(|s| s.delete_instance(JAVA, Departure::Any).map(drop));
    a.check_in();
    assert_eq!(cluster.store.catalogue().trigger(&trigger_key("skips")).unwrap().unwrap().overlap(), Overlap::Skip);
}

on_each_strategy!(a_run_that_ends_just_before_the_decision_is_not_waited_for);
/// The decision and the end of the run are both made under the lock: none can be missed by the
/// other.
fn a_run_that_ends_just_before_the_decision_is_not_waited_for() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(job("a"), [with("t", "a", Overlap::BufferOne)]);
    let first = a.fire_one();
    cluster.advance(MINUTE - SECOND);
    let reserved = b.reserve_one();
    cluster.advance(SECOND);
    cluster.hold_up(&mut b, "fire triggers", move || assert_eq!(a.complete(&first), CompletionOutcome::Recorded));
    let fired = b.fire(&[reserved]);
    assert_eq!(names(&fired), ["t"]);
    b.complete(&fired[0]);
}

on_each_strategy!(no_two_runs_of_a_trigger_meet_however_nodes_race);
/// Three nodes take and end what they can, while time goes on.
fn no_two_runs_of_a_trigger_meet_however_nodes_race() {
    let cluster = Cluster::new(open());
    let policies = [Overlap::Skip, Overlap::BufferOne, Overlap::CancelPrevious];
    let every_second = |overlap: Overlap| {
        let schedule = SimpleSchedule::every(Duration::from_secs(1));
        once(overlap.name(), "a", NOW).schedule(schedule).overlap(overlap)
    };
    cluster.schedule(job("a"), policies.map(every_second));
    let running: std::sync::Mutex<BTreeSet<String>> = std::sync::Mutex::default();
    let nodes = ["A", "B", "C"].map(|name| cluster.node(name));
    let runs: usize = std::thread::scope(|scope| {
        let work = |node: Node| {
            let (cluster, running) = (&cluster, &running);
            move || {
                let (mut held, mut runs) = (Vec::<FireBundle>::new(), 0);
                for round in 0..25 {
                    cluster.advance(300);
                    let mut brought = node.acquire_with(2, |request| request.look_ahead_ms = 0).unwrap().fired;
                    runs += brought.len();
                    for bundle in &brought {
                        let name = bundle.trigger.key().name().to_owned();
                        assert!(running.lock().unwrap().insert(name.clone()), "{name} runs twice");
                    }
                    held.append(&mut brought);
                    if round % 3 == 2 {
                        for bundle in held.drain(..) {
                            assert!(running.lock().unwrap().remove(bundle.trigger.key().name()));
                            node.complete(&bundle);
                        }
                    }
                }
                for bundle in held {
                    assert!(running.lock().unwrap().remove(bundle.trigger.key().name()));
                    node.complete(&bundle);
                }
                runs
            }
        };
        let threads = nodes.map(|node| scope.spawn(work(node)));
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(runs >= 6, "{runs}");
    for overlap in policies {
        assert_eq!(cluster.state(overlap.name()), "WAITING");
    }
}
