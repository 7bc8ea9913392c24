//! Continuations: jobs follow the runs of others, once for each run that ends as they ask (LT-12,
//! LT-81).

use super::*;
use carnelian::history::FireOutcome;
use carnelian::key::{FOLLOWING_GROUP, SUBMITTED_GROUP};
use carnelian::recovery::RerunReason;
use carnelian::store::row::ContinuationSelection;
use carnelian::store::{Completion, CompletionInstruction, CompletionOutcome, Ending, FireBundle, Request};
use carnelian::{Continuation, JobDetail, JobKey, On, Parent, Trigger, TriggerKey};
use std::collections::BTreeMap;
use std::time::Duration;

fn ended(bundle: &FireBundle, outcome: FireOutcome) -> Completion {
    let ending = Ending { outcome, ..Ending::default() };
    Completion { ending, ..bundle.completion(CompletionInstruction::NoInstruction, None) }
}

fn link(parent: &str, child: &str, on: On) -> Continuation {
    Continuation::new(job_key(parent), job_key(child)).on(on)
}

/// Jobs `a`, which is to be scheduled by the test, and `good`, `bad` and `both`, which follow it.
fn family(cluster: &Cluster) {
    cluster.store.catalogue().add_job(&job("a").durable(true).build().unwrap(), false).unwrap();
    for (child, on) in [("good", On::Success), ("bad", On::Failure), ("both", On::Any)] {
        cluster.store.catalogue().add_job(&job(child).durable(true).build().unwrap(), false).unwrap();
        cluster.store.catalogue().follow(&link("a", child, on)).unwrap();
    }
}

fn run_of(cluster: &Cluster, node: &Node, name: &str) -> FireBundle {
    let trigger = once(&format!("t{}", cluster.now()), name, cluster.now()).build().unwrap();
    cluster.store.catalogue().add_trigger(trigger, false).unwrap();
    node.fire_one()
}

/// Runs what is due to a good end; returns how much that was.
fn run_due(node: &Node) -> usize {
    let fired = node.acquire().fired;
    fired.iter().filter(|fire| node.complete(fire) == CompletionOutcome::Recorded).count()
}

/// The triggers that were released, in order of their jobs.
fn released(cluster: &Cluster) -> Vec<Trigger> {
    let keys = cluster.snapshot().triggers.into_iter().map(|row| row.key).filter(|key| key.group() == FOLLOWING_GROUP);
    let mut triggers: Vec<Trigger> =
        keys.map(|key| cluster.store.catalogue().trigger(&key).unwrap().unwrap()).collect();
    triggers.sort_by(|a, b| (a.job_key(), a.key()).cmp(&(b.job_key(), b.key())));
    triggers
}

fn followed(cluster: &Cluster) -> Vec<String> {
    released(cluster).iter().map(|trigger| trigger.job_key().name().to_owned()).collect()
}

on_each_database!(each_outcome_is_followed_by_those_who_ask_for_it);
/// LT-12: every outcome of a run, and who follows it.
fn each_outcome_is_followed_by_those_who_ask_for_it() {
    use FireOutcome::*;
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    family(&cluster);
    for (outcome, children) in [
        (Succeeded, vec!["both", "good"]),
        (Failed, vec!["bad", "both"]),
        (TimedOut, vec!["bad", "both"]),
        (Interrupted, vec!["bad", "both"]),
        (Cancelled, vec!["both"]),
        (Vetoed, vec![]),
    ] {
        let run = run_of(&cluster, &a, "a");
        assert!(run.followed);
        assert_eq!(a.complete_all(&[ended(&run, outcome)]), [CompletionOutcome::Recorded]);
        assert_eq!(followed(&cluster), children, "{outcome}");
        cluster.check();
        assert_eq!(run_due(&a), children.len(), "{outcome}");
        assert!(released(&cluster).is_empty() && cluster.has_job("both"), "{outcome}");
        cluster.advance(SECOND);
    }
}

