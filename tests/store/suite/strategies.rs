//! Strategies: ticks that are spread over the nodes (LT-13, LT-71, LT-78, LT-79, LT-108).

use super::beside_quartz::java_joins;
use super::*;
use carnelian::history::{FireOutcome, HistoryQuery};
use carnelian::node::{NodeActivity, NodeReport};
use carnelian::placement::BlacklistEntry;
use carnelian::placement::{Placement, Strategy};
use carnelian::recovery::RerunReason;
use carnelian::store::row::TickPartRow;
use carnelian::store::{CompletionInstruction, CompletionOutcome, FireBundle};
use carnelian::{
    Continuation, Error, JobDetailBuilder, JobPolicy, On, OnDead, Overlap, Parent, RetryPolicy, SimpleSchedule,
    TriggerBuilder,
};
use std::sync::Mutex as Guarded;
use std::time::Duration;

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

fn policy(strategy: Strategy) -> JobPolicy {
    JobPolicy::new().strategy(strategy)
}

fn broadcast(name: &str) -> JobDetailBuilder {
    job(name).policy(policy(Strategy::Broadcast))
}

fn sharded(name: &str) -> JobDetailBuilder {
    job(name).policy(policy(Strategy::Sharded)).requests_recovery(true)
}

fn secondly(name: &str, job: &str, from_ms: i64) -> TriggerBuilder {
    once(name, job, from_ms).schedule(SimpleSchedule::every(Duration::from_secs(1)))
}

/// The part that a fire is, and of how many.
fn part(fire: &FireBundle) -> String {
    let text = |key: &str| fire.trigger.data().text(key).unwrap_or("-").to_owned();
    format!("{}/{}", text("CN_PART_INDEX"), text("CN_PART_COUNT"))
}

fn parts(fires: &[FireBundle]) -> Vec<String> {
    let mut parts: Vec<String> = fires.iter().map(part).collect();
    parts.sort();
    parts
}

fn earliest(node: &Node) -> Option<i64> {
    node.store.firing().poll(None, "", &["work".to_owned()]).unwrap().earliest_ms
}

/// The number of parts that nobody has begun.
fn waiting(cluster: &Cluster) -> usize {
    let is_part = |group: &str| group == carnelian::key::BROADCAST_GROUP;
    cluster.snapshot().triggers.iter().filter(|t| is_part(t.key.group()) && t.state == "WAITING").count()
}

on_each_database!(a_tick_is_spread_once_and_each_node_takes_its_own_part_only);
/// LT-13, LT-71, LT-79.
fn a_tick_is_spread_once_and_each_node_takes_its_own_part_only() {
    let cluster = Cluster::new(open());
    let (a, b, c) = (cluster.node("A"), cluster.node("B"), cluster.node("C"));
    cluster.schedule(broadcast("j"), [secondly("t", "j", NOW)]);
    let brought = a.acquire();
    assert_eq!((brought.fanned_out, brought.fired.len(), brought.reserved.len()), (1, 0, 0));
    assert_eq!((cluster.next("t"), cluster.state("t"), waiting(&cluster)), (Some(NOW + SECOND), "WAITING".into(), 3));
    for (node, expected) in [(&b, "1/3"), (&a, "0/3"), (&c, "2/3")] {
        let brought = node.acquire();
        assert_eq!((brought.fanned_out, parts(&brought.fired)), (0, vec![expected.to_owned()]));
        assert_eq!((node.acquire().fired.len(), earliest(node)), (0, Some(NOW + SECOND)));
        assert_eq!(brought.fired[0].scheduled_ms, NOW);
        assert_eq!(node.complete(&brought.fired[0]), CompletionOutcome::Recorded);
    }
    assert_eq!(cluster.snapshot().triggers.len(), 1, "what has run is gone");
}

