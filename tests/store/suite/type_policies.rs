//! Policies of job types: what holds for their jobs, whoever ends or recovers the runs.

use super::job_types::info;
use super::*;
use carnelian::{JobPolicy, OnDead, RetryPolicy};
use std::collections::BTreeMap;
use std::time::Duration;

fn of_type() -> JobPolicy {
    JobPolicy::new()
        .retry(RetryPolicy::fixed(Duration::from_secs(5)).max_attempts(3))
        .timeout(Duration::from_secs(90))
        .on_dead(OnDead::Revive)
        .max_takeovers(1)
}

/// A node that has the type `work`, with a policy.
fn typed(cluster: &Cluster, name: &str, policy: JobPolicy) -> Node {
    let mut node = cluster.stranger(name);
    let policies = BTreeMap::from([("work".to_owned(), policy)]);
    node.store.job_types().set_with_policies(vec![info("work", 1)], policies);
    assert!(node.check_in().registered);
    node
}

/// A node without the type, when the others are dead.
fn stranger_alone(cluster: &Cluster, name: &str) -> Node {
    cluster.advance(WINDOW + SECOND);
    super::job_types::node_with(cluster, name, &[info("other", 1)])
}

on_each_database!(a_run_has_the_policy_of_its_type_where_its_own_says_nothing);
fn a_run_has_the_policy_of_its_type_where_its_own_says_nothing() {
    let cluster = Cluster::new(open());
    let a = typed(&cluster, "A", of_type());
    let own = JobPolicy::new().timeout(Duration::from_secs(1));
    cluster.schedule(job("own").policy(own), [once("t", "own", NOW)]);
    cluster.schedule(job("none"), [once("u", "none", NOW + SECOND)]);
    cluster.advance(SECOND);
    let fired = a.acquire().fired;
    let policy = |name: &str| fired.iter().find(|f| f.job.key() == &job_key(name)).unwrap().job.policy().clone();
    assert_eq!(policy("none"), of_type());
    assert_eq!(policy("own"), of_type().timeout(Duration::from_secs(1)));
    for bundle in &fired {
        a.complete(bundle);
    }
    let stored = cluster.store.catalogue().jobs(&carnelian::GroupMatcher::Any).unwrap();
    assert_eq!(stored.len(), 0, "nothing was stored with the jobs");
}

on_each_database!(who_recovers_needs_not_have_the_type);
/// A node that does not have the type recovers and parks by its policy.
fn who_recovers_needs_not_have_the_type() {
    let cluster = Cluster::new(open());
    let a = typed(&cluster, "A", of_type());
    cluster.schedule(job("a").requests_recovery(true), [once("t", "a", NOW)]);
    a.fire_one();
    let _b = stranger_alone(&cluster, "B");
    assert_eq!((cluster.state("t").as_str(), cluster.recovery_triggers().len()), ("WAITING", 0), "it is revived");
    // Once is the limit.
    let c = typed(&cluster, "C", of_type());
    c.fire_one();
    let _d = stranger_alone(&cluster, "D");
    assert_eq!(cluster.store.catalogue().parked().unwrap().len(), 1);
}

on_each_database!(who_declares_a_fire_failed_needs_not_have_the_type);
fn who_declares_a_fire_failed_needs_not_have_the_type() {
    let cluster = Cluster::new(open());
    let a = typed(&cluster, "A", of_type());
    cluster.schedule(job("a"), [once("t", "a", NOW)]);
    let fire = a.fire_one();
    let failed = cluster.store.firing().fail_fire(&fire.fire_id, "it hangs").unwrap().unwrap();
    assert_eq!(failed.retried_after, Some(Duration::from_secs(5)));
}

on_each_database!(the_last_node_that_has_the_type_says_its_policy);
/// The node that spoke last counts, also if it says that there is no policy.
fn the_last_node_that_has_the_type_says_its_policy() {
    let cluster = Cluster::new(open());
    let known = || cluster.store.job_types().policies().unwrap();
    let mut a = typed(&cluster, "A", of_type());
    assert_eq!(known(), BTreeMap::from([("work".to_owned(), of_type())]));
    let other = JobPolicy::new().timeout(Duration::from_secs(7));
    let _b = typed(&cluster, "B", other.clone());
    assert_eq!(known(), BTreeMap::from([("work".to_owned(), other)]));
    let _c = super::job_types::node_with(&cluster, "C", &[info("other", 1)]);
    assert_eq!(known().len(), 1, "a node without the type says nothing of it");
    a.store.job_types().set(vec![info("work", 1)]);
    a.check_in();
    assert_eq!(known(), BTreeMap::new());
}