on_each_database!(a_child_sees_its_parent);
/// LT-12: what a child sees of its parent, and what it was given.
fn a_child_sees_its_parent() {
    for use_properties in [false, true] {
        let cluster = Cluster::with(open(), |settings| settings.job_store.use_properties = use_properties);
        let a = cluster.node("A");
        family(&cluster);
        cluster
            .store
            .catalogue()
            .follow(&link("a", "good", On::Success).data("to", "Zoë").data(Parent::RESULT, "no"))
            .unwrap();
        let run = run_of(&cluster, &a, "a");
        let ending = Ending { result: Some("42 rows".to_owned()), ..Ending::default() };
        let end = Completion { ending, ..run.completion(CompletionInstruction::NoInstruction, None) };
        let recorded = a.store.firing().complete(&a.owner(), &[end]).unwrap();
        assert_eq!(recorded.following.len(), 2);
        let triggers = released(&cluster);
        let child = triggers.iter().find(|trigger| trigger.job_key().name() == "good").unwrap();
        let text = |key: &str| child.data().text(key);
        assert_eq!((text("to"), text("CARNELIAN_PARENT_FIRE_ID")), (Some("Zoë"), Some(run.fire_id.as_str())));
        assert_eq!((text("CARNELIAN_PARENT_JOB_GROUP"), text("CARNELIAN_PARENT_JOB_NAME")), (Some("jobs"), Some("a")));
        assert_eq!(text("CARNELIAN_PARENT_OUTCOME"), Some("succeeded"));
        assert_eq!(text("CARNELIAN_PARENT_RESULT"), Some("42 rows"));
        assert!(child.key().name().starts_with(&format!("follow_{}_", run.fire_id)));
        let both = triggers.iter().find(|trigger| trigger.job_key().name() == "both").unwrap();
        assert_eq!(both.data().text("to"), None);
        // A run that leaves none has none, whatever the continuation says.
        run_due(&a);
        cluster.advance(SECOND);
        let run = run_of(&cluster, &a, "a");
        a.complete(&run);
        let triggers = released(&cluster);
        assert!(triggers.iter().all(|trigger| trigger.data().text(Parent::RESULT).is_none()));
    }
}

on_each_database!(only_the_last_run_of_a_work_is_followed);
/// A run that is tried again has not failed yet, and one that goes on has not ended: only the last
/// is followed.
fn only_the_last_run_of_a_work_is_followed() {
    for (reason, outcome) in [
        (RerunReason::Failed, FireOutcome::Failed),
        (RerunReason::Interrupted, FireOutcome::Interrupted),
        (RerunReason::Continued, FireOutcome::Succeeded),
    ] {
        let cluster = Cluster::new(open());
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        family(&cluster);
        let first = run_of(&cluster, &a, "a");
        let rerun = Some(first.rerun_order(reason, Duration::ZERO));
        a.complete_all(&[Completion { rerun, ..ended(&first, outcome) }]);
        assert!(released(&cluster).is_empty(), "{reason:?}");
        let second = b.fire_one();
        b.complete_all(&[ended(&second, FireOutcome::Failed)]);
        assert_eq!(followed(&cluster), ["bad", "both"], "{reason:?}");
        assert!(released(&cluster).iter().all(|t| t.data().text(Parent::FIRE_ID) == Some(second.fire_id.as_str())));
    }
}

on_each_database!(a_recovered_run_is_followed_when_its_recovery_has_ended);
/// A run that died and is recovered has not ended; its recovery is followed, once.
fn a_recovered_run_is_followed_when_its_recovery_has_ended() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    family(&cluster);
    cluster.store.catalogue().add_job(&job("a").durable(true).requests_recovery(true).build().unwrap(), true).unwrap();
    let run = run_of(&cluster, &a, "a");
    cluster.advance(WINDOW + SECOND);
    let b = cluster.node("B");
    assert!(released(&cluster).is_empty());
    // The dead comes back late, and says nothing.
    assert_eq!(a.complete_all(&[ended(&run, FireOutcome::Succeeded)]), [CompletionOutcome::Fenced]);
    assert!(released(&cluster).is_empty());
    let again = b.fire_one();
    assert!(again.recovering.is_some());
    b.complete(&again);
    assert_eq!(followed(&cluster), ["both", "good"]);
}

