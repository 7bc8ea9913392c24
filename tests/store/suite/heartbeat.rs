//! Heartbeats of fires: living and dead ones, the work that is done again, and orders to stop.

use super::*;
use carnelian::recovery::{DeadFire, DeadFireDecision, DeadFireHandler};
use carnelian::store::row::{Departure, Progress};
use carnelian::store::{
    Completion, CompletionInstruction, CompletionOutcome, FireBundle, FireHeartbeat, HeartbeatPass, Heartbeats,
};
use carnelian::{JobDetailBuilder, JobPolicy, OnDead, TriggerBuilder};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The time for which a fire may be silent, in these tests.
const LIMIT: Duration = Duration::from_secs(15);

/// A node with what it has seen of heartbeats.
struct Beating {
    node: Node,
    seen: Heartbeats,
}

impl Beating {
    fn new(node: Node) -> Self {
        Self { node, seen: Heartbeats::default() }
    }

    fn beat(&mut self, fires: &[&FireBundle]) -> HeartbeatPass {
        let beat = |fire: &&FireBundle| FireHeartbeat {
            fire_id: fire.fire_id.clone(),
            limit: LIMIT,
            progress: None,
            silence: None,
            silence_limit: None,
        };
        self.pass(&fires.iter().map(beat).collect::<Vec<_>>())
    }

    fn pass(&mut self, beats: &[FireHeartbeat]) -> HeartbeatPass {
        self.node.store.upkeep().heartbeat(&self.node.owner(), beats, &mut self.seen).unwrap()
    }
}

fn recoverable(name: &str) -> JobDetailBuilder {
    job(name).requests_recovery(true)
}

on_each_database!(a_fire_that_falls_silent_is_recovered_while_its_node_lives);
/// DS-15, DS-30: the node checks in and one of its fires does not: that fire alone is recovered,
/// after its limit and the tolerance.
fn a_fire_that_falls_silent_is_recovered_while_its_node_lives() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    cluster.schedule(recoverable("b"), [once("u", "b", NOW)]);
    let fires = a.node.acquire().fired;
    let [silent, loud] = [&fires[0], &fires[1]];
    assert_eq!(a.beat(&[silent, loud]), HeartbeatPass::default());
    b.beat(&[]);
    for _ in 0..4 {
        cluster.advance(5 * SECOND);
        assert_eq!(a.beat(&[loud]), HeartbeatPass::default());
        a.node.check_in();
        assert_eq!(b.beat(&[]), HeartbeatPass::default());
    }
    cluster.advance(2500);
    assert_eq!(b.beat(&[]), HeartbeatPass::default(), "not before the limit and the tolerance");
    cluster.advance(1);
    let recovered = b.beat(&[]).recovered;
    assert_eq!(recovered.len(), 1);
    assert_eq!(recovered[0].instance, "A");
    let made: Vec<&String> = recovered[0].recovery_triggers.iter().map(|(fire_id, _)| fire_id).collect();
    assert_eq!(made, [&silent.fire_id]);
    assert_eq!(b.beat(&[]), HeartbeatPass::default(), "once");

    // PA-32, PA-33: the beat is the probe of ownership.
    assert_eq!(a.beat(&[silent, loud]).lost, [silent.fire_id.as_str()]);
    assert_eq!(a.node.complete(silent), CompletionOutcome::Fenced);
    let again = b.node.fire_one();
    assert_eq!(again.recovering.as_ref().unwrap().root_fire_id.as_ref(), Some(&silent.fire_id));
    b.node.complete(&again);
    assert_eq!(a.node.complete(loud), CompletionOutcome::Recorded);
    cluster.store.upkeep().audit().unwrap();
    cluster.tamper(|s| {
        assert_eq!(s.rows::<carnelian::store::row::HeartbeatRow>().list()?, []);
        Ok(())
    });
}

