//! Orders to stop that outlive the node of their run: what somebody has cancelled is not run again,
//! on whichever way its work would come back (LT-83).

use super::*;
use carnelian::history::{FireOutcome, HistoryQuery, HistoryRow};
use carnelian::recovery::{DeadFire, DeadFireDecision, DeadFireHandler, RerunReason};
use carnelian::store::row::CancelRow;
use carnelian::store::{
    Acquisition, BeginMark, Completion, CompletionInstruction, CompletionOutcome, Ending, FireBundle, FireHeartbeat,
    Heartbeats, PrefetchRequest, Unfired,
};
use carnelian::{Continuation, JobDetailBuilder, JobPolicy, On, OnDead, RetryPolicy};
use std::collections::BTreeSet;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

fn recoverable(name: &str) -> JobDetailBuilder {
    job(name).requests_recovery(true)
}

/// The fires by the names of their triggers.
fn fire_of<'a>(fired: &'a [FireBundle], trigger: &str) -> &'a FireBundle {
    fired.iter().find(|fire| fire.trigger.key().name() == trigger).unwrap()
}

fn cancel(cluster: &Cluster, fire: &FireBundle) {
    let id = std::slice::from_ref(&fire.fire_id);
    assert_eq!(cluster.store.upkeep().request_cancels(id, "ada").unwrap(), 1);
}

/// The ended fires of a job's, and what the history says of them.
fn ended(cluster: &Cluster, job: &str) -> Vec<(FireOutcome, Option<String>)> {
    let rows = cluster.store.history().find(&HistoryQuery::new().job(job_key(job))).unwrap();
    rows.into_iter().map(|HistoryRow { outcome, error, .. }| (outcome, error)).collect()
}

fn is_cancelled(cluster: &Cluster, job: &str) {
    let ended = ended(cluster, job);
    assert!(matches!(ended.as_slice(), [(FireOutcome::Cancelled, Some(_))]), "{job}: {ended:?}");
}

/// An order goes with its fire.
fn no_order_is_left(cluster: &Cluster) {
    cluster.tamper(|s| {
        assert_eq!(s.rows::<CancelRow>().list()?, []);
        Ok(())
    });
}

on_each_database!(what_was_cancelled_is_not_run_again_when_its_node_dies);
/// The policies of the jobs do not matter. A run that nobody has cancelled runs again.
fn what_was_cancelled_is_not_run_again_when_its_node_dies() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let on_dead = |name, on_dead| recoverable(name).policy(JobPolicy::new().on_dead(on_dead));
    cluster.schedule(recoverable("cancelled"), [once("cancelled", "cancelled", NOW)]);
    cluster.schedule(recoverable("paused").durable(true), [minutely("paused", "paused", NOW)]);
    cluster.schedule(on_dead("revived", OnDead::Revive), [once("revived", "revived", NOW)]);
    cluster.schedule(on_dead("asked", OnDead::Ask), [once("asked", "asked", NOW)]);
    cluster.schedule(recoverable("free"), [once("free", "free", NOW)]);
    let child = job("child").durable(true).build().unwrap();
    cluster.store.catalogue().add_job(&child, false).unwrap();
    for (on, parent) in [(On::Any, "cancelled"), (On::Failure, "revived")] {
        cluster.store.catalogue().follow(&Continuation::new(job_key(parent), job_key("child")).on(on)).unwrap();
    }
    let fired = a.acquire().fired;
    assert_eq!(fired.len(), 5);
    for name in ["cancelled", "revived", "asked"] {
        cancel(&cluster, fire_of(&fired, name));
    }
    assert_eq!(cluster.store.catalogue().pause_jobs(&[job_key("paused")]).unwrap(), 1);
    assert_eq!(cluster.store.catalogue().pause_job_and_stop(&job_key("paused"), "bob").unwrap().1, 1);

    cluster.advance(WINDOW + SECOND);
    let b = cluster.node("B");
    assert_eq!(cluster.recovery_triggers().len(), 1);
    let dead = "its node `A` was declared dead, or started again";
    let told = |cause: &str| vec![(FireOutcome::Cancelled, Some(format!("{cause}; {dead}")))];
    for name in ["cancelled", "revived", "asked"] {
        assert_eq!(ended(&cluster, name), told("cancelled: ada asked it to stop"));
        assert!(!cluster.has_job(name) && cluster.state(name) == "-", "{name}");
    }
    assert_eq!(ended(&cluster, "paused"), told("paused: bob asked it to stop"));
    assert_eq!(cluster.state("paused"), "PAUSED");
    assert_eq!(ended(&cluster, "free"), [(FireOutcome::Lost, Some(dead.to_owned()))]);
    no_order_is_left(&cluster);
    // The child follows the end of the work that nobody does again, if it follows a cancel.
    let again = b.acquire().fired;
    let jobs: BTreeSet<&str> = again.iter().map(|fire| fire.job.key().name()).collect();
    assert_eq!((again.len(), jobs), (2, BTreeSet::from(["child", "free"])));
    for fire in &again {
        b.complete(fire);
    }
    assert!(a.check_in().failed_out);
}

