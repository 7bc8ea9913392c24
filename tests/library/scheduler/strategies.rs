//! Ticks that run on all nodes (LT-13, LT-60, LT-79, LT-80, LT-108; scenario 13).

use crate::scheduler::fixture::{Cluster, LONG};
use crate::support::wait_until;
use carnelian::placement::BlacklistEntry;
use carnelian::placement::{EligibleNode, NodePart, Placement, Strategy, Tick};
use carnelian::{Error, JobContext, JobDetail, JobKey, JobPolicy, Scheduler, SimpleSchedule, Trigger, TriggerKey};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The times at which each node ran.
type Seen = Arc<Mutex<BTreeMap<String, Vec<i64>>>>;

fn node(cluster: &Cluster, name: &'static str, seen: &Seen) -> Scheduler {
    let seen = Arc::clone(seen);
    let note = move |ctx: &mut JobContext| {
        let at_ms = ctx.scheduled_fire_time().timestamp_millis();
        seen.lock().entry(name.to_owned()).or_default().push(at_ms);
        Ok(())
    };
    cluster.node(name, 4).job_fn("note", note).build().unwrap()
}

/// Five nodes, one on the blacklist, one not allowed: each tick runs on three, once each, while one
/// leaves and one joins.
fn each_tick_runs_once_on_each_node_that_may(mut cluster: Cluster) {
    const TICKS: usize = 100;
    (cluster.checkin_interval, cluster.tolerance) = (Duration::from_millis(500), Duration::from_secs(60));
    let seen = Seen::default();
    let [n1, n2, n3, n4, n5] = ["n1", "n2", "n3", "n4", "n5"].map(|name| node(&cluster, name, &seen));
    n1.blacklist(&BlacklistEntry::new("n4").reason("disk full")).unwrap();
    for node in [&n1, &n2, &n3, &n4, &n5] {
        node.start().unwrap();
    }
    wait_until("all are there", LONG, || n1.store().upkeep().instances().unwrap().len() == 5);
    let placement = ["n1", "n2", "n3", "n4", "n6"].into_iter().fold(Placement::new(), Placement::allow_node);
    let policy = JobPolicy::new().strategy(Strategy::Broadcast).placement(placement);
    let detail = JobDetail::builder(JobKey::new("g", "j"), "note").policy(policy).build().unwrap();
    let trigger = Trigger::builder(TriggerKey::new("g", "t"), detail.key().clone());
    let every = SimpleSchedule::every(Duration::from_millis(60)).repeat(u32::try_from(TICKS).unwrap() - 1);
    n5.schedule_job(detail.clone(), trigger.schedule(every).build().unwrap()).unwrap();

    let count = |name: &str| seen.lock().get(name).map_or(0, Vec::len);
    wait_until("30 ticks", 2 * LONG, || count("n3") >= 30);
    assert!(n3.shutdown_and_wait().is_clean());
    wait_until("60 ticks", 2 * LONG, || count("n1") >= 60);
    let n6 = node(&cluster, "n6", &seen);
    n6.start().unwrap();
    wait_until("it is over", 4 * LONG, || !n1.job_exists(detail.key()).unwrap());
    cluster.await_quiet();
    cluster.assert_sound();

    let seen = std::mem::take(&mut *seen.lock());
    let set = |name: &str| seen.get(name).into_iter().flatten().copied().collect::<BTreeSet<i64>>();
    for (name, times) in &seen {
        assert_eq!(set(name).len(), times.len(), "{name} ran no tick twice");
    }
    let all: Vec<i64> = set("n1").into_iter().collect();
    assert_eq!((all.len(), set("n2")), (TICKS, set("n1")), "these two were there all the time");
    assert_eq!((set("n4"), set("n5")), (BTreeSet::new(), BTreeSet::new()));
    let left: Vec<i64> = set("n3").into_iter().collect();
    assert!(left.len() >= 30 && all.starts_with(&left), "each until it left: {left:?}");
    let joined: Vec<i64> = set("n6").into_iter().collect();
    assert!(!joined.is_empty() && all.ends_with(&joined), "each since it joined: {joined:?}");
}

#[test]
fn broadcast_on_memory() {
    each_tick_runs_once_on_each_node_that_may(Cluster::new());
}

#[cfg(feature = "sqlite")]
#[test]
fn broadcast_on_sqlite() {
    each_tick_runs_once_on_each_node_that_may(Cluster::on_sqlite());
}

#[cfg(feature = "postgres")]
#[test]
fn broadcast_on_postgres() {
    each_tick_runs_once_on_each_node_that_may(Cluster::on_server(&crate::support::postgres_url()));
}

#[cfg(feature = "mysql")]
#[test]
fn broadcast_on_mysql() {
    each_tick_runs_once_on_each_node_that_may(Cluster::on_server(&crate::support::mysql_url()));
}

