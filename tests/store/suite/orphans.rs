//! Jobs that no living node can run.

use super::job_types::{info, node_with};
use super::*;
use std::time::Duration;

const DAY: i64 = 24 * 60 * MINUTE;
const NEVER: Duration = Duration::ZERO;

fn orphans(cluster: &Cluster) -> Vec<String> {
    cluster.store.job_types().orphans().unwrap().jobs.iter().map(|orphan| orphan.job.name().to_owned()).collect()
}

on_each_database!(a_job_is_an_orphan_if_no_living_node_has_its_type_or_reads_its_data);
/// DS-95, DS-96.
fn a_job_is_an_orphan_if_no_living_node_has_its_type_or_reads_its_data() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("known"), [once("t", "known", NOW + DAY)]);
    cluster.schedule(
        job("unknown").job_type("gone"),
        [minutely("u", "unknown", NOW + DAY), once("v", "unknown", NOW + 5)],
    );
    cluster.schedule(job("late").version(3), [once("w", "late", NOW + DAY)]);
    cluster.store.catalogue().add_job(&job("idle").job_type("gone").durable(true).build().unwrap(), false).unwrap();
    let nobody = cluster.store.job_types().orphans().unwrap();
    assert_eq!(nobody.jobs, []);
    assert!(nobody.blind_because().unwrap().contains("no node is alive"));

    let _a = node_with(&cluster, "A", &[info("work", 2), info("more", 9)]);
    let found = cluster.store.job_types().orphans().unwrap();
    assert_eq!((found.blind_because(), found.nodes), (None, 1));
    assert_eq!(orphans(&cluster), ["idle", "late", "unknown"]);
    let [idle, late, unknown] = found.jobs.as_slice() else { panic!("{found:?}") };
    assert_eq!((idle.triggers, idle.next_fire_time, idle.since), (0, None, None));
    assert_eq!((unknown.triggers, unknown.next_fire_time), (2, Some(at(NOW + 5))));
    assert_eq!(unknown.reason(), "no live node has job type `gone`");
    assert!(
        late.reason().contains("version 3") && late.reason().ends_with("of job type `work` than 2"),
        "{}",
        late.reason()
    );

    let due = |within| cluster.store.job_types().imminent_orphans(within).unwrap();
    assert_eq!(due(Duration::from_secs(60)), [job_key("unknown")]);
    assert_eq!(due(Duration::from_secs(200_000)), [job_key("late"), job_key("unknown")]);

    let mut b = node_with(&cluster, "B", &[info("gone", 1)]);
    assert_eq!(orphans(&cluster), ["late"]);
    b.store.job_types().set(vec![info("gone", 1), info("work", 3)]);
    b.check_in();
    assert_eq!(orphans(&cluster), Vec::<String>::new());
    // Nobody ever put any of it in error.
    assert_eq!([cluster.state("t"), cluster.state("u"), cluster.state("w")], ["WAITING"; 3]);
}

on_each_database!(nothing_is_an_orphan_while_a_node_lives_that_does_not_say_what_it_has);
/// A node of Quartz has the classes it has, and one of an older version its types: they do not
/// tell.
fn nothing_is_an_orphan_while_a_node_lives_that_does_not_say_what_it_has() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").job_type("com.acme.Report"), [once("t", "a", NOW + SECOND)]);
    let mut a = node_with(&cluster, "A", &[info("work", 1)]);
    assert_eq!(orphans(&cluster), ["a"]);
    super::beside_quartz::java_joins(&cluster, &mut a);
    let found = cluster.store.job_types().note_orphans().unwrap();
    assert_eq!((found.jobs.len(), found.silent.as_slice(), found.nodes), (0, ["java".to_owned()].as_slice(), 2));
    assert!(found.blind_because().unwrap().contains("java"));
    assert_eq!(cluster.store.job_types().imminent_orphans(Duration::from_secs(3600)).unwrap(), []);
    let error = cluster.store.job_types().delete_orphans(NEVER).unwrap_err().to_string();
    assert!(error.starts_with("orphans are not deleted: these nodes do not say"), "{error}");
    assert!(cluster.has_job("a"));
}

