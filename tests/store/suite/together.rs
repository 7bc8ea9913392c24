//! Scheduling together: threads that store a trigger at the same time share transactions, and get an answer each.

use super::*;
use carnelian::{Error, GroupMatcher, Trigger};
use std::sync::Barrier;

/// Stores these triggers by a thread each, all at once; their answers in order.
fn add_at_once(cluster: &Cluster, triggers: Vec<Trigger>) -> Vec<carnelian::Result<Trigger>> {
    let ready = Barrier::new(triggers.len());
    std::thread::scope(|scope| {
        let add = |trigger: Trigger| {
            let ready = &ready;
            scope.spawn(move || {
                ready.wait();
                cluster.store.add_trigger(trigger, false)
            })
        };
        let threads: Vec<_> = triggers.into_iter().map(add).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn what_is_wrong_with_one_trigger_harms_no_other() {
    let cluster = Cluster::new(open);
    cluster.schedule(job("a").durable(true), [once("taken", "a", NOW)]);
    for round in 0..10 {
        let name = |what: &str| format!("{what}-{round}");
        let start = NOW + MINUTE;
        let asked = [
            once(&name("t"), "a", start),
            minutely(&name("u"), "a", start),
            once(&name("twice"), "a", start),
            once(&name("twice"), "a", start),
            once("taken", "a", start),
            once(&name("no-job"), "nobody", start),
            once(&name("no-calendar"), "a", start).calendar("nowhere"),
            once(&name("v"), "a", start),
        ];
        let asked: Vec<Trigger> = asked.into_iter().map(|trigger| trigger.build().unwrap()).collect();
        let answers = add_at_once(&cluster, asked);

        for (at, what) in [(0, "t"), (1, "u"), (7, "v")] {
            let stored = answers[at].as_ref().unwrap();
            assert_eq!(cluster.store.trigger(&trigger_key(&name(what))).unwrap().as_ref(), Some(stored));
            assert_eq!(cluster.state(&name(what)), "WAITING");
        }
        let twice = [&answers[2], &answers[3]];
        assert_eq!(twice.iter().filter(|answer| answer.is_ok()).count(), 1, "{twice:?}");
        assert!(twice.iter().any(|answer| answer.as_ref().is_err_and(Error::is_already_exists)), "{twice:?}");
        assert!(answers[4].as_ref().is_err_and(Error::is_already_exists), "{:?}", answers[4]);
        for (at, what) in [(5, "no-job"), (6, "no-calendar")] {
            assert!(answers[at].as_ref().is_err_and(Error::is_not_found), "{:?}", answers[at]);
            assert_eq!(cluster.state(&name(what)), "-");
        }
    }
    assert_eq!(cluster.snapshot().triggers.len(), 1 + 4 * 10);
}

#[test]
fn a_new_trigger_begins_as_things_stand() {
    let cluster = Cluster::new(open);
    cluster.schedule(lone_job("lone").durable(true), [once("runs", "lone", NOW)]);
    cluster.schedule(job("free").durable(true), []);
    let a = cluster.node("A");
    let bundle = a.fire_one();
    let add = |name: &str, job: &str| {
        cluster.store.add_trigger(once(name, job, NOW + MINUTE).build().unwrap(), false).unwrap();
        cluster.state(name)
    };
    assert_eq!(add("t", "lone"), "BLOCKED");
    assert_eq!(add("u", "free"), "WAITING");
    cluster.store.pause_trigger_groups(&GroupMatcher::equals("other")).unwrap();
    assert_eq!(add("v", "free"), "WAITING");
    cluster.store.pause_all().unwrap();
    assert_eq!(add("w", "free"), "PAUSED");
    assert_eq!(add("x", "lone"), "PAUSED_BLOCKED");
    a.complete(&bundle);
}

/// Whoever finds a lost commit applied must not store it again, and whoever does not must.
#[cfg(feature = "test-util")]
#[test]
fn a_lost_answer_of_the_commit_is_looked_up() {
    use carnelian::store::faults::Fault;
    for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
        let cluster = Cluster::new(open);
        cluster.schedule(job("a").durable(true), []);
        cluster.opened.database.plan().plan(1, fault);
        let asked = (0..8).map(|i| once(&format!("t{i}"), "a", NOW + MINUTE).build().unwrap()).collect();
        let answers = add_at_once(&cluster, asked);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert!(!cluster.opened.database.plan().cancel(), "the fault has happened");
        assert_eq!(cluster.snapshot().triggers.len(), 8);
    }
}