on_each_database!(a_lost_run_is_followed_as_a_failure_once);
/// A run that died and that nobody asked to recover is over: `failure` and `any` follow, in the
/// recovery's transaction.
fn a_lost_run_is_followed_as_a_failure_once() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    family(&cluster);
    let run = run_of(&cluster, &a, "a");
    cluster.advance(WINDOW + SECOND);
    let mut b = cluster.node("B");
    assert_eq!(followed(&cluster), ["bad", "both"]);
    assert_eq!(released(&cluster)[0].data().text(Parent::OUTCOME), Some("lost"));
    let _c = cluster.node("C");
    b.check_in();
    assert_eq!(a.complete_all(&[ended(&run, FireOutcome::Succeeded)]), [CompletionOutcome::Fenced]);
    assert_eq!(followed(&cluster), ["bad", "both"]);
    assert_eq!(run_due(&b), 2);
    assert!(released(&cluster).is_empty());
}

on_each_database!(many_parents_end_in_one_transaction);
/// LT-12: a batch that ends runs of many parents, with children of their own and shared ones.
fn many_parents_end_in_one_transaction() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    for name in ["x", "y"] {
        cluster.store.catalogue().add_job(&job(name).durable(true).build().unwrap(), false).unwrap();
    }
    for i in 0..30 {
        let parent = format!("p{i}");
        cluster.schedule(job(&parent), [once(&format!("t{i}"), &parent, NOW)]);
        cluster.store.catalogue().follow(&link(&parent, "x", On::Success)).unwrap();
        if i % 2 == 0 {
            cluster.store.catalogue().follow(&link(&parent, "y", On::Failure)).unwrap();
        }
    }
    let fired = a.acquire().fired;
    assert_eq!(fired.len(), 30);
    let outcome = |i: usize| if i < 10 { FireOutcome::Failed } else { FireOutcome::Succeeded };
    let ends: Vec<Completion> = fired.iter().enumerate().map(|(i, fire)| ended(fire, outcome(i))).collect();
    let expected = fired.iter().enumerate().map(|(i, fire)| match i < 10 {
        true => usize::from(fire.job.key().name()[1..].parse::<u32>().unwrap().is_multiple_of(2)),
        false => 1,
    });
    let expected: usize = expected.sum();
    let recorded = a.store.firing().complete(&a.owner(), &ends).unwrap();
    assert_eq!(recorded.following.len(), expected);
    assert_eq!(released(&cluster).len(), expected);
    let mut per_parent: BTreeMap<String, usize> = BTreeMap::new();
    for trigger in released(&cluster) {
        *per_parent.entry(trigger.data().text(Parent::FIRE_ID).unwrap().to_owned()).or_default() += 1;
    }
    assert!(per_parent.values().all(|n| *n == 1));
    // The parents were not durable: they are gone, and what they had goes with them.
    assert!(!cluster.has_job("p0"));
    assert_eq!(cluster.store.catalogue().continuations().unwrap(), []);
}

on_each_database!(a_child_waits_as_any_other_trigger);
/// A child that runs once at a time waits its turn; while everything is paused it waits too.
fn a_child_waits_as_any_other_trigger() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.store.catalogue().add_job(&job("a").durable(true).build().unwrap(), false).unwrap();
    cluster.store.catalogue().add_job(&lone_job("lone").durable(true).build().unwrap(), false).unwrap();
    cluster.store.catalogue().follow(&link("a", "lone", On::Success)).unwrap();
    let first = run_of(&cluster, &a, "a");
    a.complete(&first);
    let child = a.fire_one();
    cluster.advance(SECOND);
    let second = run_of(&cluster, &a, "a");
    a.complete(&second);
    let waiting = released(&cluster).pop().unwrap();
    assert_eq!(cluster.state_of(waiting.key()), "BLOCKED");
    a.complete(&child);
    assert_eq!(cluster.state_of(waiting.key()), "WAITING");
    a.complete(&a.fire_one());
    cluster.advance(SECOND);
    let third = run_of(&cluster, &a, "a");
    cluster.store.catalogue().pause_all().unwrap();
    a.complete(&third);
    let waiting = released(&cluster).pop().unwrap();
    assert_eq!(cluster.state_of(waiting.key()), "PAUSED");
    // However late: it is no misfire.
    cluster.advance(60 * MINUTE);
    cluster.store.upkeep().handle_misfires().unwrap();
    cluster.store.catalogue().resume_all(true).unwrap();
    assert_eq!(a.fire_one().trigger.key(), waiting.key());
    assert!(cluster.store.catalogue().paused_groups().unwrap().is_empty());
}