on_each_database!(an_outage_of_the_database_kills_no_fire);
/// Reliability, finding 3: the database was away for longer than the limit. The node that comes
/// back first forgives the others as much as it was away itself, and does not look again before
/// they had the time to come back.
fn an_outage_of_the_database_kills_no_fire() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    a.beat(&[&fire]);
    b.beat(&[]);
    cluster.advance(10 * MINUTE);
    for _ in 0..5 {
        assert_eq!(b.beat(&[]), HeartbeatPass::default());
        cluster.advance(SECOND);
    }
    assert_eq!(a.beat(&[&fire]), HeartbeatPass::default());
    assert_eq!(b.beat(&[]), HeartbeatPass::default());
    assert_eq!(a.node.complete(&fire), CompletionOutcome::Recorded);
}

on_each_database!(a_silent_fire_is_found_however_rare_the_looks_are);
/// A node may look for silent fires every few minutes only: such a pause is no absence of its own.
fn a_silent_fire_is_found_however_rare_the_looks_are() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    a.beat(&[&fire]);
    b.beat(&[]);
    let found = (1..=10).find(|_| {
        cluster.advance(5 * MINUTE);
        a.node.check_in();
        !b.beat(&[]).recovered.is_empty()
    });
    assert_eq!(found, Some(2), "by the first look after its limit and the pause before");
}

on_each_database!(a_jump_of_the_stores_clock_kills_no_fire);
/// No verdict that depends on clocks: the database's clock is set forward by an hour, then back.
fn a_jump_of_the_stores_clock_kills_no_fire() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    a.beat(&[&fire]);
    b.beat(&[]);
    for jump in [60 * MINUTE, -120 * MINUTE] {
        cluster.clock.jump(jump);
        cluster.advance(5 * SECOND);
        assert_eq!(b.beat(&[]), HeartbeatPass::default(), "{jump}");
        assert_eq!(a.beat(&[&fire]), HeartbeatPass::default(), "{jump}");
        assert_eq!(b.beat(&[]), HeartbeatPass::default(), "{jump}");
    }
    // From then on silence convicts, though its last beat be from the future.
    cluster.clock.jump(-MINUTE);
    for _ in 0..10 {
        cluster.advance(5 * SECOND);
        if let [recovered] = b.beat(&[]).recovered.as_slice() {
            assert_eq!(recovered.recovery_triggers.len(), 1);
            assert_eq!(a.beat(&[&fire]).lost.len(), 1);
            return;
        }
    }
    panic!("a silent fire stays for ever");
}

on_each_database!(two_that_see_the_same_silence_recover_it_once);
/// Two nodes see the same silence; one recovers it, the other finds nothing (QZ-43, C-8).
fn two_that_see_the_same_silence_recover_it_once() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    let mut c = Beating::new(cluster.node("C"));
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    a.beat(&[&fire]);
    b.beat(&[]);
    c.beat(&[]);
    cluster.advance(15 * SECOND);
    b.beat(&[]);
    c.beat(&[]);
    cluster.advance(10 * SECOND);
    let (theirs, seen) = (cluster.stranger("C"), c.seen.clone());
    let other = Arc::new(Mutex::new((Node { store: theirs.store, me: c.node.me.clone() }, seen, None)));
    let first = Arc::clone(&other);
    cluster.hold_up(&mut b.node, "recover silent fires", move || {
        let (node, seen, pass) = &mut *first.lock().unwrap();
        *pass = Some(node.store.upkeep().heartbeat(&node.owner(), &[], seen).unwrap());
    });
    assert_eq!(b.beat(&[]).recovered, []);
    let pass = other.lock().unwrap().2.take().unwrap();
    assert_eq!(pass.recovered[0].recovery_triggers.len(), 1);
    assert_eq!(cluster.recovery_triggers().len(), 1);
}

/// Goes on until the fires of `a` have been silent for longer than they may be.
fn fall_silent(cluster: &Cluster, a: &mut Beating, b: &mut Beating) {
    b.beat(&[]);
    for _ in 0..4 {
        cluster.advance(5 * SECOND);
        a.node.check_in();
        b.beat(&[]);
    }
    cluster.advance(2501);
}

