//! Job types that nodes publish; versions of data; deprecated types.

use super::*;
use carnelian::Error;
use carnelian::store::{CompletionInstruction, JobTypeInfo};

pub(super) fn info(name: &str, version: u32) -> JobTypeInfo {
    JobTypeInfo { name: name.to_owned(), version, alias_of: None, deprecated: None }
}

/// A node that has checked in with these types.
pub(super) fn node_with(cluster: &Cluster, name: &str, types: &[JobTypeInfo]) -> Node {
    let mut node = cluster.stranger(name);
    node.store.job_types().set(types.to_vec());
    assert!(node.check_in().registered);
    node
}

/// The published types as `node: type/version …`, or `node: ?`.
fn published(cluster: &Cluster) -> Vec<String> {
    let types = cluster.store.job_types().published().unwrap();
    let one = |info: &JobTypeInfo| format!(" {}/{}", info.name, info.version);
    let show = |types: &[JobTypeInfo]| types.iter().map(one).collect::<String>();
    types.iter().map(|(node, types)| format!("{node}:{}", types.as_deref().map_or(" ?".to_owned(), show))).collect()
}

on_each_database!(nodes_publish_their_types);
/// DS-95: they come with the registration and go with the instance, whoever ends it.
fn nodes_publish_their_types() {
    let cluster = Cluster::new(open());
    let _old = cluster.node("A");
    let mut b = node_with(&cluster, "B", &[info("mail", 1), info("report", 3)]);
    let c = node_with(&cluster, "C", &[]);
    assert_eq!(published(&cluster), ["A: ?", "B: mail/1 report/3", "C:"]);
    // A job type that comes later is told with the next check-in.
    b.store.job_types().set(vec![info("mail", 2)]);
    b.check_in();
    assert_eq!(published(&cluster), ["A: ?", "B: mail/2", "C:"]);
    assert_eq!(c.store.upkeep().leave(&c.owner()).unwrap(), 0);
    assert_eq!(published(&cluster), ["A: ?", "B: mail/2"]);
    cluster.advance(WINDOW + SECOND);
    let _d = node_with(&cluster, "D", &[info("mail", 1)]);
    assert_eq!(published(&cluster), ["D: mail/1"]);
    cluster.tamper(|s| {
        let left: Vec<String> = s.job_types()?.into_iter().map(|row| row.instance).collect();
        assert_eq!(left, ["D"], "the others are recovered");
        Ok(())
    });
}

on_each_database!(an_ordinary_check_in_does_not_publish);
/// A check-in that has nothing new to say costs what it did.
fn an_ordinary_check_in_does_not_publish() {
    let cluster = Cluster::new(open());
    let mut a = node_with(&cluster, "A", &[info("work", 1)]);
    let mut b = cluster.node("B");
    let cost = |node: &mut Node| {
        let before = cluster.store.database().counts().statements;
        node.check_in();
        cluster.store.database().counts().statements - before
    };
    let silent = cost(&mut b);
    assert_eq!(cost(&mut a), silent);
    a.store.job_types().set(vec![info("work", 2)]);
    assert!(cost(&mut a) > silent);
    assert_eq!(cost(&mut a), silent);
}

on_each_database!(types_of_a_node_that_quartz_recovered_are_swept);
/// A node of Quartz that recovers one of ours knows nothing of what it published.
fn types_of_a_node_that_quartz_recovered_are_swept() {
    let cluster = Cluster::new(open());
    let _a = node_with(&cluster, "A", &[info("mail", 1)]);
    let _b = node_with(&cluster, "B", &[info("mail", 1)]);
    if cluster.store.database().describe().contains("memory") {
        return; // There both rows of an instance are one.
    }
    cluster.tamper(|s| {
        let row = |instance: &str| carnelian::store::row::JobTypeRow {
            instance: instance.to_owned(),
            ordinal: 0,
            job_type: "mail".to_owned(),
            version: 1,
            alias_of: None,
            deprecated: None,
        };
        s.put_job_types("gone", &[row("gone")])
    });
    assert_eq!(cluster.store.upkeep().audit().unwrap().swept, 1);
    cluster.tamper(|s| {
        assert_eq!(s.job_types()?.len(), 2);
        Ok(())
    });
}