on_each_database!(a_continuation_is_for_runs_that_begin_after_it);
/// A run is followed by those that were there when it began.
fn a_continuation_is_for_runs_that_begin_after_it() {
    for (first_link, children) in [(false, vec![]), (true, vec!["x"])] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        for name in ["a", "x", "y"] {
            cluster.store.catalogue().add_job(&job(name).durable(true).build().unwrap(), false).unwrap();
        }
        if first_link {
            cluster.store.catalogue().follow(&link("a", "x", On::Failure)).unwrap();
        }
        let run = run_of(&cluster, &a, "a");
        assert_eq!(run.followed, first_link);
        cluster.store.catalogue().follow(&link("a", "y", On::Success)).unwrap();
        if first_link {
            // A change counts for this run as well.
            cluster.store.catalogue().follow(&link("a", "x", On::Success)).unwrap();
        }
        a.complete(&run);
        assert_eq!(followed(&cluster), children);
        run_due(&a);
        cluster.advance(SECOND);
        let next = run_of(&cluster, &a, "a");
        assert!(cluster.store.catalogue().unfollow(&job_key("a"), &job_key("x")).unwrap() == first_link);
        a.complete(&next);
        assert_eq!(followed(&cluster), ["y"]);
    }
}

on_each_database!(a_reserved_fire_is_followed);
/// A trigger that was reserved ahead of its time is followed as well.
fn a_reserved_fire_is_followed() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    family(&cluster);
    cluster.store.catalogue().add_trigger(once("t", "a", NOW + 10 * SECOND).build().unwrap(), false).unwrap();
    let reserved = a.reserve_one();
    cluster.advance(10 * SECOND);
    let run = a.fire(&[reserved]).pop().unwrap();
    a.complete(&run);
    assert_eq!(followed(&cluster), ["both", "good"]);
}

on_each_database!(what_cannot_be_followed_is_refused);
fn what_cannot_be_followed_is_refused() {
    let cluster = Cluster::new(open());
    for name in ["a", "b", "c"] {
        cluster.store.catalogue().add_job(&job(name).durable(true).build().unwrap(), false).unwrap();
    }
    cluster.schedule(job("mortal"), [once("t", "mortal", NOW + MINUTE)]);
    let refused = |link: &Continuation| cluster.store.catalogue().follow(link).unwrap_err().to_string();
    assert!(cluster.store.catalogue().follow(&link("nobody", "a", On::Any)).unwrap_err().is_not_found());
    assert!(cluster.store.catalogue().follow(&link("a", "nobody", On::Any)).unwrap_err().is_not_found());
    assert!(refused(&link("a", "mortal", On::Any)).contains("not durable"));
    assert!(refused(&link("a", "a", On::Any)).contains("would follow itself"));
    cluster.store.catalogue().follow(&link("a", "b", On::Success)).unwrap();
    cluster.store.catalogue().follow(&link("b", "c", On::Success)).unwrap();
    assert!(refused(&link("c", "a", On::Failure)).contains("would follow itself"));
    assert_eq!(cluster.store.catalogue().continuations().unwrap().len(), 2);
    cluster.store.catalogue().follow(&link("c", "a", On::Failure).allow_cycle(true)).unwrap();
    // A continuation that is there may be said again, at the next start of a program.
    cluster.store.catalogue().follow(&link("a", "b", On::Success)).unwrap();
    cluster.store.catalogue().follow(&link("b", "c", On::Any)).unwrap();
    // A parent needs not be durable, and a circle elsewhere is no circle here.
    cluster.store.catalogue().follow(&link("mortal", "a", On::Any)).unwrap();
    assert!(cluster.store.catalogue().unfollow(&job_key("mortal"), &job_key("a")).unwrap());
    assert!(!cluster.store.catalogue().unfollow(&job_key("mortal"), &job_key("a")).unwrap());
    cluster.store.catalogue().delete_jobs(&[job_key("mortal")]).unwrap();
}