struct Nobody;

impl DeadFireHandler for Nobody {
    fn decide(&self, fire: &DeadFire) -> Option<DeadFireDecision> {
        panic!("nobody is asked about {}", fire.fire_id);
    }
}

on_each_database!(no_handler_is_asked_about_what_was_cancelled);
fn no_handler_is_asked_about_what_was_cancelled() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let asks = recoverable("a").policy(JobPolicy::new().on_dead(OnDead::Ask));
    cluster.schedule(asks, [once("t", "a", NOW)]);
    cancel(&cluster, &a.fire_one());
    cluster.advance(WINDOW + SECOND);
    let mut b = cluster.stranger("B");
    b.store = b.store.clone().with_dead_fire_handler(Arc::new(Nobody));
    assert_eq!(b.recovers()[0].lost.len(), 1);
    is_cancelled(&cluster, "a");
}

on_each_database!(what_was_cancelled_is_not_run_again_by_its_own_node);
/// The node starts anew under its name, or has forgotten the fire.
fn what_was_cancelled_is_not_run_again_by_its_own_node() {
    for starts_anew in [false, true] {
        let cluster = Cluster::new(open());
        let mut a = cluster.node("A");
        cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
        cancel(&cluster, &a.fire_one());
        let recovered = match starts_anew {
            false => vec![a.store.upkeep().recover_forgotten(&a.owner(), &BTreeSet::new()).unwrap()],
            true => {
                cluster.advance(WINDOW + SECOND);
                a = cluster.stranger("A");
                a.recovers()
            }
        };
        assert_eq!(recovered.iter().map(|one| one.lost.len()).sum::<usize>(), 1, "{recovered:?}");
        assert_eq!(cluster.recovery_triggers(), []);
        is_cancelled(&cluster, "a");
        no_order_is_left(&cluster);
    }
}