on_each_database!(silent_fires_are_recovered_some_at_a_time);
/// Fifteen thousand runs of a node that hung were recovered by one transaction: the whole cluster
/// waited for it for six to twelve seconds.
fn silent_fires_are_recovered_some_at_a_time() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    cluster.schedule(recoverable("a"), std::array::from_fn::<_, 501, _>(|n| once(&format!("t{n}"), "a", NOW)));
    let fires = a.node.acquire_with(501, |_| {}).unwrap().fired;
    a.beat(&fires.iter().collect::<Vec<_>>());
    fall_silent(&cluster, &mut a, &mut b);
    let recovered: Vec<usize> = b.beat(&[]).recovered.iter().map(|one| one.recovery_triggers.len()).collect();
    assert_eq!(recovered, [500, 1]);
}

on_each_database!(fires_of_a_node_that_was_declared_dead_are_recovered_with_it);
/// The log told of them as fires of a node that lives.
fn fires_of_a_node_that_was_declared_dead_are_recovered_with_it() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    a.beat(&[&fire]);
    fall_silent(&cluster, &mut a, &mut b);
    cluster.tamper(|s| s.delete_instance("A", Departure::Any).map(drop));
    assert_eq!(b.beat(&[]).recovered, []);
    assert_eq!(b.node.check_in().recovered[0].recovery_triggers.len(), 1);
}

on_each_database!(one_that_beats_again_at_the_last_moment_is_left_alone);
/// The silence was seen, and before it could be acted on the fire beat again.
fn one_that_beats_again_at_the_last_moment_is_left_alone() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    a.beat(&[&fire]);
    b.beat(&[]);
    cluster.advance(20 * SECOND);
    b.beat(&[]);
    cluster.advance(5 * SECOND);
    let (store, owner, id) = (cluster.store.clone(), a.node.owner(), fire.fire_id.clone());
    cluster.hold_up(&mut b.node, "recover silent fires", move || {
        let beat = FireHeartbeat { fire_id: id, limit: LIMIT, progress: None, silence: None, silence_limit: None };
        store.upkeep().heartbeat(&owner, &[beat], &mut Heartbeats::default()).unwrap();
    });
    assert_eq!(b.beat(&[]).recovered, []);
    assert_eq!(a.node.complete(&fire), CompletionOutcome::Recorded);
}

on_each_database!(progress_is_seen_from_elsewhere);
/// DS-114: progress travels with the beat.
fn progress_is_seen_from_elsewhere() {
    let cluster = Cluster::new(open());
    let mut a = Beating::new(cluster.node("A"));
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    let progress = Progress { done: 3, total: Some(10), note: Some("third of ten".to_owned()) };
    for (progress, silence) in [(None, None), (Some(progress), Some(Duration::from_secs(4)))] {
        cluster.advance(SECOND);
        a.pass(&[FireHeartbeat {
            fire_id: fire.fire_id.clone(),
            limit: LIMIT,
            progress: progress.clone(),
            silence,
            silence_limit: silence,
        }]);
        let shown = cluster.store.upkeep().fired_triggers().unwrap().remove(0);
        let heartbeat = shown.heartbeat.unwrap();
        assert_eq!((heartbeat.time, heartbeat.limit, &heartbeat.progress), (at(cluster.now()), LIMIT, &progress));
        let since = silence.map(|_| at(cluster.now() - 4 * SECOND));
        assert_eq!((heartbeat.progress_time, heartbeat.progress_limit), (since, silence));
        assert!(!heartbeat.is_overdue(at(cluster.now())) && heartbeat.is_overdue(at(cluster.now() + 15 * SECOND + 1)));
        assert_eq!(heartbeat.is_overdue(at(cluster.now() + 1)), silence.is_some(), "it beats, without progress");
    }
    let mut end = fire.completion(CompletionInstruction::NoInstruction, None);
    end.has_heartbeat = true;
    a.node.complete_all(&[end]);
    cluster.tamper(|s| {
        assert_eq!(s.rows::<carnelian::store::row::HeartbeatRow>().list()?, [], "it goes with the fire");
        Ok(())
    });
}

