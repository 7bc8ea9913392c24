//! The load of a cluster as monitors see it.

use super::*;
use std::time::Duration;

const LATE: Duration = Duration::from_secs(5);

on_each_database!(the_load_counts_what_should_have_fired_and_who_could_fire_it);
/// DS-71, DS-74, DS-81: overdue is what waits or is reserved although its time is past, and nothing
/// else.
fn the_load_counts_what_should_have_fired_and_who_could_fire_it() {
    let cluster = Cluster::new(open());
    let nobody = cluster.store.upkeep().cluster_load(LATE, 100).unwrap();
    assert_eq!((nobody.now_ms, nobody.overdue, nobody.oldest_overdue_ms), (NOW, 0, None));
    assert_eq!((nobody.instances.as_slice(), nobody.longest_serving), (&[][..], None));

    let mut a = cluster.node("B");
    let _b = cluster.node("A");
    cluster.schedule(
        job("j"),
        [
            once("late", "j", NOW - 5 * SECOND - 1),
            once("later", "j", NOW - 40 * SECOND),
            once("in time", "j", NOW - 5 * SECOND),
            once("to come", "j", NOW + MINUTE),
            once("paused", "j", NOW - 10 * SECOND),
            once("held", "j", NOW + 20 * SECOND),
        ],
    );
    cluster.store.catalogue().pause_triggers(&[trigger_key("paused")]).unwrap();
    let load = cluster.store.upkeep().cluster_load(LATE, 100).unwrap();
    assert_eq!((load.overdue, load.oldest_overdue_ms), (2, Some(NOW - 40 * SECOND)));
    assert_eq!(cluster.store.upkeep().cluster_load(LATE, 1).unwrap().overdue, 1, "no more are counted than asked for");

    let acquired = a.acquire();
    assert_eq!((names(&acquired.fired), acquired.reserved.len()), (vec!["later", "late", "in time"], 1));
    let load = cluster.store.upkeep().cluster_load(LATE, 100).unwrap();
    assert_eq!(load.overdue, 0);
    let seen = |load: &carnelian::store::ClusterLoad| -> Vec<(String, bool, usize)> {
        load.instances.iter().map(|i| (i.instance.clone(), i.alive, i.running)).collect()
    };
    assert_eq!(seen(&load), [("A".to_owned(), true, 0), ("B".to_owned(), true, 3)]);
    assert_eq!(load.longest_serving.as_deref(), Some("B"), "it joined first");

    // Nobody fires what is reserved, and the first of the nodes is silent.
    cluster.advance(WINDOW - SECOND);
    a.check_in();
    cluster.advance(10 * SECOND);
    let load = cluster.store.upkeep().cluster_load(LATE, 100).unwrap();
    assert_eq!((load.overdue, load.oldest_overdue_ms), (1, None));
    assert_eq!(seen(&load), [("A".to_owned(), false, 0), ("B".to_owned(), true, 3)]);
    for bundle in &acquired.fired {
        a.complete(bundle);
    }
    a.store.firing().release(&acquired.reserved).unwrap();
}

on_each_database!(triggers_are_counted_by_state);
/// DS-74.
fn triggers_are_counted_by_state() {
    let cluster = Cluster::new(open());
    assert!(cluster.store.upkeep().trigger_states().unwrap().is_empty());
    cluster.schedule(job("j"), [once("a", "j", NOW + MINUTE), once("b", "j", NOW + MINUTE), once("c", "j", NOW)]);
    cluster.store.catalogue().pause_triggers(&[trigger_key("c")]).unwrap();
    let states = cluster.store.upkeep().trigger_states().unwrap();
    let states: Vec<_> = states.iter().map(|(state, n)| (state.as_str(), *n)).collect();
    assert_eq!(states, [("PAUSED", 1), ("WAITING", 2)]);
}