on_each_database!(racing_nodes_run_each_tick_once_each);
/// LT-79: by all nodes at once, tick after tick.
fn racing_nodes_run_each_tick_once_each() {
    const TICKS: i64 = 5;
    let cluster = Cluster::new(open());
    let nodes = ["A", "B", "C", "D"].map(|name| cluster.node(name));
    cluster.schedule(broadcast("j"), [secondly("t", "j", NOW)]);
    let seen = Guarded::new(Vec::new());
    for tick in 0..TICKS {
        std::thread::scope(|scope| {
            for node in &nodes {
                scope.spawn(|| {
                    for _ in 0..3 {
                        let Ok(brought) = node.try_acquire(10) else { continue };
                        let of = |fire: &FireBundle| (fire.scheduled_ms, node.me.instance.clone());
                        seen.lock().unwrap().extend(brought.fired.iter().map(of));
                    }
                });
            }
        });
        for node in &nodes {
            let of = |fire: &FireBundle| (fire.scheduled_ms, node.me.instance.clone());
            seen.lock().unwrap().extend(node.acquire().fired.iter().map(of));
        }
        assert_eq!(cluster.next("t"), Some(NOW + (tick + 1) * SECOND));
        cluster.advance(SECOND);
    }
    let mut seen = seen.into_inner().unwrap();
    seen.sort();
    let expected: Vec<(i64, String)> =
        (0..TICKS).flat_map(|tick| ["A", "B", "C", "D"].map(|name| (NOW + tick * SECOND, name.to_owned()))).collect();
    assert_eq!(seen, expected);
}

on_each_database!(those_take_part_that_may_and_that_are_there_when_the_tick_is_spread);
/// LT-13: who may not run the job takes no part, and who joins takes part from the next tick on.
fn those_take_part_that_may_and_that_are_there_when_the_tick_is_spread() {
    let cluster = Cluster::new(open());
    let (a, mut b, c, d) = (cluster.node("A"), cluster.node("B"), cluster.node("C"), cluster.node("D"));
    b.store.job_types().set(Vec::new());
    b.check_in();
    cluster.store.placement().blacklist(&BlacklistEntry::new("C"), "ann").unwrap();
    let placement = ["A", "B", "C", "E"].into_iter().fold(Placement::new(), Placement::allow_node);
    let policy = policy(Strategy::Broadcast).placement(placement);
    cluster.schedule(job("j").policy(policy).durable(true), [secondly("t", "j", NOW)]);
    assert_eq!(d.acquire().fanned_out, 0, "whom the job does not allow does not spread it either");
    assert_eq!(a.acquire().fanned_out, 1);
    let e = cluster.node("E");
    assert_eq!((parts(&a.acquire().fired), waiting(&cluster)), (vec!["0/1".to_owned()], 0));

    cluster.advance(SECOND);
    assert!(cluster.store.placement().unblacklist("C").unwrap());
    assert_eq!((e.acquire().fanned_out, d.acquire().fired.len()), (1, 0));
    let ran = [&a, &c, &e].map(|node| parts(&node.acquire().fired));
    assert_eq!(ran, [["0/3"], ["1/3"], ["2/3"]]);
}

