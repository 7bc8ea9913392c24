//! Much work in one call: it is stored without a look at each key, and yet all or nothing of it.

use super::*;
use carnelian::{CronSchedule, Error, JobDetail, Trigger, TriggerKey};

/// More than are looked for one by one.
const MANY: i64 = 300;

/// One kind is stored by one statement, where the database can; the other is not.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Once,
    Cron,
}

impl Kind {
    fn trigger(self, name: &str, job: &str) -> Trigger {
        let trigger = once(name, job, NOW + MINUTE);
        match self {
            Kind::Once => trigger,
            Kind::Cron => trigger.schedule(CronSchedule::new("0 0 3 * * ?").unwrap()),
        }
        .build()
        .unwrap()
    }

    /// A job with many triggers.
    fn of_one_job(self, job_name: &str) -> Vec<(JobDetail, Vec<Trigger>)> {
        let triggers = (0..MANY).map(|n| self.trigger(&format!("t{n}"), job_name)).collect();
        vec![(job(job_name).durable(true).build().unwrap(), triggers)]
    }

    /// Many jobs with a trigger each.
    fn of_many_jobs(self) -> Vec<(JobDetail, Vec<Trigger>)> {
        let pair = |name: String| (job(&name).build().unwrap(), vec![self.trigger(&name, &name)]);
        (0..MANY).map(|n| pair(format!("j{n}"))).collect()
    }
}

const KINDS: [Kind; 2] = [Kind::Once, Kind::Cron];

fn schedule(cluster: &Cluster, work: Vec<(JobDetail, Vec<Trigger>)>) -> carnelian::Result<Vec<Trigger>> {
    cluster.store.catalogue().schedule(work, false)
}

on_each_database!(many_are_stored_as_they_were_given);
fn many_are_stored_as_they_were_given() {
    for kind in KINDS {
        for (jobs, work) in [(1, kind.of_one_job("a")), (MANY, kind.of_many_jobs())] {
            let cluster = Cluster::new(open());
            let stored = schedule(&cluster, work.clone()).unwrap();
            let given = work.iter().flat_map(|(_, triggers)| triggers).map(Trigger::key);
            assert!(stored.iter().map(Trigger::key).eq(given), "{kind:?}");
            for trigger in &stored {
                assert_eq!(cluster.store.catalogue().trigger(trigger.key()).unwrap().as_ref(), Some(trigger));
            }
            let snapshot = cluster.snapshot();
            assert_eq!((snapshot.jobs.len() as i64, snapshot.triggers.len() as i64), (jobs, MANY), "{kind:?}");
        }
    }
}

on_each_database!(one_that_exists_refuses_all_and_is_named);
fn one_that_exists_refuses_all_and_is_named() {
    for kind in KINDS {
        let cluster = Cluster::new(open());
        cluster.schedule(job("other").durable(true), [once("t250", "other", NOW + MINUTE)]);
        cluster.schedule(job("j250"), [once("u", "j250", NOW + MINUTE)]);
        let before = cluster.rows();
        for (work, named) in
            [(kind.of_one_job("a"), "trigger `triggers.t250`"), (kind.of_many_jobs(), "job `jobs.j250`")]
        {
            let error = schedule(&cluster, work).unwrap_err();
            assert!(error.is_already_exists() && error.to_string().contains(named), "{kind:?}: {error}");
            assert_eq!(cluster.rows(), before, "{kind:?}");
        }
    }
}

on_each_database!(a_key_that_is_given_twice_refuses_all);
fn a_key_that_is_given_twice_refuses_all() {
    for kind in KINDS {
        let cluster = Cluster::new(open());
        let mut work = kind.of_one_job("a");
        work[0].1.push(kind.trigger("t7", "a"));
        let error = schedule(&cluster, work).unwrap_err();
        assert!(error.to_string().contains("trigger `triggers.t7` is given twice"), "{error}");
        let mut work = kind.of_many_jobs();
        work.push((job("j7").build().unwrap(), vec![kind.trigger("another", "j7")]));
        let error = schedule(&cluster, work).unwrap_err();
        assert!(error.to_string().contains("job `jobs.j7` is given twice"), "{error}");
        assert_eq!(cluster.snapshot().triggers, []);
    }
}

on_each_database!(one_that_never_fires_refuses_all_and_is_named);
fn one_that_never_fires_refuses_all_and_is_named() {
    for kind in KINDS {
        let cluster = Cluster::new(open());
        let mut work = kind.of_one_job("a");
        let never = once("never", "a", NOW).schedule(CronSchedule::new("0 0 3 1 1 ? 2001").unwrap());
        work[0].1.push(never.build().unwrap());
        let error = schedule(&cluster, work).unwrap_err();
        assert!(matches!(error, Error::NeverFires { .. }) && error.to_string().contains("triggers.never"), "{error}");
        let snapshot = cluster.snapshot();
        assert_eq!((snapshot.jobs.len(), snapshot.triggers.len()), (0, 0), "{kind:?}");
    }
}

