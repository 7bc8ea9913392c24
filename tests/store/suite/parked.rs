//! Parking: work that cannot go on is set aside by itself, and the rest goes on.

use super::*;
use carnelian::placement::Strategy;
use carnelian::store::{AuditPass, Checkin, CompletionInstruction, Recovered};
use carnelian::{JobPolicy, TriggerKey};

/// B finds the only node that is dead, and recovers as much of it as it may in one check-in.
fn convict(cluster: &Cluster, b: &mut Node) -> Recovered {
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let mut recovered = b.recovers();
    assert_eq!(recovered.len(), 1, "{recovered:?}");
    cluster.check();
    recovered.pop().unwrap()
}

/// A new node fires what is due, and dies of it.
fn dies(cluster: &Cluster, b: &mut Node, name: &str) -> Recovered {
    let victim = cluster.node(name);
    victim.fire_one();
    convict(cluster, b)
}

on_each_database!(work_that_kills_its_nodes_is_parked_after_the_limit);
/// PA-08, PA-52: work whose run kills its node does not go round for ever.
fn work_that_kills_its_nodes_is_parked_after_the_limit() {
    let cluster = Cluster::with(open(), |settings| settings.recovery.max_takeovers = 3);
    let mut b = cluster.node("B");
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW).data("mine", "kept")]);
    for n in 1..=3 {
        let recovered = dies(&cluster, &mut b, &format!("A{n}"));
        assert_eq!((recovered.recovery_triggers.len(), recovered.parked.len()), (1, 0), "{n}");
    }
    let recovered = dies(&cluster, &mut b, "A4");
    assert_eq!((recovered.recovery_triggers.len(), recovered.lost.len()), (0, 0));
    let parked = cluster.store.catalogue().parked().unwrap();
    assert_eq!(parked, recovered.parked);
    assert_eq!((parked.len(), parked[0].takeovers, &parked[0].job), (1, 3, &job_key("a")));
    assert!(parked[0].reason.contains("taken over 3 times"), "{}", parked[0].reason);
    assert_eq!(parked[0].since, at(cluster.now()));
    assert_eq!(cluster.state_of(&parked[0].key), "ERROR");
    assert!(cluster.has_job("a"), "what is parked is kept with its job");
    assert!(b.acquire().fired.is_empty());

    assert!(cluster.store.catalogue().retry_parked(&parked[0].key).unwrap());
    assert!(!cluster.store.catalogue().retry_parked(&parked[0].key).unwrap());
    assert!(cluster.store.catalogue().parked().unwrap().is_empty());
    let last = cluster.node("A5").fire_one();
    assert_eq!(last.trigger.data().text("mine"), Some("kept"));
    assert_eq!(last.recovering.as_ref().map(|from| from.trigger.clone()), Some(trigger_key("t")));
    assert_eq!(convict(&cluster, &mut b).recovery_triggers.len(), 1, "it is counted anew");
    b.complete(&b.fire_one());
    assert!(!cluster.has_job("a"));
}

on_each_database!(a_job_says_how_often_its_work_is_taken_over);
/// A job may say how often, and for ever.
fn a_job_says_how_often_its_work_is_taken_over() {
    let cluster = Cluster::with(open(), |settings| settings.recovery.max_takeovers = 1);
    let mut b = cluster.node("B");
    let policy = JobPolicy::new().max_takeovers(0);
    cluster.schedule(job("a").requests_recovery(true).policy(policy), [once("t", "a", NOW)]);
    for n in 1..=3 {
        assert_eq!(dies(&cluster, &mut b, &format!("A{n}")).recovery_triggers.len(), 1, "{n}");
    }
    b.complete(&b.fire_one());
    let policy = JobPolicy::new().max_takeovers(1);
    cluster.schedule(job("b").requests_recovery(true).policy(policy), [once("u", "b", cluster.now())]);
    assert_eq!(dies(&cluster, &mut b, "B1").recovery_triggers.len(), 1);
    let parked = dies(&cluster, &mut b, "B2").parked;
    assert_eq!((parked.len(), parked[0].takeovers), (1, 1));
    assert!(cluster.store.catalogue().delete_parked(&parked[0].key).unwrap());
    assert!(!cluster.store.catalogue().delete_parked(&parked[0].key).unwrap());
    assert!(!cluster.has_job("b") && cluster.recovery_triggers().is_empty());
    assert!(cluster.store.catalogue().parked().unwrap().is_empty());
}