on_each_database!(parts_of_a_dead_node_are_dropped_and_what_had_begun_is_recorded);
/// LT-78: a run belongs to its node, and goes with it.
fn parts_of_a_dead_node_are_dropped_and_what_had_begun_is_recorded() {
    let cluster = Cluster::new(open());
    let (mut a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(broadcast("begun"), [once("t1", "begun", NOW)]);
    assert_eq!(a.acquire().fanned_out, 1);
    let lost = b.fire_one();
    let own = a.fire_one();
    cluster.schedule(broadcast("idle"), [once("t2", "idle", NOW)]);
    assert_eq!(a.acquire().fanned_out, 1);
    assert_eq!(waiting(&cluster), 2);
    cluster.advance(WINDOW / 2);
    a.check_in();
    cluster.advance(WINDOW / 2 + SECOND);
    assert_eq!(a.recovers().len(), 1);
    assert_eq!((waiting(&cluster), cluster.recovery_triggers().len()), (1, 0));
    let history = cluster.store.history().find(&HistoryQuery::new()).unwrap();
    let lost_ids: Vec<&str> =
        history.iter().filter(|row| row.outcome == FireOutcome::Lost).map(|row| row.fire_id.as_str()).collect();
    assert_eq!(lost_ids, [lost.fire_id.as_str()]);
    let last = a.fire_one();
    assert_eq!((a.complete(&own), a.complete(&last)), (CompletionOutcome::Recorded, CompletionOutcome::Recorded));
    assert_eq!(cluster.snapshot().triggers, []);
    assert!(!cluster.has_job("begun") && !cluster.has_job("idle"), "they went with their last triggers");
}

on_each_database!(shares_of_a_dead_node_are_given_to_another);
/// LT-108: a share is done, by whomever, if the job requests recovery; index and count stay.
fn shares_of_a_dead_node_are_given_to_another() {
    let cluster = Cluster::new(open());
    let (mut a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(sharded("j"), [once("t", "j", NOW)]);
    assert_eq!(a.acquire().fanned_out, 1);
    let own = a.fire_one();
    assert_eq!((part(&own), part(&b.fire_one())), ("0/2".to_owned(), "1/2".to_owned()));
    cluster.schedule(sharded("k"), [once("u", "k", NOW)]);
    cluster.schedule(sharded("dropped").requests_recovery(false), [once("v", "dropped", NOW)]);
    assert_eq!(a.acquire().fanned_out, 2);
    assert_eq!(parts(&a.acquire().fired), ["0/2", "0/2"]);
    cluster.advance(WINDOW / 2);
    a.check_in();
    assert_eq!(a.acquire().fired.len(), 0, "they are for B as long as it lives");
    cluster.advance(WINDOW / 2 + SECOND);
    assert_eq!(a.recovers()[0].recovery_triggers.len(), 1);
    assert_eq!(parts(&a.acquire().fired), ["1/2", "1/2"], "one that had begun and one that had not");
    let history = cluster.store.history().find(&HistoryQuery::new()).unwrap();
    let lost = history.iter().filter(|row| row.outcome == FireOutcome::Lost);
    assert_eq!(lost.count(), 2, "the run that died, and the share that nobody will do");
    assert_eq!(waiting(&cluster), 0);
}

on_each_database!(a_node_that_leaves_or_is_refused_gives_up_its_parts);
fn a_node_that_leaves_or_is_refused_gives_up_its_parts() {
    let cluster = Cluster::new(open());
    let (mut a, b, c) = (cluster.node("A"), cluster.node("B"), cluster.node("C"));
    cluster.schedule(broadcast("j"), [once("t", "j", NOW)]);
    cluster.schedule(sharded("k"), [once("u", "k", NOW)]);
    assert_eq!(c.acquire().fanned_out, 2);
    assert_eq!(waiting(&cluster), 6);
    assert_eq!(b.store.upkeep().leave(&b.owner()).unwrap(), 0);
    assert_eq!(waiting(&cluster), 5);
    cluster.store.placement().blacklist(&BlacklistEntry::new("A"), "ann").unwrap();
    assert!(a.check_in().refusal.is_some());
    assert_eq!(waiting(&cluster), 4);
    assert_eq!(a.acquire().fired.len(), 0);
    assert_eq!(parts(&c.acquire().fired), ["0/3", "1/3", "2/3", "2/3"]);
    assert_eq!(waiting(&cluster), 0);
}

#[cfg(feature = "test-util")]
on_each_database!(parts_that_could_not_be_given_up_are_given_up_later);
/// The first try to give them up fails, of a node that has seen no part.
#[cfg(feature = "test-util")]
fn parts_that_could_not_be_given_up_are_given_up_later() {
    let cluster = Cluster::new(open());
    let (mut a, c) = (cluster.node("A"), cluster.node("C"));
    cluster.schedule(sharded("k"), [once("u", "k", NOW)]);
    assert_eq!(c.acquire().fanned_out, 1);
    assert_eq!((parts(&c.acquire().fired), waiting(&cluster)), (vec!["1/2".to_owned()], 1));
    cluster.store.placement().blacklist(&BlacklistEntry::new("A"), "ann").unwrap();
    super::placement::fails_once(&cluster, &mut a, "give up parts");
    assert!(a.check_in().refusal.is_some());
    assert_eq!(waiting(&cluster), 1);
    cluster.advance(SECOND);
    assert!(a.check_in().refusal.is_some());
    assert_eq!(parts(&c.acquire().fired), ["0/2"]);
}

on_each_database!(who_does_not_fire_takes_no_part);
/// Nodes in standby, and passive ones, take nothing: parts of theirs would stay. Parts that they
/// have are given up.
fn who_does_not_fire_takes_no_part() {
    for activity in [NodeActivity::Standby, NodeActivity::Passive] {
        let cluster = Cluster::new(open());
        let (a, mut b) = (cluster.node("A"), cluster.node("B"));
        let mut report = NodeReport::default();
        report.info.activity = activity;
        cluster.schedule(sharded("k"), [secondly("u", "k", NOW)]);
        assert_eq!((a.acquire().fanned_out, waiting(&cluster)), (1, 2));
        b.me.node = Some(report);
        b.check_in();
        assert_eq!(parts(&a.acquire().fired), ["0/2", "1/2"]);
        cluster.advance(SECOND);
        assert_eq!((a.acquire().fanned_out, waiting(&cluster)), (1, 1));
        assert_eq!(parts(&a.acquire().fired), ["0/1"]);
    }
}

on_each_database!(a_part_that_is_reserved_is_given_up_with_its_reservation);
/// The store's clock is set back, and the node reserves its part until the time comes again.
fn a_part_that_is_reserved_is_given_up_with_its_reservation() {
    let cluster = Cluster::new(open());
    let (mut a, c) = (cluster.node("A"), cluster.node("C"));
    cluster.schedule(sharded("k"), [once("u", "k", NOW)]);
    assert_eq!(c.acquire().fanned_out, 1);
    cluster.advance(-5 * SECOND);
    assert_eq!(a.acquire().reserved.len(), 1);
    cluster.store.placement().blacklist(&BlacklistEntry::new("A"), "ann").unwrap();
    assert!(a.check_in().refusal.is_some());
    cluster.check();
    cluster.advance(5 * SECOND);
    assert_eq!(parts(&c.acquire().fired), ["0/2", "1/2"]);
}

on_each_database!(a_busy_node_is_left_out_where_fires_may_not_overlap);
/// LT-78: with fires that may not overlap, a node that is still at an earlier tick takes no part.
fn a_busy_node_is_left_out_where_fires_may_not_overlap() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.schedule(broadcast("j"), [secondly("t", "j", NOW).overlap(Overlap::Skip)]);
    assert_eq!(a.acquire().fanned_out, 1);
    let (first, second) = (a.fire_one(), b.fire_one());
    assert_eq!(b.complete(&second), CompletionOutcome::Recorded);
    cluster.advance(SECOND);
    assert_eq!(b.acquire().fanned_out, 1);
    assert_eq!((parts(&b.acquire().fired), a.acquire().fired.len()), (vec!["0/1".to_owned()], 0));
    assert_eq!(a.complete(&first), CompletionOutcome::Recorded);
}

on_each_database!(a_part_is_tried_again_on_its_node);
/// A part that failed is tried again by the node that it is for, and by no other, also after a
/// failure that somebody declared.
fn a_part_is_tried_again_on_its_node() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    let retry = RetryPolicy::fixed(Duration::from_secs(5)).max_attempts(3);
    let job = broadcast("j").policy(policy(Strategy::Broadcast).retry(retry)).durable(true);
    cluster.schedule(job, [once("t", "j", NOW)]);
    assert_eq!(a.acquire().fanned_out, 1);
    let first = a.fire_one();
    b.complete(&b.fire_one());
    let mut failed = first.completion(CompletionInstruction::NoInstruction, None);
    failed.rerun = Some(first.rerun_order(RerunReason::Failed, Duration::from_secs(5)));
    a.complete_all(&[failed]);
    cluster.advance(5 * SECOND);
    assert!(b.acquire().fired.is_empty(), "it is for A");
    let second = a.fire_one();
    let rerun = second.rerun.clone().unwrap();
    assert_eq!((rerun.reason, rerun.attempt, rerun.root_fire_id), (RerunReason::Failed, 1, Some(first.fire_id)));
    assert_eq!((part(&second), second.recovering.is_none()), ("0/2".to_owned(), true));
    let declared = cluster.store.firing().fail_fire(&second.fire_id, "it hangs").unwrap().unwrap();
    assert_eq!(declared.retried_after, Some(Duration::from_secs(5)));
    cluster.advance(5 * SECOND);
    assert!(b.acquire().fired.is_empty());
    let third = a.fire_one();
    assert_eq!(third.rerun.as_ref().map(|rerun| rerun.attempt), Some(2));
    a.complete(&third);
    assert_eq!((waiting(&cluster), cluster.snapshot().recoveries.len()), (0, 0));
}