on_each_database!(a_job_that_may_follow_itself_does);
/// A job that follows itself runs again and again, one run at a time.
fn a_job_that_may_follow_itself_does() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.store.catalogue().add_job(&lone_job("a").durable(true).build().unwrap(), false).unwrap();
    cluster.store.catalogue().follow(&link("a", "a", On::Success).allow_cycle(true)).unwrap();
    let mut run = run_of(&cluster, &a, "a");
    for _ in 0..3 {
        a.complete(&run);
        let next = a.fire_one();
        assert_eq!(next.trigger.data().text(Parent::FIRE_ID), Some(run.fire_id.as_str()));
        run = next;
    }
    a.complete_all(&[ended(&run, FireOutcome::Failed)]);
    assert!(released(&cluster).is_empty());
}

on_each_database!(continuations_are_bound_to_their_jobs);
/// Continuations go with their jobs, follow a new name, and stay when a job is replaced, by one of
/// another type too.
fn continuations_are_bound_to_their_jobs() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    family(&cluster);
    let keys = |found: Vec<Continuation>| -> Vec<(String, String, On)> {
        let name = |key: &JobKey| key.name().to_owned();
        found.iter().map(|link| (name(link.parent()), name(link.child()), link.follows_on())).collect()
    };
    let of = |parent: &str, child: &str, on| (parent.to_owned(), child.to_owned(), on);
    cluster.store.catalogue().add_job(&job("z").durable(true).build().unwrap(), false).unwrap();
    cluster.store.catalogue().follow(&link("z", "a", On::Any).data("k", "v")).unwrap();
    cluster.store.catalogue().rename_job(&job_key("a"), &job_key("renamed"), false).unwrap();
    let expected =
        [of("renamed", "bad", On::Failure), of("renamed", "both", On::Any), of("renamed", "good", On::Success)];
    assert_eq!(keys(cluster.store.catalogue().children_of(&job_key("renamed")).unwrap()), expected);
    let parents = cluster.store.catalogue().parents_of(&job_key("renamed")).unwrap();
    assert_eq!(keys(parents.clone()), [of("z", "renamed", On::Any)]);
    assert_eq!(parents[0].passed_data().text("k"), Some("v"));

    let other = carnelian::JobDetail::builder(job_key("renamed"), "other").durable(true).build().unwrap();
    cluster.store.catalogue().add_job(&other, true).unwrap();
    assert_eq!(keys(cluster.store.catalogue().children_of(&job_key("renamed")).unwrap()), expected);
    cluster.store.job_types().migrate("other", "work", None, false).unwrap();
    assert_eq!(keys(cluster.store.catalogue().children_of(&job_key("renamed")).unwrap()), expected);
    let run = run_of(&cluster, &a, "renamed");
    a.complete(&run);
    assert_eq!(followed(&cluster), ["both", "good"]);

    cluster.store.catalogue().delete_jobs(&[job_key("good")]).unwrap();
    assert_eq!(followed(&cluster), ["both"], "the trigger of a child goes with it");
    assert_eq!(cluster.store.catalogue().continuations().unwrap().len(), 3);
    cluster.store.catalogue().delete_jobs(&[job_key("renamed")]).unwrap();
    assert_eq!(cluster.store.catalogue().continuations().unwrap(), []);
    cluster.store.catalogue().follow(&link("z", "both", On::Any)).unwrap();
    cluster.store.catalogue().clear().unwrap();
    assert_eq!(cluster.store.catalogue().continuations().unwrap(), []);
}

on_each_database!(a_child_that_is_gone_is_passed_over);
/// A program that knows nothing of continuations deletes a child: the end of a run of the parent
/// does not mind.
fn a_child_that_is_gone_is_passed_over() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    family(&cluster);
    let run = run_of(&cluster, &a, "a");
    cluster.tamper(|s| s.delete_jobs(&[job_key("good")]).map(drop));
    a.complete(&run);
    assert_eq!(followed(&cluster), ["both"]);
}