on_each_database!(an_order_to_stop_reaches_the_node_that_runs_it);
/// LT-83: whoever wants a run to stop leaves an order, and the node that runs it finds it.
fn an_order_to_stop_reaches_the_node_that_runs_it() {
    let cluster = Cluster::new(open());
    let (mut a, mut b) = (Beating::new(cluster.node("A")), Beating::new(cluster.node("B")));
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    let ids = [fire.fire_id.clone(), "no such fire".to_owned()];
    assert_eq!(cluster.store.upkeep().request_cancels(&ids, "ada").unwrap(), 1);
    assert_eq!(cluster.store.upkeep().request_cancels(&ids, "bob").unwrap(), 0, "asked already");
    assert_eq!(b.beat(&[]).cancelled, []);
    assert_eq!(a.beat(&[&fire]).cancelled, [(fire.fire_id.clone(), "ada".to_owned())]);
    a.node.complete(&fire);
    assert!(cluster.store.upkeep().audit().unwrap().swept > 0);
}

on_each_database!(an_order_to_stop_goes_with_the_run_that_it_stopped);
/// Orders to stop are read with each heartbeat: one that its node knows of is not left to the
/// audit, and one that is left has the audit sweep the table of orders alone.
fn an_order_to_stop_goes_with_the_run_that_it_stopped() {
    let cluster = Cluster::new(open());
    let mut a = Beating::new(cluster.node("A"));
    cluster.schedule(job("a").durable(true), [minutely("t", "a", NOW)]);
    let mut stopped = |knows: bool| {
        let fire = a.node.fire_one();
        let id = std::slice::from_ref(&fire.fire_id);
        assert_eq!(cluster.store.upkeep().request_cancels(id, "ada").unwrap(), 1);
        a.beat(&[&fire]);
        let end = fire.completion(CompletionInstruction::NoInstruction, None);
        let end = Completion { has_heartbeat: true, has_stop_order: knows, ..end };
        assert_eq!(a.node.complete_all(&[end]), [CompletionOutcome::Recorded]);
        cluster.advance(MINUTE);
        a.node.check_in();
        let before = cluster.opened.database.counts().statements;
        let swept = cluster.store.upkeep().sweep().unwrap();
        (swept, cluster.opened.database.counts().statements - before)
    };
    let (swept, looked) = stopped(true);
    assert_eq!(swept, 0, "the end has taken the order");
    let (swept, statements) = stopped(false);
    assert_eq!(swept, 1);
    assert!(statements <= looked + 6, "{statements} statements for one table");
}

fn die(cluster: &Cluster) -> Node {
    cluster.advance(WINDOW + SECOND);
    cluster.node("B")
}

on_each_database!(a_one_shot_is_revived_in_place);
/// DS-32: a one-shot is made due again itself; its work goes on where it was.
fn a_one_shot_is_revived_in_place() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let policy = JobPolicy::new().on_dead(OnDead::Revive);
    cluster.schedule(recoverable("a").policy(policy), [once("t", "a", NOW)]);
    let first = a.fire_one();
    let b = die(&cluster);
    assert_eq!(cluster.recovery_triggers(), []);
    assert_eq!((cluster.state("t"), cluster.next("t")), ("WAITING".to_owned(), Some(cluster.now())));
    let second = b.fire_one();
    let recovering = second.recovering.clone().unwrap();
    assert_eq!((recovering.attempt, recovering.root_fire_id), (1, Some(first.fire_id.clone())));
    assert_eq!(recovering.scheduled_fire_time, at(NOW));

    // The work dies again, elsewhere.
    cluster.advance(WINDOW + SECOND);
    let c = cluster.node("C");
    let third = c.fire_one();
    let recovering = third.recovering.clone().unwrap();
    assert_eq!((recovering.attempt, recovering.root_fire_id), (2, Some(first.fire_id)));
    assert_eq!(c.complete(&third), CompletionOutcome::Recorded);
    assert_eq!(cluster.state("t"), "-");
    assert!(!cluster.has_job("a"));
    assert_eq!(cluster.snapshot().recoveries, []);
}