on_each_database!(a_child_may_follow_whole_ticks);
/// A child of the whole tick waits for the last part, however the parts end, and sees one that
/// failed.
fn a_child_may_follow_whole_ticks() {
    for fails in [false, true] {
        let cluster = Cluster::new(open());
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        for name in ["good", "bad", "each"] {
            cluster.store.catalogue().add_job(&job(name).durable(true).build().unwrap(), false).unwrap();
        }
        let retry = RetryPolicy::fixed(Duration::from_secs(5)).max_attempts(2);
        let job = broadcast("j").policy(policy(Strategy::Broadcast).retry(retry)).durable(true);
        cluster.store.catalogue().add_job(&job.build().unwrap(), false).unwrap();
        let link = |child: &str, on| Continuation::new(job_key("j"), job_key(child)).on(on);
        for continuation in [
            link("good", On::Success).once_per_tick(true),
            link("bad", On::Failure).once_per_tick(true),
            link("each", On::Any),
        ] {
            cluster.store.catalogue().follow(&continuation).unwrap();
            assert!(cluster.store.catalogue().children_of(&job_key("j")).unwrap().contains(&continuation));
        }
        cluster.store.catalogue().add_trigger(once("t", "j", NOW).build().unwrap(), false).unwrap();
        assert_eq!(a.acquire().fanned_out, 1);
        let (first, second) = (a.fire_one(), b.fire_one());
        let mut failed = first.completion(CompletionInstruction::NoInstruction, None);
        failed.ending.outcome = FireOutcome::Failed;
        failed.rerun = Some(first.rerun_order(RerunReason::Failed, Duration::from_secs(5)));
        a.complete_all(&[failed]);
        assert_eq!(b.complete(&second), CompletionOutcome::Recorded);
        let each = b.fire_one();
        assert_eq!(each.job.key(), &job_key("each"), "one part is over, and the tick is not");
        b.complete(&each);
        cluster.advance(5 * SECOND);
        let again = a.fire_one();
        let mut end = again.completion(CompletionInstruction::NoInstruction, None);
        end.ending.outcome = if fails { FireOutcome::Failed } else { FireOutcome::Succeeded };
        a.complete_all(&[end]);
        let next = b.acquire().fired;
        let mut followed: Vec<&str> = next.iter().map(|fire| fire.job.key().name()).collect();
        followed.sort_unstable();
        assert_eq!(followed, [if fails { "bad" } else { "each" }, if fails { "each" } else { "good" }]);
        let whole = next.iter().find(|fire| fire.job.key() != &job_key("each")).unwrap();
        let parent = Parent::of(whole.trigger.data()).unwrap();
        assert_eq!(parent.outcome, if fails { FireOutcome::Failed } else { FireOutcome::Succeeded });
        assert!(!fails || parent.fire_id == again.fire_id);
        for fire in &next {
            b.complete(fire);
        }
        cluster.tamper(|s| {
            assert_eq!(s.rows::<TickPartRow>().list()?, []);
            Ok(())
        });
    }
}