/// LT-108: the shares of a tick are all the items, each once.
#[test]
fn items_are_split_over_the_nodes() {
    let cluster = Cluster::new();
    let seen: Arc<Mutex<Vec<(String, u32)>>> = Arc::default();
    let build = |name: &'static str| {
        let seen = Arc::clone(&seen);
        let work = move |ctx: &mut JobContext| {
            assert_eq!(ctx.shard().count, 3);
            seen.lock().extend(ctx.my_share(0..100).into_iter().map(|item| (name.to_owned(), item)));
            Ok(())
        };
        let node = cluster.node(name, 2).job_fn("work", work).build().unwrap();
        node.start().unwrap();
        node
    };
    let nodes = ["n1", "n2", "n3"].map(build);
    wait_until("all are there", LONG, || nodes[0].store().upkeep().instances().unwrap().len() == 3);
    let policy = JobPolicy::new().strategy(Strategy::Sharded);
    let detail = JobDetail::builder(JobKey::new("g", "j"), "work").policy(policy).requests_recovery(true);
    let detail = detail.build().unwrap();
    nodes[0].schedule_job(detail.clone(), crate::scheduler::fixture::now("t", &detail)).unwrap();
    wait_until("all is done", LONG, || seen.lock().len() == 100);
    cluster.await_quiet();
    let mut items = seen.lock().clone();
    items.sort_by_key(|(_, item)| *item);
    assert_eq!(items.iter().map(|(_, item)| *item).collect::<Vec<_>>(), (0..100).collect::<Vec<_>>());
    for name in ["n1", "n2", "n3"] {
        assert!((33..=34).contains(&items.iter().filter(|(node, _)| node == name).count()), "{name}");
    }
    cluster.assert_sound();
}

/// A run asks nobody which nodes there are: its node has seen them at its last check-in.
#[test]
fn a_run_knows_the_living_nodes() {
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(60));
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let saw = Arc::clone(&seen);
    let look = move |ctx: &mut JobContext| {
        *saw.lock() = ctx.live_nodes();
        Ok(())
    };
    let node = cluster.node("n1", 1).job_fn("look", look).build().unwrap();
    node.start().unwrap();
    let detail = JobDetail::builder(JobKey::new("g", "j"), "look").build().unwrap();
    let schedule = SimpleSchedule::every(Duration::from_millis(50));
    let trigger = Trigger::builder(TriggerKey::new("g", "t"), detail.key().clone()).schedule(schedule).build().unwrap();
    node.schedule_job(detail, trigger).unwrap();
    wait_until("it sees itself", LONG, || *seen.lock() == ["n1"]);
    let other = cluster.node("n2", 1).build().unwrap();
    other.start().unwrap();
    wait_until("it sees the other", LONG, || *seen.lock() == ["n1", "n2"]);
    assert!(other.shutdown_and_wait().is_clean());
    wait_until("it sees that the other has left", LONG, || *seen.lock() == ["n1"]);
    node.clear().unwrap();
}

/// LT-13: a strategy of the user's own is registered with the builder, and a run reads what its
/// part is told; one that has no answer ends nothing, and is named.
#[test]
fn nodes_run_the_parts_that_a_strategy_of_the_users_gives_them() {
    let cluster = Cluster::new();
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let last_first = |_: &Tick<'_>, nodes: &[EligibleNode]| {
        let told = |node: &EligibleNode| format!("{} of {}", node.info.node_name, node.info.pool_size);
        Ok(nodes.iter().rev().take(2).map(|node| NodePart::of(node).with(told(node))).collect())
    };
    let broken = |tick: &Tick<'_>, _: &[EligibleNode]| panic!("no rule for {}", tick.trigger);
    let build = |name: &str| {
        let seen = Arc::clone(&seen);
        let work = move |ctx: &mut JobContext| {
            let shard = ctx.shard();
            let told = ctx.part_parameter().unwrap_or("nothing").to_owned();
            seen.lock().push(format!("{} {}/{} {told}", ctx.instance_id(), shard.index, shard.count));
            Ok(())
        };
        let properties = format!("threadPool.threadCount = 2\ncarnelian.scheduler.nodeName = place-{name}");
        let node = cluster.node_with(name, &properties).job_fn("work", work);
        let node = node.execution_strategy("last-first", last_first).execution_strategy("broken", broken);
        let node = node.build().unwrap();
        node.start().unwrap();
        node
    };
    let nodes = ["n1", "n2", "n3"].map(build);
    wait_until("all are there", LONG, || nodes[0].store().upkeep().instances().unwrap().len() == 3);
    let with = |name: &str, strategy: &str| {
        let policy = JobPolicy::new().strategy(strategy);
        JobDetail::builder(JobKey::new("g", name), "work").policy(policy).build().unwrap()
    };
    let (broken, good) = (with("broken", "broken"), with("good", "last-first"));
    nodes[0].schedule_job(broken.clone(), crate::scheduler::fixture::now("b", &broken)).unwrap();
    let named = |node: &Scheduler| node.health().quarantined;
    wait_until("it is named", LONG, || nodes.iter().any(|node| !named(node).is_empty()));
    let (key, why) = nodes.iter().flat_map(named).next().unwrap();
    assert_eq!(key.name(), "b");
    assert!(why.contains("strategy `broken` panicked: no rule for"), "{why}");

    nodes[0].schedule_job(good.clone(), crate::scheduler::fixture::now("t", &good)).unwrap();
    wait_until("both parts have run", LONG, || seen.lock().len() == 2);
    let mut ran = seen.lock().clone();
    ran.sort();
    assert_eq!(ran, ["n2 1/2 place-n2 of 2", "n3 0/2 place-n3 of 2"]);
    assert!(nodes[0].job_exists(broken.key()).unwrap(), "its tick waits for an answer");
    cluster.await_quiet();
    cluster.assert_sound();

    let twice = cluster.node("n4", 1).execution_strategy("a", last_first).execution_strategy("a", last_first).build();
    assert!(matches!(twice, Err(Error::Refused(_))));
}
