//! Policies of jobs: stored with them, seen by their fires, and gone with them.

use super::*;
use carnelian::{JobPolicy, OnDead, StuckAction};
use std::time::Duration;

fn policy() -> JobPolicy {
    JobPolicy::new()
        .timeout(Duration::from_secs(90))
        .stuck_after(Duration::from_secs(30), StuckAction::FailOver)
        .on_dead(OnDead::NextFire)
}

fn stored(cluster: &Cluster, name: &str) -> Option<JobPolicy> {
    cluster.store.catalogue().job(&job_key(name)).unwrap().map(|job| job.policy().clone())
}

on_each_database!(a_policy_is_stored_with_its_job_and_seen_by_its_fires);
fn a_policy_is_stored_with_its_job_and_seen_by_its_fires() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    cluster.schedule(job("a").policy(policy()), [once("t", "a", NOW)]);
    cluster.schedule(job("b"), [once("u", "b", NOW)]);
    assert_eq!((stored(&cluster, "a"), stored(&cluster, "b")), (Some(policy()), Some(JobPolicy::new())));
    let fires = node.acquire().fired;
    let seen = |name: &str| fires.iter().find(|fire| fire.job.key().name() == name).unwrap().job.policy().clone();
    assert_eq!((seen("a"), seen("b")), (policy(), JobPolicy::new()));
    let listed = cluster.store.catalogue().jobs(&carnelian::GroupMatcher::Any).unwrap();
    assert_eq!(listed[0].policy(), &policy());

    // Neither job is durable: with their last fire they go, and so does the policy.
    for fire in &fires {
        node.complete(fire);
    }
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    assert_eq!(stored(&cluster, "a"), Some(JobPolicy::new()));
}

on_each_database!(a_job_that_is_replaced_has_the_policy_of_the_new_one);
fn a_job_that_is_replaced_has_the_policy_of_the_new_one() {
    let cluster = Cluster::new(open());
    cluster.store.catalogue().add_job(&job("a").durable(true).policy(policy()).build().unwrap(), false).unwrap();
    let other = JobPolicy::new().timeout(Duration::from_secs(1));
    cluster.store.catalogue().add_job(&job("a").durable(true).policy(other.clone()).build().unwrap(), true).unwrap();
    assert_eq!(stored(&cluster, "a"), Some(other));
    cluster.store.catalogue().add_job(&job("a").durable(true).build().unwrap(), true).unwrap();
    assert_eq!(stored(&cluster, "a"), Some(JobPolicy::new()));
    cluster.store.catalogue().add_job(&job("a").durable(true).policy(policy()).build().unwrap(), true).unwrap();
    cluster.store.catalogue().delete_jobs(&[job_key("a")]).unwrap();
    cluster.store.catalogue().add_job(&job("a").durable(true).build().unwrap(), true).unwrap();
    assert_eq!(stored(&cluster, "a"), Some(JobPolicy::new()));
    cluster.store.catalogue().clear().unwrap();
}

on_each_database!(a_policy_that_cannot_be_read_is_named);
/// A later version may write what this one cannot read; the job is quarantined, not run without its
/// policy.
fn a_policy_that_cannot_be_read_is_named() {
    let cluster = Cluster::new(open());
    let node = cluster.node("A");
    cluster.schedule(job("a").durable(true), [once("t", "a", NOW)]);
    cluster.tamper(|s| {
        let mut row = s.job(&job_key("a"))?.unwrap();
        row.policy = Some("{\"timeout\":\"soon\"}".to_owned());
        s.update_job(&row)
    });
    let acquisition = node.acquire();
    assert_eq!(acquisition.fired.len(), 0);
    let (key, reason) = &acquisition.unreadable[0];
    assert_eq!(key, &trigger_key("t"));
    assert!(reason.contains("CN_JOB_POLICIES") && reason.contains("jobs.a"), "{reason}");
}