on_each_database!(a_tick_whose_last_parts_ended_at_the_same_moment_is_settled_by_an_audit);
/// Jobs that end their fires in transactions of their own at the same moment: neither sees the end
/// of the other, and the nodes die before they tidy up.
fn a_tick_whose_last_parts_ended_at_the_same_moment_is_settled_by_an_audit() {
    let cluster = Cluster::new(open());
    let (a, b) = (cluster.node("A"), cluster.node("B"));
    cluster.store.catalogue().add_job(&job("whole").durable(true).build().unwrap(), false).unwrap();
    cluster.store.catalogue().add_job(&broadcast("j").durable(true).build().unwrap(), false).unwrap();
    let whole = Continuation::new(job_key("j"), job_key("whole")).on(On::Any).once_per_tick(true);
    cluster.store.catalogue().follow(&whole).unwrap();
    cluster.store.catalogue().add_trigger(once("t", "j", NOW).build().unwrap(), false).unwrap();
    assert_eq!(a.acquire().fanned_out, 1);
    for fire in [a.fire_one(), b.fire_one()] {
        let c = cluster.node("C");
        assert_eq!(c.store.upkeep().audit().unwrap().following, [], "a part is not over");
        cluster.tamper(|s| {
            s.delete_fired(std::slice::from_ref(&fire.fire_id), Vec::new())?;
            s.delete_finished_triggers(std::slice::from_ref(fire.trigger.key()))?;
            let parts: Vec<TickPartRow> = s.rows().list()?;
            let open = parts.into_iter().find(|row| row.outcome.is_none()).unwrap();
            let outcome = Some(FireOutcome::Succeeded.name().to_owned());
            let row = TickPartRow { outcome, fire_id: Some(fire.fire_id.clone()), ..open };
            s.put(&row)
        });
        c.store.upkeep().leave(&c.owner()).unwrap();
    }
    cluster.advance(WINDOW + SECOND);
    let mut c = cluster.stranger("C");
    assert_eq!(c.recovers().len(), 2);
    assert!(c.acquire().fired.is_empty());
    assert_eq!(c.store.upkeep().audit().unwrap().following.len(), 1);
    let child = c.fire_one();
    assert_eq!((child.job.key(), Parent::of(child.trigger.data()).unwrap().job), (&job_key("whole"), job_key("j")));
    c.complete(&child);
    assert_eq!(c.store.upkeep().audit().unwrap().following, [], "once");
}

