//! Marks of jobs (PA-01, DS-99, LT-03, LT-14): stored with them, found by them, gone with them; and
//! work that is submitted.

use super::*;
use carnelian::store::Request;
use carnelian::{GroupMatcher, JobFilter, JobMarks};

fn marks() -> JobMarks {
    JobMarks::new()
        .biz_key("order-17")
        .name("Invoice of order 17")
        .owner("ada")
        .tag("billing")
        .tag("ü")
        .metadata("k", "v")
}

fn stored(cluster: &Cluster, name: &str) -> Option<JobMarks> {
    cluster.store.catalogue().job(&job_key(name)).unwrap().map(|job| job.marks().clone())
}

fn found(cluster: &Cluster, filter: &JobFilter) -> Vec<String> {
    cluster.store.catalogue().find_jobs(filter).unwrap().iter().map(|job| job.key().name().to_owned()).collect()
}

/// Every job that was ever found by something, by that.
fn all_found(cluster: &Cluster) -> Vec<String> {
    let filters = ["order-17", "x"].map(|key| JobFilter::new().biz_key(key));
    let tags = ["billing", "ü", "x"].map(|tag| JobFilter::new().tag(tag));
    filters.iter().chain(&tags).flat_map(|filter| found(cluster, filter)).collect()
}

on_each_database!(jobs_triggers_and_fires_are_found_by_the_marks_of_their_jobs);
fn jobs_triggers_and_fires_are_found_by_the_marks_of_their_jobs() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    cluster.schedule(job("a").marks(marks()), [once("t", "a", NOW), once("later", "a", NOW + MINUTE)]);
    cluster.schedule(job("b").marks(JobMarks::new().tag("billing").owner("bob")), [once("u", "b", NOW)]);
    cluster.schedule(job("c"), [once("v", "c", NOW)]);
    assert_eq!((stored(&cluster, "a"), stored(&cluster, "c")), (Some(marks()), Some(JobMarks::new())));
    let all = || JobFilter::new();
    assert_eq!(found(&cluster, &all()), ["a", "b", "c"]);
    assert_eq!(found(&cluster, &all().tag("billing")), ["a", "b"]);
    assert_eq!(found(&cluster, &all().tag("billing").tag("ü")), ["a"]);
    assert_eq!(found(&cluster, &all().tag("billing").owner("bob")), ["b"]);
    assert_eq!(found(&cluster, &all().biz_key("order-17").groups(GroupMatcher::equals("jobs"))), ["a"]);
    assert_eq!(found(&cluster, &all().biz_key("order-17").groups(GroupMatcher::equals("other"))), [""; 0]);
    assert_eq!(found(&cluster, &all().owner("ADA")), [""; 0], "as it was written");
    assert_eq!(cluster.store.catalogue().find_jobs(&all().tag("ü")).unwrap()[0].marks(), &marks());
    let triggers = cluster.store.catalogue().find_triggers(&all().tag("billing")).unwrap();
    assert_eq!(triggers.iter().map(|t| t.key.name()).collect::<Vec<_>>(), ["later", "t", "u"]);
    assert_eq!(node.acquire().fired.len(), 3);
    let fires = cluster.store.catalogue().find_fired(&all().owner("ada")).unwrap();
    assert_eq!(fires.iter().map(|fire| fire.trigger.name()).collect::<Vec<_>>(), ["t"]);
    assert_eq!(cluster.store.catalogue().find_fired(&all()).unwrap().len(), 3);
}

on_each_database!(the_triggers_of_many_marked_jobs_are_found);
/// Many jobs of one tag: their triggers are not asked for one by one.
fn the_triggers_of_many_marked_jobs_are_found() {
    let cluster = Cluster::new(open());
    for n in 0..60 {
        let name = format!("j{n}");
        let tag = if n % 6 == 0 { "sixth" } else { "other" };
        cluster.schedule(job(&name).marks(JobMarks::new().tag("x").tag(tag)), [once(&name, &name, NOW)]);
    }
    let count = |tag: &str| cluster.store.catalogue().find_triggers(&JobFilter::new().tag(tag)).unwrap().len();
    assert_eq!((count("x"), count("sixth"), count("other"), count("none")), (60, 10, 50, 0));
}