on_each_database!(one_shots_are_revived_where_the_settings_say_so);
/// As in db-scheduler, whatever the job requests; a policy goes before it.
fn one_shots_are_revived_where_the_settings_say_so() {
    for (policy, revives) in [(JobPolicy::new(), true), (JobPolicy::new().on_dead(OnDead::NextFire), false)] {
        let cluster = Cluster::with(open(), |settings| settings.recovery.revive_one_shots = true);
        let a = cluster.node("A");
        cluster.schedule(job("a").policy(policy), [once("t", "a", NOW).data("mine", "kept"), minutely("u", "a", NOW)]);
        let fired = a.acquire().fired;
        let b = die(&cluster);
        assert_eq!(cluster.recovery_triggers(), [], "a trigger with fires to come goes on as it was");
        assert_eq!(cluster.next("u"), Some(NOW + MINUTE));
        if !revives {
            assert_eq!(cluster.state("t"), "-");
            continue;
        }
        let again = b.fire_one();
        let first = fired.iter().find(|bundle| bundle.trigger.key() == &trigger_key("t")).unwrap();
        let recovering = again.recovering.clone().unwrap();
        assert_eq!((recovering.attempt, recovering.root_fire_id), (1, Some(first.fire_id.clone())));
        assert_eq!(again.trigger.data().text("mine"), Some("kept"));
        assert_eq!(b.complete(&again), CompletionOutcome::Recorded);
        assert_eq!((cluster.state("t").as_str(), cluster.snapshot().recoveries.len()), ("-", 0));
    }
}

on_each_database!(without_that_setting_a_one_shot_is_lost_with_its_node);
fn without_that_setting_a_one_shot_is_lost_with_its_node() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    a.fire_one();
    die(&cluster);
    assert_eq!((cluster.state("t").as_str(), cluster.recovery_triggers().len()), ("-", 0));
}

on_each_database!(a_trigger_with_fires_to_come_gets_a_recovery_trigger_instead);
/// A trigger that goes on keeps its schedule, whatever becomes of one of its fires.
fn a_trigger_with_fires_to_come_gets_a_recovery_trigger_instead() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let policy = JobPolicy::new().on_dead(OnDead::Revive);
    cluster.schedule(recoverable("a").policy(policy), [minutely("t", "a", NOW)]);
    a.fire_one();
    let b = die(&cluster);
    assert_eq!(cluster.next("t"), Some(NOW + MINUTE));
    assert_eq!(cluster.recovery_triggers().len(), 1);
    b.complete(&b.fire_one());
}

on_each_database!(next_fire_only_gives_the_work_up);
fn next_fire_only_gives_the_work_up() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let policy = JobPolicy::new().on_dead(OnDead::NextFire);
    cluster.schedule(recoverable("a").policy(policy), [once("t", "a", NOW)]);
    let fire = a.fire_one();
    cluster.advance(WINDOW + SECOND);
    let mut b = cluster.stranger("B");
    let recovered = b.recovers();
    assert_eq!(recovered[0].lost, [fire.fire_id]);
    assert_eq!((cluster.state("t").as_str(), cluster.has_job("a")), ("-", false));
}

/// Says the same of every fire, and remembers what it was asked.
struct Says(Option<DeadFireDecision>, Mutex<Vec<DeadFire>>);

impl DeadFireHandler for Says {
    fn decide(&self, fire: &DeadFire) -> Option<DeadFireDecision> {
        self.1.lock().unwrap().push(fire.clone());
        self.0
    }
}

/// A cluster in which a fire of A has died and B, with this handler, has recovered it.
fn decided(cluster: &Cluster, decision: Option<DeadFireDecision>, trigger: TriggerBuilder) -> (Node, DeadFire) {
    let a = cluster.node("A");
    let policy = JobPolicy::new().on_dead(OnDead::Ask);
    cluster.schedule(recoverable("a").policy(policy).data("of", "job").data("job", "data"), [trigger]);
    let fire = a.fire_one();
    cluster.advance(WINDOW + SECOND);
    let mut b = cluster.stranger("B");
    let says = Arc::new(Says(decision, Mutex::default()));
    b.store = b.store.clone().with_dead_fire_handler(Arc::clone(&says) as _);
    b.check_in();
    let asked = says.1.lock().unwrap().pop().unwrap();
    assert_eq!((&asked.fire_id, asked.instance.as_str(), asked.job_type.as_str()), (&fire.fire_id, "A", "work"));
    (b, asked)
}