on_each_database!(a_tick_is_over_when_its_last_node_is_gone);
/// A node that goes with its part ends the tick, and what it had begun is lost.
fn a_tick_is_over_when_its_last_node_is_gone() {
    for begins in [false, true] {
        let cluster = Cluster::new(open());
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        cluster.store.catalogue().add_job(&job("whole").durable(true).build().unwrap(), false).unwrap();
        cluster
            .store
            .catalogue()
            .add_job(&broadcast("j").durable(true).data("traceparent", TRACE).build().unwrap(), false)
            .unwrap();
        let whole = Continuation::new(job_key("j"), job_key("whole")).on(On::Any).once_per_tick(true);
        cluster.store.catalogue().follow(&whole).unwrap();
        cluster.store.catalogue().add_trigger(once("t", "j", NOW).build().unwrap(), false).unwrap();
        assert_eq!(a.acquire().fanned_out, 1);
        if begins {
            a.fire_one();
        }
        b.complete(&b.fire_one());
        assert!(b.acquire().fired.is_empty(), "the part of A is not over");
        cluster.advance(WINDOW + SECOND);
        let c = cluster.node("C");
        let child = c.fire_one();
        let parent = Parent::of(child.trigger.data()).unwrap();
        assert_eq!(child.trigger.data().text("traceparent"), Some(TRACE));
        assert_eq!(parent.outcome, if begins { FireOutcome::Lost } else { FireOutcome::Succeeded });
    }
}

on_each_database!(a_part_that_waits_for_another_try_goes_with_its_node);
/// Work that belongs to a node goes with it.
fn a_part_that_waits_for_another_try_goes_with_its_node() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let retry = RetryPolicy::fixed(Duration::from_secs(60)).max_attempts(3);
    let job = broadcast("j").policy(policy(Strategy::Broadcast).retry(retry)).durable(true);
    cluster.schedule(job, [once("t", "j", NOW)]);
    assert_eq!(a.acquire().fanned_out, 1);
    let first = a.fire_one();
    let mut failed = first.completion(CompletionInstruction::NoInstruction, None);
    failed.rerun = Some(first.rerun_order(RerunReason::Failed, Duration::from_secs(60)));
    a.complete_all(&[failed]);
    assert_eq!(waiting(&cluster), 1);
    cluster.advance(WINDOW + SECOND);
    let _b = cluster.node("B");
    assert_eq!((waiting(&cluster), cluster.snapshot().recoveries.len()), (0, 0));
}

on_each_database!(a_share_that_is_lost_with_its_node_fails_its_tick);
/// A third of the work is not done: the child that needs all of it must not run as if it were.
fn a_share_that_is_lost_with_its_node_fails_its_tick() {
    for leaves in [false, true] {
        let cluster = Cluster::new(open());
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        let job = sharded("j").requests_recovery(false).durable(true);
        followed_by_tick(&cluster, job);
        assert_eq!(b.acquire().fanned_out, 1);
        b.complete(&b.fire_one());
        goes(&cluster, &a, leaves);
        let child = if leaves { b.fire_one() } else { cluster.node("C").fire_one() };
        let parent = Parent::of(child.trigger.data()).unwrap();
        assert_eq!((child.job.key(), parent.outcome), (&job_key("bad"), FireOutcome::Lost));
    }
}