on_each_database!(data_of_a_later_version_are_left_to_nodes_that_read_it);
/// DS-92, S9: in a rolling upgrade a node with the old code does not see data in the new form.
fn data_of_a_later_version_are_left_to_nodes_that_read_it() {
    let cluster = Cluster::new(open());
    let old = node_with(&cluster, "old", &[info("work", 1)]);
    let new = node_with(&cluster, "new", &[info("work", 2)]);
    cluster.schedule(job("first"), [once("t", "first", NOW)]);
    let work = vec![(job("second").build().unwrap(), vec![once("u", "second", NOW).build().unwrap()])];
    new.store.catalogue().schedule(work, false).unwrap();
    assert_eq!(new.store.catalogue().job(&job_key("second")).unwrap().unwrap().version(), Some(2));
    assert_eq!(new.store.catalogue().job(&job_key("first")).unwrap().unwrap().version(), Some(1));
    assert_eq!(cluster.store.catalogue().job(&job_key("first")).unwrap().unwrap().version(), None);

    let fired = old.acquire().fired;
    assert_eq!(names(&fired), ["t"]);
    assert_eq!(fired[0].job.version(), None, "it has nothing to tell apart");
    assert_eq!(old.store.firing().poll(None, "", &["work".to_owned()]).unwrap().earliest_ms, None);
    let second = new.fire_one();
    assert_eq!((second.job.key(), second.job.version()), (&job_key("second"), Some(2)));
    new.complete(&second);
    old.complete(&fired[0]);
    // With its job the version is gone.
    cluster.tamper(|s| {
        assert_eq!(s.job_versions(&[job_key("second")])?, []);
        Ok(())
    });
}

on_each_database!(data_that_were_upgraded_for_a_run_are_stored_with_their_version);
/// Upgraded data that a run stores are noted as such, and nobody with the old code fires the job
/// any more.
fn data_that_were_upgraded_for_a_run_are_stored_with_their_version() {
    let cluster = Cluster::new(open());
    let old = node_with(&cluster, "old", &[info("work", 1)]);
    let new = node_with(&cluster, "new", &[info("work", 2)]);
    let persisting = job("a").persist_job_data_after_execution(true).data("to", "ada");
    cluster.schedule(persisting, [minutely("t", "a", NOW), once("u", "a", NOW + 20 * SECOND)]);
    let acquired = new.acquire_with(1, |request| request.look_ahead_ms = 0).unwrap();
    let bundle = &acquired.fired[0];
    assert_eq!(bundle.job.version(), Some(1));
    let reserved = old.reserve_one();

    let mut data = bundle.job.data().clone();
    data.put("recipient", "ada");
    let mut end = bundle.completion(CompletionInstruction::NoInstruction, Some(data));
    end.data_version = Some(2);
    new.complete_all(&[end]);
    assert_eq!(cluster.store.catalogue().job(&job_key("a")).unwrap().unwrap().version(), Some(2));
    cluster.advance(20 * SECOND);
    assert_eq!(old.fire(&[reserved]).len(), 0, "the reservation was taken back");
    assert_eq!(old.acquire().fired.len(), 0);
    let next = new.fire_one();
    assert_eq!(next.job.version(), Some(2));
    new.complete(&next);
}

on_each_database!(a_job_that_was_given_another_type_is_not_fired_by_who_does_not_have_it);
/// A reservation does not outlive the type it was made for.
fn a_job_that_was_given_another_type_is_not_fired_by_who_does_not_have_it() {
    let cluster = Cluster::new(open());
    let a = node_with(&cluster, "A", &[info("work", 1)]);
    cluster.schedule(job("a"), [once("t", "a", NOW + 10 * SECOND)]);
    let reserved = a.reserve_one();
    let other = job("a").job_type("other").build().unwrap();
    cluster.store.catalogue().add_job_awaiting_trigger(&other, true).unwrap();
    cluster.advance(10 * SECOND);
    assert_eq!(a.fire(&[reserved]).len(), 0);
    assert_eq!(cluster.state("t"), "WAITING");
}