on_each_database!(a_handler_may_put_the_work_off);
/// DS-34: the user's handler decides, in the recovery.
fn a_handler_may_put_the_work_off() {
    let cluster = Cluster::new(open());
    let later = DeadFireDecision::RecoverAfter(Duration::from_secs(300));
    let (b, asked) = decided(&cluster, Some(later), once("t", "a", NOW).data("mine", "seen").data("of", "trigger"));
    assert_eq!((asked.attempt, asked.scheduled_fire_time), (0, at(NOW)));
    let seen = ["mine", "of", "job"].map(|key| asked.data.text(key));
    assert_eq!(seen, [Some("seen"), Some("trigger"), Some("data")], "as the run saw them");
    assert_eq!(b.acquire().fired.len(), 0);
    let trigger = cluster.recovery_trigger();
    assert_eq!(trigger.next_fire_time().map(|t| t.timestamp_millis()), Some(cluster.now() + 5 * MINUTE));
    cluster.advance(5 * MINUTE);
    let fire = b.fire_one();
    assert_eq!(fire.recovering.as_ref().map(|r| r.scheduled_fire_time), Some(at(NOW)));
    b.complete(&fire);
}

on_each_database!(a_handler_may_give_the_work_up_or_revive_it_or_have_no_say);
fn a_handler_may_give_the_work_up_or_revive_it_or_have_no_say() {
    for (decision, expected) in [
        (Some(DeadFireDecision::NextFire), "-"),
        (Some(DeadFireDecision::Revive), "WAITING"),
        (Some(DeadFireDecision::Recover), "-"),
        (None, "-"),
    ] {
        let cluster = Cluster::new(open());
        decided(&cluster, decision, once("t", "a", NOW));
        assert_eq!(cluster.state("t"), expected, "{decision:?}");
        let recovers = matches!(decision, Some(DeadFireDecision::Recover) | None);
        assert_eq!(cluster.recovery_triggers().len(), usize::from(recovers), "{decision:?}");
    }
}

on_each_database!(a_handler_may_set_the_trigger_to_error);
fn a_handler_may_set_the_trigger_to_error() {
    let cluster = Cluster::new(open());
    decided(&cluster, Some(DeadFireDecision::Error), minutely("t", "a", NOW));
    assert_eq!(cluster.state("t"), "ERROR");
    assert_eq!(cluster.recovery_triggers(), []);
}

on_each_database!(a_node_gives_up_a_fire_of_its_own_at_once);
/// DS-115: a worker that died is not waited for.
fn a_node_gives_up_a_fire_of_its_own_at_once() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    let fire = a.fire_one();
    let recovered = a.store.upkeep().abandon(&a.owner(), std::slice::from_ref(&fire.fire_id)).unwrap();
    assert_eq!(recovered.recovery_triggers.len(), 1);
    let again = a.fire_one();
    assert_eq!(a.complete(&fire), CompletionOutcome::Fenced);
    assert_eq!(a.complete(&again), CompletionOutcome::Recorded);
}

on_each_database!(two_dead_fires_of_one_trigger_are_both_done_again);
/// Two fires of one trigger die together; only one of them can have the trigger, and each is done
/// again.
fn two_dead_fires_of_one_trigger_are_both_done_again() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    let twice = once("t", "a", NOW).schedule(carnelian::SimpleSchedule::every(Duration::from_secs(10)).repeat(1));
    cluster.schedule(recoverable("a").policy(JobPolicy::new().on_dead(OnDead::Revive)), [twice]);
    a.fire_one();
    cluster.advance(10 * SECOND);
    a.check_in();
    a.fire_one();
    let b = die(&cluster);
    assert_eq!((cluster.state("t").as_str(), cluster.recovery_triggers().len()), ("WAITING", 1));
    let fires = b.acquire().fired;
    assert_eq!(fires.len(), 2, "{fires:?}");
    for fire in &fires {
        assert_eq!(b.complete(fire), CompletionOutcome::Recorded);
    }
}