on_each_database!(a_part_that_is_not_tried_again_fails_its_tick);
/// The work that waits for another try goes with its node, and its end was the failure.
fn a_part_that_is_not_tried_again_fails_its_tick() {
    for leaves in [false, true] {
        let cluster = Cluster::new(open());
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        let retry = RetryPolicy::fixed(Duration::from_secs(60)).max_attempts(3);
        followed_by_tick(&cluster, broadcast("j").policy(policy(Strategy::Broadcast).retry(retry)).durable(true));
        assert_eq!(a.acquire().fanned_out, 1);
        let first = a.fire_one();
        let mut failed = first.completion(CompletionInstruction::NoInstruction, None);
        failed.ending.outcome = FireOutcome::Failed;
        failed.rerun = Some(first.rerun_order(RerunReason::Failed, Duration::from_secs(60)));
        a.complete_all(&[failed]);
        b.complete(&b.fire_one());
        assert!(b.acquire().fired.is_empty(), "it may be tried again");
        goes(&cluster, &a, leaves);
        let child = if leaves { b.fire_one() } else { cluster.node("C").fire_one() };
        let parent = Parent::of(child.trigger.data()).unwrap();
        assert_eq!((child.job.key(), parent.outcome), (&job_key("bad"), FireOutcome::Failed));
        assert_eq!(parent.fire_id, first.fire_id);
    }
}

/// Stores a job that is due, with a child for the whole ticks that succeed, and one for those that
/// do not.
fn followed_by_tick(cluster: &Cluster, parent: JobDetailBuilder) {
    for child in ["good", "bad"] {
        cluster.store.catalogue().add_job(&job(child).durable(true).build().unwrap(), false).unwrap();
    }
    cluster.store.catalogue().add_job(&parent.build().unwrap(), false).unwrap();
    for (child, on) in [("good", On::Success), ("bad", On::Failure)] {
        let follows = Continuation::new(job_key("j"), job_key(child)).on(on).once_per_tick(true);
        cluster.store.catalogue().follow(&follows).unwrap();
    }
    cluster.store.catalogue().add_trigger(once("t", "j", NOW).build().unwrap(), false).unwrap();
}

/// The node leaves, or dies.
fn goes(cluster: &Cluster, node: &Node, leaves: bool) {
    match leaves {
        true => drop(node.store.upkeep().leave(&node.owner()).unwrap()),
        false => cluster.advance(WINDOW + SECOND),
    }
}

on_each_database!(a_busy_node_is_left_out_everywhere_if_the_settings_say_so);
/// As in LogiTask: a node that still runs its part of the last tick has none of the next.
fn a_busy_node_is_left_out_everywhere_if_the_settings_say_so() {
    for skips in [false, true] {
        let cluster = Cluster::with(open(), |settings| settings.cluster.skip_busy_nodes = skips);
        let (a, b) = (cluster.node("A"), cluster.node("B"));
        cluster.schedule(broadcast("j"), [secondly("t", "j", NOW)]);
        assert_eq!(a.acquire().fanned_out, 1);
        let running = a.fire_one();
        b.complete(&b.fire_one());
        cluster.advance(SECOND);
        assert_eq!(b.acquire().fanned_out, 1);
        assert_eq!(a.acquire().fired.len(), usize::from(!skips));
        assert_eq!(parts(&b.acquire().fired), [if skips { "0/1" } else { "1/2" }]);
        a.complete(&running);
    }
}

on_each_database!(what_cannot_be_spread_is_refused);
fn what_cannot_be_spread_is_refused() {
    let lone = |strategy| job("j").policy(policy(strategy)).disallow_concurrent_execution(true).build();
    let of = |policy: JobPolicy, recovery| job("j").policy(policy).requests_recovery(recovery).build();
    let both = policy(Strategy::Broadcast);
    let prefers = Placement::new().prefer_node("A");
    for refused in [
        lone(Strategy::Broadcast),
        lone(Strategy::Sharded),
        of(both.clone(), true),
        of(both.clone().placement(prefers), false),
        of(policy(Strategy::Sharded).on_dead(OnDead::Revive), true),
    ] {
        let error = refused.unwrap_err();
        assert!(error.to_string().contains("strategy"), "{error}");
    }
    assert!(lone(Strategy::Preempt).is_ok());
}

on_each_database!(strategies_are_refused_beside_nodes_of_quartz);
fn strategies_are_refused_beside_nodes_of_quartz() {
    let cluster = Cluster::new(open());
    let mut ours = cluster.node("A");
    java_joins(&cluster, &mut ours);
    let add = |builder: JobDetailBuilder| {
        cluster.store.catalogue().add_job(&builder.job_type("com.example.Work").durable(true).build().unwrap(), true)
    };
    let error = add(broadcast("j")).unwrap_err();
    assert!(matches!(&error, Error::Refused(why) if why.contains("strategy broadcast")), "{error}");
    add(broadcast("j").even_beside_quartz()).unwrap();
}
