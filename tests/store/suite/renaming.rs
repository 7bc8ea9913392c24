//! Jobs get other keys, and other types.

use super::job_types::{info, node_with};
use super::*;
use carnelian::definitions::Migrated;
use carnelian::store::Request;
use carnelian::{Error, JobDataMap, JobPolicy};

fn rename(cluster: &Cluster, old: &str, new: &str) -> carnelian::Result<usize> {
    cluster.store.catalogue().rename_job(&job_key(old), &job_key(new), false).map(|renamed| renamed.triggers)
}

on_each_database!(a_renamed_job_keeps_what_it_had);
/// DS-91: its triggers, options, versions and requests go with it.
fn a_renamed_job_keeps_what_it_had() {
    let cluster = Cluster::new(open());
    let a = node_with(&cluster, "A", &[info("work", 2)]);
    let request = Request {
        request_id: Some("r".to_owned()),
        job: job("old")
            .policy(JobPolicy::new().missed_heartbeat_limit(7))
            .version(2)
            .data("to", "ada")
            .requests_recovery(true)
            .build()
            .unwrap(),
        trigger: minutely("t", "old", NOW).build().unwrap(),
        then: Vec::new(),
    };
    cluster.store.catalogue().take_requests(&[request]).unwrap();
    let drift = carnelian::CalendarIntervalSchedule::every(1, carnelian::IntervalUnit::Month);
    cluster
        .store
        .catalogue()
        .add_trigger(once("u", "old", NOW + 5 * SECOND).schedule(drift).build().unwrap(), false)
        .unwrap();
    cluster.store.catalogue().pause_triggers(&[trigger_key("u")]).unwrap();

    let before = cluster.rows();
    assert_eq!(cluster.store.catalogue().rename_job(&job_key("old"), &job_key("new"), true).unwrap().triggers, 2);
    assert_eq!(cluster.rows(), before, "only looked at");
    assert_eq!(rename(&cluster, "old", "new").unwrap(), 2);
    assert!(!cluster.has_job("old"));
    let job = cluster.store.catalogue().job(&job_key("new")).unwrap().unwrap();
    assert_eq!((job.version(), job.data().text("to"), job.requests_recovery()), (Some(2), Some("ada"), true));
    assert_eq!(job.policy().missed_heartbeats(), Some(7));
    assert_eq!([cluster.state("t"), cluster.state("u")], ["WAITING", "PAUSED"]);
    assert_eq!(cluster.store.catalogue().taken("r").unwrap().unwrap().job, job_key("new"));
    let fire = a.fire_one();
    assert_eq!((fire.job.key(), fire.trigger.key()), (&job_key("new"), &trigger_key("t")));
    a.complete(&fire);
}

on_each_database!(a_job_is_not_renamed_while_it_runs_or_onto_another);
fn a_job_is_not_renamed_while_it_runs_or_onto_another() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    cluster.schedule(job("b"), [once("u", "b", NOW + MINUTE)]);
    let error = rename(&cluster, "nobody", "new").unwrap_err();
    assert!(error.is_not_found() && error.to_string().contains("jobs.nobody"), "{error}");
    assert!(rename(&cluster, "a", "b").unwrap_err().is_already_exists());
    assert!(rename(&cluster, "a", "a").unwrap_err().is_already_exists());
    assert!(matches!(rename(&cluster, "a", ""), Err(Error::Invalid { .. })));
    let fire = a.fire_one();
    for dry_run in [true, false] {
        let error =
            cluster.store.catalogue().rename_job(&job_key("a"), &job_key("new"), dry_run).unwrap_err().to_string();
        assert!(
            error.starts_with("job `jobs.a` is running") && error.contains("carnelian job pause jobs.a"),
            "{error}"
        );
    }
    a.complete(&fire);
    assert_eq!(rename(&cluster, "a", "new").unwrap(), 1);
}

on_each_database!(a_reserved_trigger_is_fired_for_the_new_name);
/// A reservation of a node belongs to the job by its old name: it is taken back.
fn a_reserved_trigger_is_fired_for_the_new_name() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("old"), [once("t", "old", NOW + 5 * SECOND)]);
    let reserved = a.reserve_one();
    rename(&cluster, "old", "new").unwrap();
    assert_eq!((cluster.state("t").as_str(), cluster.fires().len()), ("WAITING", 0));
    cluster.advance(5 * SECOND);
    assert_eq!(a.fire(&[reserved]).len(), 0);
    assert_eq!(a.fire_one().job.key(), &job_key("new"));
}

on_each_database!(a_recovery_that_waits_goes_with_its_job);
/// The interrupted run of a job is recovered under the name it has by then.
fn a_recovery_that_waits_goes_with_its_job() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("old").requests_recovery(true), [once("t", "old", NOW)]);
    a.fire_one();
    cluster.advance(WINDOW + SECOND);
    let b = cluster.node("B");
    rename(&cluster, "old", "new").unwrap();
    let fire = b.fire_one();
    assert_eq!(fire.job.key(), &job_key("new"));
    assert_eq!(fire.recovering.as_ref().map(|r| r.trigger.clone()), Some(trigger_key("t")));
    assert!(fire.recovering.unwrap().root_fire_id.is_some());
}