on_each_database!(what_takes_the_place_of_a_revived_trigger_has_no_past);
/// A trigger that was revived is put in another's place before it fires: the new one has no past.
fn what_takes_the_place_of_a_revived_trigger_has_no_past() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let revived = || recoverable("a").policy(JobPolicy::new().on_dead(OnDead::Revive));
    cluster.schedule(revived(), [once("t", "a", NOW)]);
    a.fire_one();
    let b = die(&cluster);
    let again = once("t", "a", cluster.now()).build().unwrap();
    cluster.store.catalogue().schedule(vec![(revived().build().unwrap(), vec![again])], true).unwrap();
    let fire = b.fire_one();
    assert_eq!((fire.recovering.as_ref(), fire.rerun.as_ref()), (None, None));
    b.complete(&fire);
}

on_each_database!(a_trigger_that_might_be_left_out_is_not_revived);
/// A time that would be left out if it came late once more is not made due again: a recovery
/// trigger never is left out.
fn a_trigger_that_might_be_left_out_is_not_revived() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let lazy = once("t", "a", NOW).misfire(carnelian::MisfireInstruction::RescheduleNextWithRemainingCount);
    cluster.schedule(recoverable("a").policy(JobPolicy::new().on_dead(OnDead::Revive)), [lazy]);
    a.fire_one();
    let b = die(&cluster);
    assert_eq!(cluster.recovery_triggers().len(), 1);
    b.complete(&b.fire_one());
}

on_each_database!(no_note_is_too_long_for_a_beat);
/// A job may say anything of its progress: all of it can be stored.
fn no_note_is_too_long_for_a_beat() {
    let cluster = Cluster::new(open());
    let mut a = Beating::new(cluster.node("A"));
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let fire = a.node.fire_one();
    let progress = Progress { done: 1, total: None, note: Some("ü".repeat(250)) };
    assert_eq!(
        a.pass(&[FireHeartbeat {
            fire_id: fire.fire_id.clone(),
            limit: LIMIT,
            progress: Some(progress),
            silence: None,
            silence_limit: None
        }])
        .lost
        .len(),
        0
    );
    let who = format!("{}\0{}", "ada".repeat(100), "bob".repeat(100));
    assert_eq!(cluster.store.upkeep().request_cancels(std::slice::from_ref(&fire.fire_id), &who).unwrap(), 1);
    a.node.complete(&fire);
}

on_each_database!(a_single_beat_keeps_its_fire_alive);
/// DS-18: a beat by hand is a beat, and its answer is whether the fire is still the node's.
fn a_single_beat_keeps_its_fire_alive() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), Beating::new(cluster.node("B")));
    cluster.schedule(recoverable("a"), [once("t", "a", NOW)]);
    let fire = a.fire_one();
    let progress = Some(Progress { done: 1, total: None, note: None });
    let silence = Some(Duration::ZERO);
    let beat = FireHeartbeat {
        fire_id: fire.fire_id.clone(),
        limit: LIMIT,
        progress: progress.clone(),
        silence,
        silence_limit: None,
    };
    for _ in 0..6 {
        a.store.upkeep().heartbeat_one(&a.owner(), &beat).unwrap();
        let shown = cluster.store.upkeep().fired_triggers().unwrap().remove(0).heartbeat.unwrap();
        assert_eq!((shown.time, shown.limit, shown.progress), (at(cluster.now()), LIMIT, progress.clone()));
        assert_eq!(shown.progress_time, Some(at(cluster.now())));
        assert_eq!(b.beat(&[]), HeartbeatPass::default());
        cluster.advance(10 * SECOND);
    }
    let ids = std::slice::from_ref(&fire.fire_id);
    assert_eq!(a.store.upkeep().fires_gone(&a.owner(), ids).unwrap(), Vec::<String>::new());
    for _ in 0..3 {
        cluster.advance(10 * SECOND);
        b.beat(&[]);
    }
    assert_eq!(a.store.upkeep().fires_gone(&a.owner(), ids).unwrap(), ids);
    assert!(a.store.upkeep().heartbeat_one(&a.owner(), &beat).unwrap_err().is_fenced());
}
