//! The load of a cluster as monitors see it.

use super::*;
use std::time::Duration;

const LATE: Duration = Duration::from_secs(5);

/// DS-71, DS-74, DS-81: overdue is what waits or is reserved although its time is past, and nothing else.
#[test]
fn the_load_counts_what_should_have_fired_and_who_could_fire_it() {
    let cluster = Cluster::new(open);
    let nobody = cluster.store.cluster_load(LATE, 100).unwrap();
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
    cluster.store.pause_triggers(&[trigger_key("paused")]).unwrap();
    let load = cluster.store.cluster_load(LATE, 100).unwrap();
    assert_eq!((load.overdue, load.oldest_overdue_ms), (2, Some(NOW - 40 * SECOND)));
    assert_eq!(cluster.store.cluster_load(LATE, 1).unwrap().overdue, 1, "no more are counted than asked for");

    let acquired = a.acquire();
    assert_eq!((names(&acquired.fired), acquired.reserved.len()), (vec!["later", "late", "in time"], 1));
    let load = cluster.store.cluster_load(LATE, 100).unwrap();
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
    let load = cluster.store.cluster_load(LATE, 100).unwrap();
    assert_eq!((load.overdue, load.oldest_overdue_ms), (1, None));
    assert_eq!(seen(&load), [("A".to_owned(), false, 0), ("B".to_owned(), true, 3)]);
    for bundle in &acquired.fired {
        a.complete(bundle);
    }
    a.store.release(&acquired.reserved).unwrap();
}

/// DS-74.
#[test]
fn triggers_are_counted_by_state() {
    let cluster = Cluster::new(open);
    assert!(cluster.store.trigger_states().unwrap().is_empty());
    cluster.schedule(job("j"), [once("a", "j", NOW + MINUTE), once("b", "j", NOW + MINUTE), once("c", "j", NOW)]);
    cluster.store.pause_triggers(&[trigger_key("c")]).unwrap();
    let states = cluster.store.trigger_states().unwrap();
    let states: Vec<_> = states.iter().map(|(state, n)| (state.as_str(), *n)).collect();
    assert_eq!(states, [("PAUSED", 1), ("WAITING", 2)]);
}

/// With a look each 15 s and a count each minute, a node's monitor sends less than one statement in
/// three seconds.
#[test]
fn a_look_takes_four_statements_at_most_and_a_count_one() {
    let cluster = Cluster::new(open);
    cluster.schedule(job("j"), [once("a", "j", NOW - MINUTE)]);
    let _node = cluster.node("A");
    let statements = |look: &dyn Fn()| {
        let before = cluster.store.database().counts();
        look();
        let after = cluster.store.database().counts();
        assert_eq!(after.commits, before.commits, "it only reads");
        after.statements - before.statements
    };
    let look = statements(&|| drop(cluster.store.cluster_load(LATE, 100).unwrap()));
    let count = statements(&|| drop(cluster.store.trigger_states().unwrap()));
    assert!(look <= 4 && count == 1, "{look} and {count}");
}