on_each_database!(a_row_that_nobody_understands_holds_nothing_up);
/// A row of a later version, or with data of nobody's, keeps neither the run from ending nor the
/// others from following.
fn a_row_that_nobody_understands_holds_nothing_up() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    family(&cluster);
    cluster.tamper(|s| {
        for mut row in s.continuations(ContinuationSelection::All)? {
            match row.child.name() {
                "good" => row.on = "full moon".to_owned(),
                _ => row.data = Some(b"\xff\xfe nobody's".to_vec()),
            }
            s.put(&row)?;
        }
        Ok(())
    });
    let run = run_of(&cluster, &a, "a");
    a.complete(&run);
    assert_eq!(followed(&cluster), ["both"]);
    let unreadable = cluster.store.catalogue().children_of(&job_key("a")).unwrap_err().to_string();
    assert!(unreadable.contains("CN_CONTINUATIONS"), "{unreadable}");
}

on_each_database!(large_data_hold_nothing_up);
/// Data always leave room for what there is to say of the parent: no run is kept from ending by
/// them.
fn large_data_hold_nothing_up() {
    for use_properties in [false, true] {
        let cluster = Cluster::with(open(), |settings| settings.job_store.use_properties = use_properties);
        let a = cluster.node("A");
        family(&cluster);
        let good = |text: String| link("a", "good", On::Success).data("text", text);
        let error = cluster.store.catalogue().follow(&good("x".repeat(41_000))).unwrap_err().to_string();
        assert!(error.contains("at most 40960"), "{error}");
        cluster.store.catalogue().follow(&good("x".repeat(40_000))).unwrap();
        let run = run_of(&cluster, &a, "a");
        let ending = Ending { result: Some("\u{1F480}".repeat(1000)), ..Ending::default() };
        a.complete_all(&[Completion { ending, ..run.completion(CompletionInstruction::NoInstruction, None) }]);
        let triggers = released(&cluster);
        let texts: Vec<_> = triggers.iter().filter_map(|trigger| trigger.data().text("text")).map(str::len).collect();
        assert_eq!((triggers.len(), texts), (2, vec![40_000]));
        assert!(triggers.iter().all(|trigger| trigger.data().text(Parent::RESULT).is_some_and(|r| r.len() == 4000)));
        run_due(&a);

        // More than there can be, by somebody's hand.
        let data: carnelian::JobDataMap =
            [("text", "x".repeat(if use_properties { 65_450 } else { 65_150 }))].into_iter().collect();
        let bytes = if use_properties { data.to_properties_text() } else { data.to_java_bytes() }.unwrap();
        cluster.tamper(|s| {
            for mut row in s.continuations(ContinuationSelection::All)? {
                row.data = Some(bytes.clone());
                s.put(&row)?;
            }
            Ok(())
        });
        cluster.advance(SECOND);
        let run = run_of(&cluster, &a, "a");
        assert_eq!(a.complete(&run), CompletionOutcome::Recorded);
        let triggers = released(&cluster);
        assert_eq!(followed(&cluster), ["both", "good"]);
        assert!(triggers.iter().all(|t| t.data().text("text").is_none() && Parent::of(t.data()).is_some()));
    }
}

#[cfg(feature = "test-util")]
on_each_database!(an_end_whose_answer_was_lost_is_followed_once);
/// An end whose answer was lost is recorded once, and followed once (S7).
#[cfg(feature = "test-util")]
fn an_end_whose_answer_was_lost_is_followed_once() {
    use carnelian::store::faults::Fault;
    for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        family(&cluster);
        let run = run_of(&cluster, &a, "a");
        cluster.opened.database.plan().plan(1, fault);
        assert_eq!(a.complete_all(&[ended(&run, FireOutcome::Succeeded)]), [CompletionOutcome::Recorded], "{fault:?}");
        assert_eq!(followed(&cluster), ["both", "good"], "{fault:?}");
    }
}

/// Submitted work of this name, under a request id of the same name.
fn submitted(name: &str, then: Vec<(On, Request)>) -> Request {
    let key = JobKey::new(SUBMITTED_GROUP, name);
    let trigger = Trigger::builder(TriggerKey::new(SUBMITTED_GROUP, name), key.clone()).build().unwrap();
    let job = JobDetail::builder(key, "work").data("name", name).build().unwrap();
    Request { request_id: Some(name.to_owned()), job, trigger, then }
}