on_each_database!(a_job_has_the_version_it_was_stored_with_last);
fn a_job_has_the_version_it_was_stored_with_last() {
    let cluster = Cluster::new(open());
    let version = |name: &str| cluster.store.catalogue().job(&job_key(name)).unwrap().unwrap().version();
    let store =
        |job: carnelian::JobDetailBuilder| cluster.store.catalogue().add_job(&job.durable(true).build().unwrap(), true);
    store(job("a").version(4)).unwrap();
    assert_eq!(version("a"), Some(4));
    store(job("a").version(2)).unwrap();
    assert_eq!(version("a"), Some(2));
    store(job("a")).unwrap();
    assert_eq!(version("a"), None);
    store(job("a").version(3)).unwrap();
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    store(job("a")).unwrap();
    assert_eq!(version("a"), None, "another job of the same key");
    let error = job("a").version(0).build().unwrap_err().to_string();
    assert!(error.contains("the first version is 1"), "{error}");
    store(job("a").version(3)).unwrap();
    cluster.store.catalogue().clear().unwrap();
    store(job("a")).unwrap();
    assert_eq!(version("a"), None);
}

on_each_database!(later_versions_are_refused_beside_quartz);
/// A node of Quartz knows nothing of versions and takes every job.
fn later_versions_are_refused_beside_quartz() {
    let cluster = Cluster::new(open());
    let mut a = cluster.node("A");
    super::beside_quartz::java_joins(&cluster, &mut a);
    let job = |version| job("a").job_type("com.acme.Report").version(version).durable(true).build().unwrap();
    let error = cluster.store.catalogue().add_job(&job(2), false).unwrap_err();
    assert!(matches!(error, Error::Refused(_)) && error.to_string().contains("of version 2, and `java`"), "{error}");
    cluster.store.catalogue().add_job(&job(1), false).unwrap();
}

on_each_database!(nothing_new_is_taken_of_a_deprecated_type);
/// DS-97: what is stored of a deprecated type drains.
fn nothing_new_is_taken_of_a_deprecated_type() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("old"), [minutely("t", "old", NOW)]);
    let deprecated = JobTypeInfo { deprecated: Some("use `letters`".to_owned()), ..info("work", 1) };
    let a = node_with(&cluster, "A", &[deprecated]);
    let fire = a.fire_one();
    a.complete(&fire);

    let new = || job("new").durable(true);
    let error = a.store.catalogue().add_job(&new().build().unwrap(), false).unwrap_err().to_string();
    assert!(error.starts_with("job `jobs.new`: job type `work` is deprecated: use `letters`;"), "{error}");
    let error = a.store.catalogue().add_trigger(once("u", "old", NOW).build().unwrap(), false).unwrap_err().to_string();
    assert!(error.contains("trigger `triggers.u` of job `jobs.old`"), "{error}");
    // Work that is stored may be run, changed and ended.
    a.store.catalogue().trigger_job(&job_key("old"), carnelian::JobDataMap::new()).unwrap();
    a.store.catalogue().add_job(&job("old").durable(true).description("ends soon").build().unwrap(), true).unwrap();
    assert!(
        a.store
            .catalogue()
            .reschedule(&trigger_key("t"), minutely("t", "old", NOW).build().unwrap())
            .unwrap()
            .is_some()
    );
    // Forced, and by a program that knows nothing of types.
    a.store.catalogue().add_job(&new().even_if_deprecated().build().unwrap(), false).unwrap();
    cluster.store.catalogue().add_job(&job("newer").durable(true).build().unwrap(), false).unwrap();
    // A program without job types can ask the nodes.
    let store = cluster.stranger("nobody").store;
    store.job_types().learn(false).unwrap();
    let newest = || job("newest").durable(true).build().unwrap();
    assert!(store.catalogue().add_job(&newest(), false).is_err());
    store.job_types().learn(true).unwrap();
    store.catalogue().add_trigger(once("forced", "newer", NOW).build().unwrap(), false).unwrap();
    let b = node_with(&cluster, "B", &[info("work", 5)]);
    store.job_types().learn(false).unwrap();
    store.catalogue().add_job(&newest(), false).unwrap();
    assert_eq!(store.catalogue().job(&job_key("newest")).unwrap().unwrap().version(), Some(5), "the latest there is");
    drop(b);
}