on_each_database!(the_load_counts_parked_work_until_it_is_retried_or_dropped);
/// PA-08: what is parked, as long as it is, up to a bound.
fn the_load_counts_parked_work_until_it_is_retried_or_dropped() {
    use carnelian::placement::Strategy;
    use carnelian::recovery::Parked;
    use carnelian::store::row::Selection;
    use carnelian::{JobPolicy, TriggerState};
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    let policy = JobPolicy::new().strategy(Strategy::Broadcast);
    let large = || "x".repeat(65_250);
    let ticks = ["t1", "t2", "t3"].map(|name| minutely(name, "a", NOW).data("mine", large()));
    cluster.schedule(job("a").policy(policy), ticks);
    let brought = a.acquire();
    assert_eq!(brought.parked, cluster.store.catalogue().parked().unwrap(), "whoever parks a tick is told of it");
    assert!(brought.unreadable.is_empty(), "what is parked is left alone by itself: {:?}", brought.unreadable);
    let parked = |most: usize| cluster.store.upkeep().cluster_load(LATE, most).unwrap().parked;
    assert_eq!((parked(100), parked(2)), (3, 2));
    assert!(cluster.store.catalogue().retry_parked(&trigger_key("t1")).unwrap());
    assert_eq!(parked(100), 2);
    assert!(cluster.store.catalogue().delete_parked(&trigger_key("t2")).unwrap());
    assert_eq!(parked(100), 1);
    // A person who resets the trigger has looked at it; the row is left for the audit.
    cluster.tamper(|s| {
        let moves = &[(TriggerState::Error, TriggerState::Waiting)];
        s.change_states(Selection::Triggers(&[trigger_key("t3")]), moves, false).map(drop)
    });
    assert_eq!((parked(100), cluster.store.catalogue().parked().unwrap()), (0, Vec::<Parked>::new()));
    cluster.store.upkeep().audit().unwrap();
}

on_each_database!(the_load_says_who_takes_work);
/// A node that takes no work is seen with the load, however many things keep it from work.
fn the_load_says_who_takes_work() {
    use carnelian::node::{NodeActivity, NodeInfo, NodeReport, NodeRole};
    use carnelian::placement::BlacklistEntry;
    let cluster = Cluster::new(open());
    let reporting = |name: &str, change: &dyn Fn(&mut NodeInfo)| {
        let mut info = NodeInfo::default();
        (info.node_name, info.activity) = (format!("rack-{name}"), NodeActivity::Firing);
        change(&mut info);
        let mut node = cluster.stranger(name);
        node.me.node = Some(NodeReport { info, uptime: LATE });
        assert!(node.check_in().registered, "{name}");
    };
    reporting("A", &|_| {});
    reporting("B", &|info| info.role = NodeRole::Observer);
    reporting("C", &|info| info.activity = NodeActivity::Standby);
    reporting("D", &|_| {});
    reporting("E", &|_| {});
    reporting("F", &|_| {});
    cluster.node("G");
    cluster.node("H");
    cluster.store.placement().drain("D", false, "test").unwrap();
    cluster.store.placement().blacklist(&BlacklistEntry::new("rack-D"), "test").unwrap();
    cluster
        .store
        .placement()
        .blacklist(&BlacklistEntry::new("rack-E").lasting(Duration::from_secs(60)), "test")
        .unwrap();
    cluster.store.placement().blacklist(&BlacklistEntry::new("H"), "test").unwrap();
    let working = || -> String {
        let load = cluster.store.upkeep().cluster_load(LATE, 100).unwrap();
        let names: Vec<&str> = load.instances.iter().map(|node| node.instance.as_str()).collect();
        assert_eq!(names.join(""), "ABCDEFGH", "each is there once");
        let seen = cluster.store.upkeep().instances().unwrap();
        for (one, other) in load.instances.iter().zip(seen) {
            assert_eq!((one.takes_work, one.alive), (other.takes_work, other.alive), "{}", one.instance);
        }
        load.instances.iter().filter(|node| node.takes_work).map(|node| node.instance.as_str()).collect()
    };
    assert_eq!(working(), "AFG");
    cluster.advance(MINUTE);
    assert_eq!(working(), "AEFG", "its time is over");
}

on_each_database!(a_look_takes_one_statement_and_a_count_one);
/// With a look each 15 s and a count each minute, a node's monitor sends a statement in twelve
/// seconds.
fn a_look_takes_one_statement_and_a_count_one() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("j"), [once("a", "j", NOW - MINUTE)]);
    let _node = cluster.node("A");
    let statements = |look: &dyn Fn()| {
        let before = cluster.store.database().counts();
        look();
        let after = cluster.store.database().counts();
        assert_eq!(after.commits, before.commits, "it only reads");
        after.statements - before.statements
    };
    let look = statements(&|| drop(cluster.store.upkeep().cluster_load(LATE, 100).unwrap()));
    let count = statements(&|| drop(cluster.store.upkeep().trigger_states().unwrap()));
    // In memory it is maps that are counted.
    let most = if cluster.store.database().describe().contains("memory") { 2 } else { 1 };
    assert!(look <= most && count == 1, "{look} and {count}");
}