on_each_database!(marks_go_with_their_job_and_are_replaced_with_it);
fn marks_go_with_their_job_and_are_replaced_with_it() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    cluster.schedule(job("a").marks(marks()), [once("t", "a", NOW)]);
    // Not durable: with its last fire the job goes.
    let fire = node.fire_one();
    node.complete(&fire);
    assert_eq!((stored(&cluster, "a"), all_found(&cluster)), (None, Vec::new()));
    cluster.schedule(job("a"), [once("t", "a", NOW + MINUTE)]);
    assert_eq!((stored(&cluster, "a"), all_found(&cluster)), (Some(JobMarks::new()), Vec::new()));
    cluster.store.catalogue().clear().unwrap();

    let put = |marks: JobMarks| {
        cluster.store.catalogue().add_job(&job("a").durable(true).marks(marks).build().unwrap(), true).unwrap();
    };
    put(marks());
    put(JobMarks::new().tag("x"));
    assert_eq!(all_found(&cluster), ["a"]);
    put(JobMarks::new());
    assert_eq!(all_found(&cluster), [""; 0]);
    put(marks());
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    put(JobMarks::new());
    assert_eq!((stored(&cluster, "a"), all_found(&cluster)), (Some(JobMarks::new()), Vec::new()));
    put(marks());
    cluster.store.catalogue().clear().unwrap();
    put(JobMarks::new());
    assert_eq!(all_found(&cluster), [""; 0]);
}

on_each_database!(marks_stay_with_a_job_that_is_renamed_or_migrated);
/// A job that gets another key or another type is the same job.
fn marks_stay_with_a_job_that_is_renamed_or_migrated() {
    let cluster = Cluster::new(open());
    cluster.schedule(job("a").marks(marks()), [once("t", "a", NOW + MINUTE)]);
    cluster.store.catalogue().rename_job(&job_key("a"), &job_key("b"), false).unwrap();
    assert_eq!((stored(&cluster, "a"), stored(&cluster, "b")), (None, Some(marks())));
    assert_eq!(all_found(&cluster), ["b", "b", "b"]);
    let old = cluster.store.catalogue().job(&job_key("b")).unwrap().unwrap().job_type().to_owned();
    assert_eq!(cluster.store.job_types().migrate(&old, "another", None, false).unwrap().changed, [job_key("b")]);
    assert_eq!((stored(&cluster, "b"), all_found(&cluster).len()), (Some(marks()), 3));
}

on_each_database!(marks_that_cannot_be_read_are_named_and_the_job_runs);
fn marks_that_cannot_be_read_are_named_and_the_job_runs() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    cluster.tamper(|s| {
        let mut row = s.job(&job_key("a"))?.unwrap();
        row.marks = Some("{".to_owned());
        s.update_job(&row)
    });
    let error = cluster.store.catalogue().job(&job_key("a")).unwrap_err().to_string();
    assert!(error.contains("CN_JOB_MARKS") && error.contains("jobs.a"), "{error}");
    assert_eq!(found(&cluster, &JobFilter::new()), ["a"], "the list goes on");
    let fire = node.fire_one();
    node.complete(&fire);
}

on_each_database!(a_request_that_is_asked_again_keeps_its_marks);
/// PA-05, PA-01: work of a request keeps its business key while it waits, and is not stored twice.
fn a_request_that_is_asked_again_keeps_its_marks() {
    let cluster = Cluster::new(open());
    let request = |name: &str| Request {
        request_id: Some("r1".to_owned()),
        job: job(name).marks(marks()).build().unwrap(),
        trigger: once(name, name, NOW).build().unwrap(),
        then: Vec::new(),
    };
    let taken = cluster.store.catalogue().take_requests(&[request("a"), request("b")]).unwrap();
    assert_eq!(
        taken.iter().map(|taken| (taken.job.name(), taken.is_new)).collect::<Vec<_>>(),
        [("a", true), ("a", false)]
    );
    assert!(!cluster.store.catalogue().take_requests(&[request("c")]).unwrap()[0].is_new);
    assert_eq!(all_found(&cluster), ["a", "a", "a"]);
}
