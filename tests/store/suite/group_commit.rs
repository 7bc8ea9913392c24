//! Group commit: threads that store a trigger at the same time share transactions, and get an
//! answer each.

use super::*;
use carnelian::{Error, GroupMatcher, Trigger, TriggerKey};
use std::sync::Barrier;

/// Stores these triggers by a thread each, all at once; their answers in order.
fn add_at_once(cluster: &Cluster, triggers: Vec<Trigger>) -> Vec<carnelian::Result<Trigger>> {
    let ready = Barrier::new(triggers.len());
    std::thread::scope(|scope| {
        let add = |trigger: Trigger| {
            let ready = &ready;
            scope.spawn(move || {
                ready.wait();
                cluster.store.catalogue().add_trigger(trigger, false)
            })
        };
        let threads: Vec<_> = triggers.into_iter().map(add).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

on_each_database!(what_is_wrong_with_one_trigger_harms_no_other);
fn what_is_wrong_with_one_trigger_harms_no_other() {
    let cluster = Cluster::new(open());
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
            assert_eq!(cluster.store.catalogue().trigger(&trigger_key(&name(what))).unwrap().as_ref(), Some(stored));
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

on_each_database!(a_new_trigger_begins_as_things_stand);
fn a_new_trigger_begins_as_things_stand() {
    let cluster = Cluster::new(open());
    cluster.schedule(lone_job("lone").durable(true), [once("runs", "lone", NOW)]);
    cluster.schedule(job("free").durable(true), []);
    let a = cluster.node("A");
    let bundle = a.fire_one();
    // One by itself, and several by threads that meet.
    let begins = |what: &str, job: &str, state: &str| {
        for count in [1, 6] {
            let name = |i: usize| format!("{what}-{count}-{i}");
            let asked = (0..count).map(|i| once(&name(i), job, NOW + MINUTE).build().unwrap()).collect();
            let answers = add_at_once(&cluster, asked);
            assert!(answers.iter().all(Result::is_ok), "{answers:?}");
            assert!((0..count).all(|i| cluster.state(&name(i)) == state), "{what}: not all are {state}");
        }
    };
    begins("t", "lone", "BLOCKED");
    begins("u", "free", "WAITING");
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("other")).unwrap();
    begins("v", "free", "WAITING");
    cluster.store.catalogue().pause_all().unwrap();
    begins("w", "free", "PAUSED");
    begins("x", "lone", "PAUSED_BLOCKED");
    cluster.store.catalogue().resume_all(true).unwrap();
    a.complete(&bundle);
    begins("y", "lone", "WAITING");
}

on_each_database!(what_begins_paused_or_blocked_is_stored_by_one_call);
/// An obstacle to a trigger's firing is none to its storing by the one statement that there is for
/// that.
fn what_begins_paused_or_blocked_is_stored_by_one_call() {
    let cluster = Cluster::new(open());
    let database = &cluster.opened.database;
    cluster.schedule(lone_job("lone").durable(true), [once("runs", "lone", NOW)]);
    let bundle = cluster.node("A").fire_one();
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("halted")).unwrap();
    for (group, state) in [("triggers", "BLOCKED"), ("halted", "PAUSED_BLOCKED")] {
        let key = TriggerKey::new(group, "t");
        let before = database.counts().statements;
        let trigger = Trigger::builder(key.clone(), bundle.job.key().clone()).build().unwrap();
        cluster.store.catalogue().add_trigger(trigger, false).unwrap();
        let statements = database.counts().statements - before;
        assert!(statements == 1 || !database.has_fast_path(), "{statements} statements for one that begins {state}");
        assert_eq!(cluster.state_of(&key), state);
    }
}

on_each_database!(new_work_begins_as_things_stand);
/// Jobs that come with their triggers, one or many, are stored so too.
fn new_work_begins_as_things_stand() {
    let cluster = Cluster::new(open());
    let stored = cluster.schedule(job("a"), [once("a1", "a", NOW + MINUTE), once("a2", "a", NOW + MINUTE)]);
    for trigger in &stored {
        assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap().as_ref(), Some(trigger));
    }
    cluster.schedule(lone_job("lone"), [once("runs", "lone", NOW - 1)]);
    let a = cluster.node("A");
    let bundle = a.fire_one();
    assert_eq!(bundle.trigger.key(), &trigger_key("runs"));
    cluster.store.catalogue().delete_jobs(&[job_key("lone")]).unwrap();
    cluster.schedule(lone_job("lone"), [once("t", "lone", NOW + MINUTE)]);
    assert_eq!(cluster.state("t"), "BLOCKED", "the job's run before it was deleted goes on");
    a.complete(&bundle);
    assert_eq!(cluster.state("t"), "WAITING");
    cluster.schedule(lone_job("other"), [once("u", "other", NOW + MINUTE)]);
    assert_eq!(cluster.state("u"), "WAITING");

    for count in [1, 3] {
        let name = |i: i32| format!("new-{count}-{i}");
        let new = |i| once(&name(i), "new", NOW + MINUTE).build().unwrap();
        let mut triggers: Vec<Trigger> = (1..count).map(new).collect();
        triggers.push(once("u", "new", NOW + MINUTE).build().unwrap());
        let refused = cluster.store.catalogue().schedule(vec![(job("new").build().unwrap(), triggers)], false);
        assert!(refused.as_ref().is_err_and(Error::is_already_exists), "{refused:?}");
        assert!(!cluster.has_job("new"), "the job was stored without its triggers");
        let triggers = (0..count).map(|i| once(&name(i), "other", NOW + MINUTE).build().unwrap()).collect();
        let refused = cluster.store.catalogue().schedule(vec![(lone_job("other").build().unwrap(), triggers)], false);
        assert!(refused.as_ref().is_err_and(Error::is_already_exists), "{refused:?}");
        assert_eq!(cluster.state(&name(0)), "-", "a trigger was stored without its job");
    }
    let twice = once("twice", "new", NOW).build().unwrap();
    let refused =
        cluster.store.catalogue().schedule(vec![(job("new").build().unwrap(), vec![twice.clone(), twice])], false);
    assert!(refused.is_err() && !cluster.has_job("new"), "{refused:?}");
    cluster.store.catalogue().pause_trigger_groups(&GroupMatcher::equals("halted")).unwrap();
    for count in [1, 2] {
        let key = |i: i32| TriggerKey::new("halted", format!("w-{count}-{i}"));
        let name = format!("halts-{count}");
        let halted = (0..count).map(|i| Trigger::builder(key(i), job_key(&name)).build().unwrap()).collect();
        cluster.store.catalogue().schedule(vec![(job(&name).build().unwrap(), halted)], false).unwrap();
        assert!((0..count).all(|i| cluster.state_of(&key(i)) == "PAUSED"));
    }
    cluster.store.catalogue().pause_all().unwrap();
    cluster.schedule(job("late"), [once("v", "late", NOW + MINUTE)]);
    assert_eq!(cluster.state("v"), "PAUSED");
}

#[cfg(feature = "test-util")]
on_each_database!(a_lost_answer_of_the_commit_is_looked_up);
/// A thread that finds a lost commit applied must not store the work again, and one that does not
/// must.
#[cfg(feature = "test-util")]
fn a_lost_answer_of_the_commit_is_looked_up() {
    use carnelian::store::faults::Fault;
    for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
        let cluster = Cluster::new(open());
        cluster.schedule(job("a").durable(true), []);
        cluster.opened.database.plan().plan(1, fault);
        let asked = (0..8).map(|i| once(&format!("t{i}"), "a", NOW + MINUTE).build().unwrap()).collect();
        let answers = add_at_once(&cluster, asked);
        assert!(answers.iter().all(Result::is_ok), "{answers:?}");
        assert!(!cluster.opened.database.plan().cancel(), "the fault has happened");
        assert_eq!(cluster.snapshot().triggers.len(), 8);
    }

    for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
        let cluster = Cluster::new(open());
        cluster.opened.database.plan().plan(1, fault);
        let stored = cluster.schedule(job("a"), [once("t", "a", NOW + MINUTE)]);
        assert!(!cluster.opened.database.plan().cancel(), "the fault has happened");
        assert_eq!(cluster.store.catalogue().trigger(&trigger_key("t")).unwrap().as_ref(), stored.first());

        cluster.opened.database.plan().plan(1, fault);
        let refused =
            cluster.store.catalogue().schedule(vec![(job("b").build().unwrap(), vec![stored[0].clone()])], false);
        assert!(refused.is_err() && !cluster.has_job("b"), "{refused:?}");
        cluster.opened.database.plan().cancel();
    }
}