on_each_database!(a_recovery_that_cannot_be_built_is_parked_and_the_rest_recovered);
/// QZ-69: data that leave no room for the keys of a recovery stopped the recovery of the node, and
/// every node's start.
fn a_recovery_that_cannot_be_built_is_parked_and_the_rest_recovered() {
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    let large = "x".repeat(65_100);
    cluster.schedule(job("a").requests_recovery(true), [once("big", "a", NOW).data("mine", large.clone())]);
    cluster.schedule(job("b").requests_recovery(true), [once("small", "b", NOW)]);
    assert_eq!(a.acquire().fired.len(), 2);
    let recovered = convict(&cluster, &mut b);
    assert_eq!((recovered.recovery_triggers.len(), recovered.parked.len()), (1, 1));
    assert_eq!((&recovered.parked[0].job, recovered.parked[0].takeovers), (&job_key("a"), 0));
    assert!(recovered.parked[0].reason.contains("cannot be built"), "{}", recovered.parked[0].reason);
    assert_eq!(b.fire_one().job.key(), &job_key("b"));

    cluster.node("C"); // others start
    assert!(cluster.store.catalogue().retry_parked(&recovered.parked[0].key).unwrap());
    assert_eq!(b.fire_one().trigger.data().text("mine"), Some(large.as_str()));
}

on_each_database!(a_node_starts_over_left_overs_that_cannot_be_built);
/// QZ-69: a node starts under the name of a dead one with such a fire.
fn a_node_starts_over_left_overs_that_cannot_be_built() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a").requests_recovery(true), [once("big", "a", NOW).data("mine", "x".repeat(65_100))]);
    a.fire_one();
    drop(a);
    cluster.advance(WINDOW + SECOND);
    let mut again = cluster.stranger("A");
    let checkin = again.check_in();
    assert!(checkin.registered);
    assert_eq!(checkin.recovered[0].parked.len(), 1);
}

on_each_database!(a_tick_that_cannot_be_spread_is_parked_and_the_rest_is_fired);
/// LT-13: a tick whose parts cannot be built kept every node from taking anything.
fn a_tick_that_cannot_be_spread_is_parked_and_the_rest_is_fired() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let policy = JobPolicy::new().strategy(Strategy::Broadcast);
    cluster.schedule(job("a").policy(policy), [minutely("big", "a", NOW).data("mine", "x".repeat(65_250))]);
    cluster.schedule(job("b"), [once("small", "b", NOW)]);
    let acquisition = a.acquire();
    assert_eq!(names(&acquisition.fired), ["small"]);
    let parked = cluster.store.catalogue().parked().unwrap();
    assert_eq!(parked.iter().map(|work| work.key.clone()).collect::<Vec<TriggerKey>>(), [trigger_key("big")]);
    assert!(parked[0].reason.contains("cannot be built"), "{}", parked[0].reason);
    assert_eq!(cluster.state("big"), "ERROR");
    // A person who resets the trigger has looked at it.
    assert!(cluster.store.catalogue().reset_from_error(&trigger_key("big")).unwrap());
    assert!(cluster.store.catalogue().parked().unwrap().is_empty());
    // In error again, for another reason, it is not parked.
    cluster.store.catalogue().add_job(&job("a").durable(true).build().unwrap(), true).unwrap();
    a.complete_with(&a.fire_one(), CompletionInstruction::SetTriggerError);
    assert_eq!((cluster.state("big").as_str(), cluster.store.catalogue().parked().unwrap()), ("ERROR", Vec::new()));
    assert_eq!(cluster.store.upkeep().audit().unwrap(), AuditPass::default());
}

on_each_database!(a_node_with_many_fires_is_recovered_in_pages);
/// QZ-61: a node with many fires is recovered in pages, with a check-in before each.
fn a_node_with_many_fires_is_recovered_in_pages() {
    const FIRES: usize = 1_100;
    let cluster = Cluster::new(open());
    let (a, mut b) = (cluster.node("A"), cluster.node("B"));
    let work = |n: usize| {
        let name = format!("j{n:04}");
        let trigger = once(&name, &name, NOW).build().unwrap();
        (job(&name).requests_recovery(true).build().unwrap(), vec![trigger])
    };
    cluster.store.catalogue().schedule((0..FIRES).map(work).collect(), false).unwrap();
    assert_eq!(a.try_acquire(FIRES).unwrap().fired.len(), FIRES);
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let first = b.recovers().pop().unwrap();
    assert_eq!((first.recovery_triggers.len(), first.has_more), (500, true));
    let mut pages = vec![500];
    while pages.iter().sum::<usize>() < FIRES {
        cluster.advance(100);
        let before = b.me.last_checkin;
        let checkin = b.check_in();
        assert!(b.me.last_checkin > before, "it checks in between the pages");
        assert_eq!(checkin.recovered.len(), 1, "{pages:?}");
        let page = &checkin.recovered[0];
        assert_eq!((page.last_checkin, &*page.instance), (None, "A"));
        assert_eq!(checkin.next_suspicion == Some(std::time::Duration::ZERO), page.has_more);
        pages.push(page.recovery_triggers.len());
    }
    assert_eq!(pages, [500, 500, 100]);
    cluster.advance(100);
    assert!(b.recovers().is_empty());
    let mut names: Vec<_> = cluster.recovery_triggers();
    names.dedup();
    assert_eq!(names.len(), FIRES);
}