/// The submitted jobs that are there.
fn left(cluster: &Cluster) -> Vec<String> {
    let mut names: Vec<String> = cluster.snapshot().jobs.into_iter().map(|row| row.key.name().to_owned()).collect();
    names.sort();
    names
}

on_each_database!(submitted_work_is_followed_by_what_was_submitted_with_it);
/// Work that follows submitted work is stored with it, begins when that ends so, and is dropped
/// when it does not, with all that would follow.
fn submitted_work_is_followed_by_what_was_submitted_with_it() {
    for (outcome, expected, then) in
        [(FireOutcome::Succeeded, vec!["mail", "tidy"], 1), (FireOutcome::Failed, vec!["alarm"], 0)]
    {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        let mail = submitted("mail", vec![(On::Success, submitted("tidy", vec![]))]);
        let work = submitted("pay", vec![(On::Success, mail), (On::Failure, submitted("alarm", vec![]))]);
        let taken = cluster.store.catalogue().take_requests(std::slice::from_ref(&work)).unwrap();
        assert!(taken[0].is_new);
        assert!(!cluster.store.catalogue().take_requests(&[work]).unwrap()[0].is_new);
        assert_eq!(left(&cluster), ["alarm", "mail", "pay", "tidy"]);
        assert_eq!(cluster.store.catalogue().taken("tidy").unwrap().unwrap().job.name(), "tidy");
        let pay = a.fire_one();
        a.complete_all(&[ended(&pay, outcome)]);
        assert_eq!(left(&cluster), expected, "{outcome:?}");
        let next = a.fire_one();
        assert_eq!((next.job.key().name(), next.job.data().text("name")), (expected[0], Some(expected[0])));
        assert_eq!(Parent::of(next.trigger.data()).unwrap().fire_id, pay.fire_id);
        a.complete(&next);
        assert_eq!(run_due(&a), then);
        assert_eq!(left(&cluster), [""; 0], "each goes with its last run");
    }
}

on_each_database!(what_follows_goes_with_work_that_is_deleted_or_lost);
/// Work whose first part is deleted, or lost, will never begin.
fn what_follows_goes_with_work_that_is_deleted_or_lost() {
    let stored = |cluster: &Cluster| {
        let mail = submitted("mail", vec![(On::Any, submitted("tidy", vec![]))]);
        cluster.store.catalogue().take_requests(&[submitted("pay", vec![(On::Success, mail)])]).unwrap();
    };
    let cluster = Cluster::new(open());
    stored(&cluster);
    let pay = JobKey::new(SUBMITTED_GROUP, "pay");
    assert_eq!(cluster.store.catalogue().delete_jobs(&[pay]).unwrap(), 1);
    assert_eq!(left(&cluster), [""; 0]);
    let cluster = Cluster::new(open());
    stored(&cluster);
    cluster.store.catalogue().unschedule(&[TriggerKey::new(SUBMITTED_GROUP, "pay")]).unwrap();
    assert_eq!(left(&cluster), [""; 0]);
    let cluster = Cluster::new(open());
    stored(&cluster);
    cluster.node("A").fire_one();
    cluster.advance(WINDOW + SECOND);
    let _b = cluster.node("B");
    assert_eq!(left(&cluster), [""; 0], "this work requests no recovery");
}