on_each_database!(orphans_are_deleted_when_they_are_old_enough);
/// DS-93, DS-100: their age counts from when they were first seen, and starts anew if somebody had
/// the type in between.
fn orphans_are_deleted_when_they_are_old_enough() {
    let cluster = Cluster::new(open());
    let mut a = node_with(&cluster, "A", &[info("work", 1)]);
    cluster.schedule(job("first").job_type("gone"), [minutely("t", "first", NOW + DAY)]);
    cluster.schedule(job("kept"), [once("k", "kept", NOW + DAY)]);
    assert_eq!(cluster.store.job_types().note_orphans().unwrap().jobs[0].since, Some(at(NOW)));
    cluster.advance(MINUTE / 4);
    a.check_in();
    cluster.schedule(job("second").job_type("gone"), [once("u", "second", NOW + DAY)]);
    let since = |cluster: &Cluster| -> Vec<_> {
        cluster
            .store
            .job_types()
            .note_orphans()
            .unwrap()
            .jobs
            .iter()
            .map(|orphan| orphan.since.map(|since| since.timestamp_millis()))
            .collect()
    };
    assert_eq!(since(&cluster), [Some(NOW), Some(NOW + MINUTE / 4)]);
    let deleted = cluster.store.job_types().delete_orphans(Duration::from_secs(15)).unwrap();
    assert_eq!(deleted.iter().map(|orphan| orphan.job.clone()).collect::<Vec<_>>(), [job_key("first")]);
    assert!(!cluster.has_job("first") && cluster.state("t") == "-");

    // A node comes that has the type, and goes again.
    let b = node_with(&cluster, "B", &[info("gone", 1)]);
    assert_eq!(since(&cluster), []);
    b.store.upkeep().leave(&b.owner()).unwrap();
    cluster.advance(MINUTE / 4);
    a.check_in();
    assert_eq!(since(&cluster), [Some(NOW + MINUTE / 2)]);
    assert_eq!(cluster.store.job_types().delete_orphans(Duration::from_secs(15)).unwrap(), []);
    assert_eq!(cluster.store.job_types().delete_orphans(NEVER).unwrap().len(), 1);
    assert!(cluster.has_job("kept"));
    assert_eq!(since(&cluster), []);
}

on_each_database!(a_job_whose_node_was_there_in_the_night_is_not_deleted);
/// The nodes look for orphans at noon, and the node that has the type is there at night only. The
/// age of the orphan went on through all nights, until the job was deleted.
fn a_job_whose_node_was_there_in_the_night_is_not_deleted() {
    let cluster = Cluster::new(open());
    let mut a = node_with(&cluster, "A", &[info("work", 1)]);
    cluster.schedule(job("batch").job_type("gone"), [minutely("t", "batch", NOW + DAY)]);
    assert_eq!(cluster.store.job_types().note_orphans().unwrap().jobs[0].since, Some(at(NOW)));
    let b = node_with(&cluster, "B", &[info("gone", 1)]);
    b.store.upkeep().leave(&b.owner()).unwrap();
    cluster.advance(MINUTE / 4);
    a.check_in();
    assert_eq!(cluster.store.job_types().delete_orphans(Duration::from_secs(15)).unwrap(), []);
    assert!(cluster.has_job("batch"));
}

on_each_database!(a_job_of_another_type_is_an_orphan_from_then_on);
/// The age that was noted is that of the type that it had.
fn a_job_of_another_type_is_an_orphan_from_then_on() {
    let cluster = Cluster::new(open());
    let _a = node_with(&cluster, "A", &[info("work", 1)]);
    let of_type = |name: &str| job("a").job_type(name).durable(true).build().unwrap();
    cluster.store.catalogue().add_job(&of_type("gone"), false).unwrap();
    cluster.store.job_types().note_orphans().unwrap();
    let since = || cluster.store.job_types().orphan(&job_key("a")).unwrap().expect("an orphan").since;
    assert_eq!(since(), Some(at(NOW)));
    cluster.store.catalogue().add_job(&of_type("gone.too"), true).unwrap();
    assert_eq!(since(), None);
}

on_each_database!(an_orphan_that_runs_is_not_deleted);
/// A run that began when its node had the type ends as usual.
fn an_orphan_that_runs_is_not_deleted() {
    let cluster = Cluster::new(open());
    let mut a = node_with(&cluster, "A", &[info("work", 1)]);
    cluster.schedule(job("a"), [minutely("t", "a", NOW)]);
    let fire = a.fire_one();
    a.store.job_types().set(vec![info("other", 1)]);
    a.check_in();
    assert_eq!(orphans(&cluster), ["a"]);
    assert_eq!(cluster.store.job_types().delete_orphans(NEVER).unwrap(), []);
    a.complete(&fire);
    assert_eq!(cluster.store.job_types().delete_orphans(NEVER).unwrap().len(), 1);
}

on_each_database!(an_observer_saves_no_orphan_and_hides_none);
/// DS-95: an observer runs nothing: what it has makes no job one that can run, and what it does not
/// say hides none.
fn an_observer_saves_no_orphan_and_hides_none() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").job_type("gone"), [once("t", "a", NOW + DAY)]);
    let _a = node_with(&cluster, "A", &[info("work", 1)]);
    let mut report = carnelian::node::NodeReport::default();
    report.info.role = carnelian::node::NodeRole::Observer;
    for types in [None, Some(vec![info("gone", 1)])] {
        let mut admin = cluster.stranger("admin");
        admin.me.node = Some(report.clone());
        if let Some(types) = types {
            admin.store.job_types().set(types);
        }
        assert!(admin.check_in().registered);
        assert_eq!(cluster.store.job_types().orphans().unwrap().blind_because(), None);
        assert_eq!(orphans(&cluster), ["a"]);
        admin.store.upkeep().leave(&admin.owner()).unwrap();
    }
}