on_each_database!(what_was_cancelled_is_not_run_again_when_it_falls_silent);
/// The node lives. A run without an order that is given up on runs elsewhere, one with an order
/// does not.
fn what_was_cancelled_is_not_run_again_when_it_falls_silent() {
    let cluster = Cluster::new(open());
    let (mut a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(recoverable("silent"), [once("silent", "silent", NOW)]);
    cluster.schedule(recoverable("stuck"), [once("stuck", "stuck", NOW)]);
    cluster.schedule(recoverable("moved"), [once("moved", "moved", NOW)]);
    let fired = a.acquire().fired;
    let [silent, stuck, moved] = ["silent", "stuck", "moved"].map(|name| fire_of(&fired, name));
    let mut of = (Heartbeats::default(), Heartbeats::default());
    let limit = Duration::from_secs(15);
    let (fire_id, none) = (silent.fire_id.clone(), None);
    let beat = FireHeartbeat { fire_id, limit, progress: none, silence: None, silence_limit: None };
    a.store.upkeep().heartbeat(&a.owner(), &[beat], &mut of.0).unwrap();
    b.store.upkeep().heartbeat(&b.owner(), &[], &mut of.1).unwrap();
    cancel(&cluster, silent);
    cancel(&cluster, stuck);
    let given_up = [stuck.fire_id.clone(), moved.fire_id.clone()];
    let recovered = a.store.upkeep().abandon(&a.owner(), &given_up).unwrap();
    assert_eq!((&recovered.lost, recovered.recovery_triggers.len()), (&vec![stuck.fire_id.clone()], 1));
    is_cancelled(&cluster, "stuck");
    let again = b.fire_one();
    assert_eq!(again.job.key(), &job_key("moved"));
    b.complete(&again);

    let found = (0..6).find_map(|_| {
        cluster.advance(5 * SECOND);
        a.check_in();
        b.store.upkeep().heartbeat(&b.owner(), &[], &mut of.1).unwrap().recovered.pop()
    });
    assert_eq!(found.unwrap().lost, [silent.fire_id.as_str()]);
    assert_eq!(cluster.recovery_triggers(), []);
    is_cancelled(&cluster, "silent");
    no_order_is_left(&cluster);
}

/// Everything that is due, for workers that are busy.
fn prefetch(node: &Node) -> Acquisition {
    static WORK: LazyLock<BTreeSet<String>> = LazyLock::new(|| BTreeSet::from(["work".to_owned()]));
    node.acquire_with(100, |request| request.prefetch = Some(PrefetchRequest { free: 0, quick: 1, short: &WORK }))
        .unwrap()
}

on_each_database!(a_prefetched_fire_that_was_cancelled_is_not_given_back);
/// Neither by its node, which has not read the order, nor by who finds the node dead.
fn a_prefetched_fire_that_was_cancelled_is_not_given_back() {
    for dies in [false, true] {
        let cluster = Cluster::new(open());
        let (a, mut b) = (cluster.node("A"), cluster.node("B"));
        cluster.schedule(recoverable("begun"), [once("begun", "begun", NOW)]);
        cluster.schedule(recoverable("cancelled"), [once("cancelled", "cancelled", NOW)]);
        cluster.schedule(recoverable("free"), [once("free", "free", NOW)]);
        let fired = prefetch(&a).fired;
        assert_eq!(fired.len(), 3);
        let first = fire_of(&fired, "begun").fence;
        let waiting = fired.iter().filter(|fire| fire.fence != first).map(|fire| (fire.fence, fire.fence)).collect();
        let last = fired.iter().map(|fire| fire.fence).max().unwrap();
        cluster.store.firing().note_begun(&a.owner(), &BeginMark { number: 1, last, waiting }).unwrap();
        a.complete(fire_of(&fired, "begun"));
        let cancelled = fire_of(&fired, "cancelled");
        cancel(&cluster, cancelled);
        if dies {
            cluster.advance(10 * SECOND);
            b.check_in();
            cluster.advance(12_501);
            let recovered = b.recovers();
            let done: Vec<_> = recovered.iter().map(|one| (one.freed, one.lost.clone())).collect();
            assert_eq!(done, [(1, vec![cancelled.fire_id.clone()])]);
        } else {
            let given: Vec<&FireBundle> = vec![fire_of(&fired, "free"), cancelled];
            let unfired = a.store.firing().unfire(&a.owner(), &given).unwrap();
            assert_eq!(unfired, [Unfired::Done, Unfired::Stands]);
            assert_eq!(a.complete_all(&[goes_on(cancelled, RerunReason::Interrupted)]), [CompletionOutcome::Recorded]);
        }
        is_cancelled(&cluster, "cancelled");
        assert!(!cluster.has_job("cancelled"), "dies={dies}");
        no_order_is_left(&cluster);
        let again = b.fire_one();
        assert_eq!(again.job.key(), &job_key("free"));
        b.complete(&again);
    }
}

/// The end of a run whose work goes on in another fire.
fn goes_on(fire: &FireBundle, reason: RerunReason) -> Completion {
    let (outcome, error) = match reason {
        RerunReason::Failed => (FireOutcome::Failed, Some("no paper".to_owned())),
        RerunReason::Interrupted => (FireOutcome::Interrupted, None),
        _ => (FireOutcome::Succeeded, None),
    };
    Completion {
        ending: Ending { outcome, error, ..Ending::default() },
        rerun: Some(fire.rerun_order(reason, Duration::ZERO)),
        ..fire.completion(CompletionInstruction::NoInstruction, None)
    }
}

on_each_database!(a_run_that_ends_before_its_node_has_read_the_order_does_not_go_on);
/// A node that could not ask for a while records the ends of its runs before it hears of orders.
fn a_run_that_ends_before_its_node_has_read_the_order_does_not_go_on() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let told = "cancelled: ada asked it to stop";
    for (reason, error) in [
        (RerunReason::Failed, format!("{told}: no paper")),
        (RerunReason::Interrupted, told.to_owned()),
        (RerunReason::Continued, told.to_owned()),
    ] {
        let name = format!("{reason:?}");
        cluster.schedule(recoverable(&name), [once(&name, &name, NOW)]);
        cluster.schedule(recoverable("other"), [once("other", "other", NOW)]);
        let fired = a.acquire().fired;
        let (fire, other) = (fire_of(&fired, &name), fire_of(&fired, "other"));
        cancel(&cluster, fire);
        a.complete_all(&[goes_on(fire, reason), goes_on(other, reason)]);
        assert_eq!(ended(&cluster, &name), [(FireOutcome::Cancelled, Some(error))]);
        assert!(!cluster.has_job(&name));
        no_order_is_left(&cluster);
        let again = a.fire_one();
        assert_eq!(again.rerun.as_ref().map(|rerun| rerun.reason), Some(reason));
        a.complete(&again);
    }
}

on_each_database!(what_was_cancelled_and_then_declared_failed_is_not_tried_again);
fn what_was_cancelled_and_then_declared_failed_is_not_tried_again() {
    for cancels in [false, true] {
        let cluster = Cluster::new(open());
        let a = cluster.node("A");
        let policy = JobPolicy::new().retry(RetryPolicy::fixed(Duration::from_secs(1)));
        cluster.schedule(job("a").policy(policy), [once("t", "a", NOW)]);
        let fire = a.fire_one();
        if cancels {
            cancel(&cluster, &fire);
        }
        let failed = cluster.store.firing().fail_fire(&fire.fire_id, "it hangs").unwrap().unwrap();
        assert_eq!(failed.retried_after.is_none(), cancels);
        assert_eq!(ended(&cluster, "a"), [(FireOutcome::Failed, Some("it hangs".to_owned()))]);
        assert_eq!(cluster.has_job("a"), !cancels);
        no_order_is_left(&cluster);
    }
}