/// A node of this name, which is dead from now on, with `fires` recoverable fires.
fn dead_with(cluster: &Cluster, name: &str, fires: usize) {
    let node = cluster.node(name);
    let work = |n: usize| {
        let name = format!("{name}{n:04}");
        let trigger = once(&name, &name, cluster.now()).build().unwrap();
        (job(&name).requests_recovery(true).build().unwrap(), vec![trigger])
    };
    cluster.store.catalogue().schedule((0..fires).map(work).collect(), false).unwrap();
    assert_eq!(node.try_acquire(fires).unwrap().fired.len(), fires);
}

/// The nodes whose work a check-in recovered, each with the number of fires.
fn turns(checkin: &Checkin) -> Vec<(&str, usize)> {
    checkin.recovered.iter().map(|done| (&*done.instance, done.recovery_triggers.len())).collect()
}

on_each_database!(a_dead_node_with_many_fires_holds_up_no_other);
/// QZ-61: of several dead nodes each has its turn, however many fires another had.
fn a_dead_node_with_many_fires_holds_up_no_other() {
    let cluster = Cluster::new(open());
    let mut b = cluster.node("N");
    dead_with(&cluster, "A", 1_600);
    dead_with(&cluster, "B", 600);
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let mut seen = Vec::new();
    for _ in 0..4 {
        let checkin = b.check_in();
        seen.push(turns(&checkin).iter().map(|(name, fires)| format!("{name}{fires}")).collect::<Vec<_>>().join(" "));
        assert_eq!(checkin.next_suspicion == Some(std::time::Duration::ZERO), seen.len() < 4, "{seen:?}");
        cluster.advance(100);
    }
    assert_eq!(seen, ["A500 B500", "A500 B100", "A500", "A100"]);
    assert_eq!(cluster.recovery_triggers().len(), 2_200);
}

#[cfg(feature = "test-util")]
on_each_database!(a_check_in_recovers_others_for_a_quarter_of_its_interval);
/// A check-in does not wait for the pages of others if one page takes long, and goes on with them
/// the next time.
#[cfg(feature = "test-util")]
fn a_check_in_recovers_others_for_a_quarter_of_its_interval() {
    use std::sync::Arc;
    let cluster = Cluster::new(open());
    let mut b = cluster.node("N");
    for (name, fires) in [("A", 501), ("B", 1), ("C", 1)] {
        dead_with(&cluster, name, fires);
    }
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let slow = |ms: i64| {
        let clock = Arc::clone(&cluster.clock);
        cluster.opened.database.plan().meanwhile("recover a failed instance", 1, move || clock.advance(ms));
    };
    slow(3_750);
    assert_eq!(turns(&b.check_in()), [("A", 500)]);
    slow(3_749);
    let checkin = b.check_in();
    assert_eq!(turns(&checkin), [("B", 1), ("C", 1), ("A", 1)]);
    assert_ne!(checkin.next_suspicion, Some(std::time::Duration::ZERO), "nothing is left");
}

#[cfg(feature = "test-util")]
on_each_database!(a_failure_while_one_is_recovered_stops_no_other);
/// A node that cannot be recovered holds up no other, and nobody's check-in.
#[cfg(feature = "test-util")]
fn a_failure_while_one_is_recovered_stops_no_other() {
    use carnelian::FailureClass;
    use carnelian::store::faults::Fault;
    use std::sync::Arc;
    let cluster = Cluster::new(open());
    let nodes = ["A1", "A2"].map(|name| cluster.node(name));
    for (n, node) in nodes.iter().enumerate() {
        let name = format!("j{n}");
        cluster.schedule(job(&name).requests_recovery(true), [once(&name, &name, NOW)]);
        node.fire_one();
    }
    let mut b = cluster.node("B");
    cluster.advance(10 * SECOND);
    b.check_in();
    cluster.advance(12_501);
    let plan = Arc::clone(&cluster.opened.database);
    let fail = move || plan.plan().plan(1, Fault::Statement(FailureClass::Permanent));
    cluster.opened.database.plan().meanwhile("recover a failed instance", 4, fail);
    let checkin = b.check_in();
    assert_eq!(checkin.unrecovered.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["A1"]);
    assert_eq!(checkin.recovered.iter().map(|r| r.instance.as_str()).collect::<Vec<_>>(), ["A2"]);
    assert!(checkin.next_suspicion.unwrap() <= std::time::Duration::from_secs(1));
    cluster.advance(SECOND);
    assert_eq!(b.recovers().len(), 1);
    assert_eq!(b.acquire().fired.len(), 2);
}