fn migrate(cluster: &Cluster, from: &str, to: &str) -> Migrated {
    let dry = cluster.store.job_types().migrate(from, to, None, true).unwrap();
    let done = cluster.store.job_types().migrate(from, to, None, false).unwrap();
    assert_eq!(dry, done, "what it said it would do");
    done
}

on_each_database!(the_jobs_of_a_type_get_another);
/// DS-92, DS-94.
fn the_jobs_of_a_type_get_another() {
    let cluster = Cluster::new(open());
    let a = node_with(&cluster, "A", &[info("work", 1), info("other", 1)]);
    for name in ["a", "b", "c"] {
        let detail = job(name).job_type("gone").data("n", name);
        cluster.schedule(detail.durable(true), [minutely(name, name, NOW + MINUTE)]);
    }
    cluster.store.job_types().note_orphans().unwrap();
    cluster.schedule(job("other").job_type("other"), [once("o", "other", NOW + MINUTE)]);
    let done = migrate(&cluster, "gone", "work");
    assert_eq!(done.changed, ["a", "b", "c"].map(job_key));
    assert_eq!((done.running.len(), done.failed.len()), (0, 0));
    let b = cluster.store.catalogue().job(&job_key("b")).unwrap().unwrap();
    assert_eq!((b.job_type(), b.data().text("n"), b.is_durable()), ("work", Some("b"), true));
    assert_eq!(cluster.store.catalogue().job(&job_key("other")).unwrap().unwrap().job_type(), "other");
    assert_eq!(cluster.store.job_types().orphans().unwrap().jobs, []);
    assert_eq!(migrate(&cluster, "gone", "work"), Migrated::default());
    cluster.advance(MINUTE);
    assert_eq!(a.acquire().fired.len(), 3);
    assert!(cluster.store.job_types().migrate("work", "", None, true).is_err());
}

on_each_database!(running_jobs_are_migrated_later);
/// Runs that have begun are left as they are: the data that they store at their end is in the form
/// of their type.
fn running_jobs_are_migrated_later() {
    let cluster = Cluster::new(open());
    let a = cluster.node("A");
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    cluster.schedule(job("b"), [minutely("u", "b", NOW + 5 * SECOND)]);
    let mut acquired = a.acquire();
    let (fire, reserved) = (acquired.fired.remove(0), acquired.reserved.remove(0));
    let done = migrate(&cluster, "work", "letters");
    assert_eq!((done.changed, done.running), (vec![job_key("b")], vec![job_key("a")]));
    cluster.advance(5 * SECOND);
    assert_eq!(a.fire(&[reserved]).len(), 0, "it does not have the new type");
    a.complete(&fire);
    assert_eq!(migrate(&cluster, "work", "letters").changed, [job_key("a")]);
}

on_each_database!(data_are_upgraded_where_they_can_be);
fn data_are_upgraded_where_they_can_be() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").data("to", "ada"), [once("a", "a", NOW + MINUTE)]);
    cluster.schedule(job("b").data("to", "bob").version(2), [once("b", "b", NOW + MINUTE)]);
    cluster.schedule(job("c"), [once("c", "c", NOW + MINUTE)]);
    let upgrade = |version: u32, data: &mut JobDataMap| match (version, data.remove("to")) {
        (1, None) => Err("no `to`".to_owned()),
        (1, Some(to)) => {
            data.put("recipient", to);
            Ok(2)
        }
        (version, _) => Ok(version),
    };
    let before = cluster.rows();
    let dry = cluster.store.job_types().migrate("work", "work", Some(&upgrade), true).unwrap();
    assert_eq!(cluster.rows(), before);
    let done = cluster.store.job_types().migrate("work", "work", Some(&upgrade), false).unwrap();
    assert_eq!(done, dry);
    assert_eq!((&done.changed, &done.failed), (&vec![job_key("a")], &vec![(job_key("c"), "no `to`".to_owned())]));
    let a = cluster.store.catalogue().job(&job_key("a")).unwrap().unwrap();
    assert_eq!((a.version(), a.data().text("recipient"), a.data().text("to")), (Some(2), Some("ada"), None));
    assert_eq!(
        cluster.store.catalogue().job(&job_key("b")).unwrap().unwrap().data().text("to"),
        Some("bob"),
        "it was not touched"
    );
    // With another type the version goes along.
    migrate(&cluster, "work", "letters");
    assert_eq!(cluster.store.catalogue().job(&job_key("a")).unwrap().unwrap().version(), Some(2));
}

on_each_database!(migrations_that_quartz_could_not_follow_are_refused);
/// Beside a node of Quartz a type must be one that Java can load, and data stay as they are.
fn migrations_that_quartz_could_not_follow_are_refused() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    cluster.schedule(job("a").job_type("com.acme.Old"), [once("t", "a", NOW + MINUTE)]);
    super::beside_quartz::java_joins(&cluster, &mut a);
    let error = cluster.store.job_types().migrate("com.acme.Old", "letters", None, true).unwrap_err().to_string();
    assert!(error.contains("names no Java class"), "{error}");
    let upgrade = |_: u32, _: &mut JobDataMap| Ok(2);
    let error = cluster.store.job_types().migrate("com.acme.Old", "com.acme.Old", Some(&upgrade), false).unwrap_err();
    assert!(error.to_string().contains("version 2, and `java`"), "{error}");
    assert_eq!(migrate(&cluster, "com.acme.Old", "com.acme.New").changed, [job_key("a")]);
}