on_each_database!(names_are_stored_letter_by_letter);
/// Names that would mean something in a text of arrays, rows or statements are names like any
/// other. A character that no database stores is refused.
fn names_are_stored_letter_by_letter() {
    let odd = [
        "NULL",
        "null",
        "\\N",
        "\\",
        "\\.",
        "back\\slash",
        "\"",
        "'",
        "''",
        "a,b",
        "{a}",
        "(a,b)",
        "$1",
        "?",
        "{p}",
        "%",
        " ",
        " padded ",
        "tab\tnew\nline",
        "ü😀漢字",
        "--",
        "/*",
        "E'\\x00'",
    ];
    let cluster = Cluster::new(open());
    let mut work = Kind::Once.of_one_job("a");
    work[0].1.extend(odd.iter().map(|name| once(name, "a", NOW + MINUTE).description(*name).build().unwrap()));
    work.extend(odd.iter().map(|name| {
        let trigger = TriggerKey::new(*name, "grouped");
        let trigger = Trigger::builder(trigger, job_key(name)).start_at(at(NOW + MINUTE)).build().unwrap();
        (job(name).description(*name).build().unwrap(), vec![trigger])
    }));
    schedule(&cluster, work).unwrap();
    for name in odd {
        let trigger = cluster.store.catalogue().trigger(&trigger_key(name)).unwrap().expect(name);
        assert_eq!((trigger.key().name(), trigger.description()), (name, Some(name)));
        assert_eq!(cluster.state_of(&TriggerKey::new(name, "grouped")), "WAITING");
        assert_eq!(cluster.store.catalogue().job(&job_key(name)).unwrap().expect(name).description(), Some(name));
    }
    let nul = Trigger::builder(trigger_key("with\0nul"), job_key("a")).build();
    assert!(nul.is_err_and(|error| error.to_string().contains("cannot be stored")));
}

on_each_database!(more_rows_than_a_statement_has_values_for);
/// A statement of 16 values a row would have more than a server counts.
fn more_rows_than_a_statement_has_values_for() {
    for kind in KINDS {
        let cluster = Cluster::new(open());
        let triggers: Vec<Trigger> = (0..4_500).map(|n| kind.trigger(&format!("t{n}"), "a")).collect();
        let stored = schedule(&cluster, vec![(job("a").build().unwrap(), triggers)]).unwrap();
        assert_eq!((stored.len(), cluster.snapshot().triggers.len()), (4_500, 4_500), "{kind:?}");
    }
}

on_each_database!(many_begin_as_things_stand);
fn many_begin_as_things_stand() {
    for kind in KINDS {
        let cluster = Cluster::new(open());
        let catalogue = cluster.store.catalogue();
        cluster.schedule(lone_job("lone"), [once("runs", "lone", NOW)]);
        let node = cluster.node("A");
        let bundle = node.fire_one();
        catalogue.delete_jobs(&[job_key("lone")]).unwrap();
        catalogue.pause_trigger_groups(&carnelian::GroupMatcher::equals("halted")).unwrap();
        let halted = |name: &str, job: &str| {
            let key = TriggerKey::new("halted", name);
            Trigger::builder(key, job_key(job)).start_at(at(NOW + MINUTE)).build().unwrap()
        };
        let mut work = kind.of_one_job("a");
        work[0].1.push(halted("free", "a"));
        let lone = vec![kind.trigger("waits", "lone"), halted("both", "lone")];
        work.push((lone_job("lone").build().unwrap(), lone));
        schedule(&cluster, work).unwrap();
        let state = |group: &str, name: &str| cluster.state_of(&TriggerKey::new(group, name));
        assert_eq!([state("triggers", "t0"), state("triggers", "t299")], ["WAITING", "WAITING"]);
        assert_eq!([state("halted", "free"), state("halted", "both")], ["PAUSED", "PAUSED_BLOCKED"]);
        assert_eq!(state("triggers", "waits"), "BLOCKED", "the job's run before it was deleted goes on");
        node.complete(&bundle);
        assert_eq!([state("triggers", "waits"), state("halted", "both")], ["WAITING", "PAUSED"]);
        catalogue.pause_all().unwrap();
        let late = (0..MANY).map(|n| kind.trigger(&format!("late{n}"), "late")).collect();
        schedule(&cluster, vec![(job("late").build().unwrap(), late)]).unwrap();
        assert_eq!(state("triggers", "late7"), "PAUSED");
    }
}

#[cfg(feature = "test-util")]
on_each_database!(many_whose_answer_was_lost_are_stored_once);
/// A commit whose answer was lost is looked up: its rows are no obstacle to the same call.
#[cfg(feature = "test-util")]
fn many_whose_answer_was_lost_are_stored_once() {
    use carnelian::store::faults::Fault;
    for kind in KINDS {
        for fault in [Fault::CommitLostApplied, Fault::CommitLostNotApplied] {
            let cluster = Cluster::new(open());
            cluster.opened.database.plan().plan(1, fault);
            let stored = schedule(&cluster, kind.of_many_jobs()).unwrap();
            assert!(!cluster.opened.database.plan().cancel(), "{kind:?}, {fault:?}: the answer was lost");
            assert_eq!(stored.len() as i64, MANY, "{kind:?}, {fault:?}");
            let snapshot = cluster.snapshot();
            assert_eq!(
                (snapshot.jobs.len() as i64, snapshot.triggers.len() as i64),
                (MANY, MANY),
                "{kind:?}, {fault:?}"
            );
        }
    }
}