on_each_database!(what_follows_work_that_has_begun_waits_for_that);
/// The child of lost work has begun, and its own child waits for it: neither goes with what they
/// followed, by whichever way that goes.
fn what_follows_work_that_has_begun_waits_for_that() {
    for way in ["lost", "unscheduled", "deleted"] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        let mail = submitted("mail", vec![(On::Any, submitted("tidy", vec![]))]);
        let mut pay = submitted("pay", vec![(On::Any, mail)]);
        let (job, key) = (pay.job.key().clone(), pay.trigger.key().clone());
        pay.trigger = minutely("t", "j", NOW).key(key.clone()).job(job.clone()).build().unwrap();
        if way == "lost" {
            pay.trigger = once("t", "j", NOW).key(key.clone()).job(job.clone()).build().unwrap();
        }
        cluster.store.catalogue().take_requests(&[pay]).unwrap();
        let first = a.fire_one();
        let b = match way {
            "lost" => {
                cluster.advance(WINDOW + SECOND);
                cluster.node("B")
            }
            _ => {
                a.complete_all(&[ended(&first, FireOutcome::Failed)]);
                a
            }
        };
        match way {
            "unscheduled" => drop(cluster.store.catalogue().unschedule(&[key]).unwrap()),
            "deleted" => drop(cluster.store.catalogue().delete_jobs(&[job]).unwrap()),
            _ => {}
        }
        assert_eq!(left(&cluster), ["mail", "tidy"], "{way}");
        assert_eq!((run_due(&b), run_due(&b)), (1, 1), "{way}");
        assert_eq!(left(&cluster), [""; 0], "{way}");
    }
}

on_each_database!(what_follows_goes_with_parked_work_that_is_deleted);
/// Work that has killed its nodes, and that somebody deletes, has no end that could be followed.
fn what_follows_goes_with_parked_work_that_is_deleted() {
    let cluster = Cluster::with(open(), |settings| settings.recovery.max_takeovers = 1);
    let mut b = cluster.node("B");
    let mut pay = submitted("pay", vec![(On::Success, submitted("mail", vec![(On::Any, submitted("tidy", vec![]))]))]);
    pay.job = JobDetail::builder(pay.job.key().clone(), "work").requests_recovery(true).build().unwrap();
    cluster.store.catalogue().take_requests(&[pay]).unwrap();
    for name in ["A1", "A2"] {
        cluster.node(name).fire_one();
        cluster.advance(10 * SECOND);
        b.check_in();
        cluster.advance(12_501);
        assert_eq!(b.recovers().len(), 1);
    }
    let parked = cluster.store.catalogue().parked().unwrap();
    assert_eq!((parked.len(), left(&cluster)), (1, vec!["mail".to_owned(), "pay".to_owned(), "tidy".to_owned()]));
    assert!(cluster.store.catalogue().delete_parked(&parked[0].key).unwrap());
    assert_eq!(left(&cluster), [""; 0]);
}

#[cfg(feature = "job-files")]
on_each_database!(what_follows_goes_with_work_that_a_job_file_deletes);
/// A job file may delete all triggers of submitted work.
#[cfg(feature = "job-files")]
fn what_follows_goes_with_work_that_a_job_file_deletes() {
    let cluster = Cluster::new(open());
    let mail = submitted("mail", vec![]);
    cluster.store.catalogue().take_requests(&[submitted("pay", vec![(On::Success, mail)])]).unwrap();
    let file = "<job-scheduling-data xmlns='http://www.quartz-scheduler.org/xml/JobSchedulingData'><pre-processing-commands>\
         <delete-triggers-in-group>SUBMITTED</delete-triggers-in-group></pre-processing-commands></job-scheduling-data>";
    let file = carnelian::job_file::JobFile::parse("jobs.xml", file.as_bytes(), chrono_tz::UTC).unwrap();
    cluster.store.catalogue().import(&file).unwrap();
    assert_eq!(left(&cluster), [""; 0]);
}

on_each_database!(work_that_has_begun_stays_when_what_it_followed_goes);
/// Submitted work may run more than once: what has followed its first run is no part of it.
fn work_that_has_begun_stays_when_what_it_followed_goes() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let mut pay = submitted("pay", vec![(On::Success, submitted("mail", vec![]))]);
    let key = pay.trigger.key().clone();
    pay.trigger = minutely("t", "j", NOW).key(key.clone()).job(pay.job.key().clone()).build().unwrap();
    cluster.store.catalogue().take_requests(&[pay]).unwrap();
    let first = a.fire_one();
    a.complete_all(&[ended(&first, FireOutcome::Succeeded)]);
    cluster.store.catalogue().unschedule(&[key]).unwrap();
    assert_eq!(left(&cluster), ["mail"]);
    assert_eq!(run_due(&a), 1);
    assert_eq!(left(&cluster), [""; 0]);
}
