//! Placement: nodes that take no work, preferred nodes, limits of groups, and observers (LT-17,
//! LT-60, LT-61, DS-86, QZ-22).

use crate::scheduler::fixture::{Cluster, LONG, job, now};
use crate::support::wait_until;
use carnelian::placement::BlacklistEntry;
use carnelian::placement::Placement;
use carnelian::{JobContext, JobDetail, JobKey, JobPolicy, Outcome, Scheduler, StopReason};
use crossbeam_channel::bounded;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// A cluster whose nodes check in often and are never taken for dead.
fn cluster() -> Cluster {
    Cluster::with_checkin(Duration::from_millis(200), Duration::from_secs(60))
}

/// A node with a job type `note` that does nothing.
fn node(cluster: &Cluster, name: &str, more: &str) -> Scheduler {
    let properties = format!("threadPool.threadCount = 4\n{more}");
    let node = cluster.node_with(name, &properties).job_fn("note", |_: &mut JobContext| Ok(())).build().unwrap();
    node.start().unwrap();
    node
}

fn succeeded(node: &Scheduler) -> u64 {
    node.health().counters.succeeded
}

fn schedule(by: &Scheduler, names: &str, count: usize) {
    for n in 0..count {
        let detail = job(&format!("{names}{n}"), "note");
        by.schedule_job(detail.clone(), now(&format!("{names}{n}"), &detail)).unwrap();
    }
}

/// LT-60, LT-61.
#[test]
fn a_blacklisted_node_takes_nothing_more_and_goes_on_with_what_it_runs() {
    let cluster = cluster();
    let (go, gate) = bounded::<()>(0);
    let properties = "threadPool.threadCount = 4";
    let first = cluster.node_with("n1", properties).job_fn("note", |_: &mut JobContext| Ok(()));
    let first = first.job_fn("gated", move |_: &mut JobContext| Ok(gate.recv()?)).build().unwrap();
    first.start().unwrap();
    let second = node(&cluster, "n2", "");
    let detail = job("gated", "gated");
    second.schedule_job(detail.clone(), now("gated", &detail)).unwrap();
    wait_until("it runs", LONG, || first.running_here().len() == 1);

    second.blacklist(&BlacklistEntry::new("n1").reason("disk full")).unwrap();
    wait_until("n1 knows", LONG, || first.health().takes_no_work.is_some_and(|why| why.contains("disk full")));
    assert!(!first.health().is_firing);
    schedule(&first, "j", 20);
    wait_until("all have run", LONG, || succeeded(&second) == 20);
    assert_eq!(first.running_here().len(), 1, "what it runs is untouched");
    go.send(()).unwrap();
    wait_until("it has ended", LONG, || succeeded(&first) == 1);

    assert!(second.unblacklist("n1").unwrap());
    wait_until("n1 takes work again", LONG, || first.health().is_firing);
    second.standby();
    schedule(&second, "k", 5);
    wait_until("n1 has run them", LONG, || succeeded(&first) == 6);
    cluster.await_quiet();
    cluster.assert_sound();
}

/// The node of a run, and the reason for which the run was to stop.
type Seen = (String, Option<StopReason>);

#[test]
fn a_node_that_is_drained_with_stop_gives_its_work_to_others() {
    let cluster = cluster();
    let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
    let build = |name: &'static str| {
        let seen = Arc::clone(&seen);
        let work = move |ctx: &mut JobContext| {
            while name == "n1" && !ctx.should_stop() {
                let _ = ctx.wait(Duration::from_millis(50));
            }
            seen.lock().push((name.to_owned(), ctx.stop_reason()));
            Ok(if name == "n1" { Outcome::Stopped } else { Outcome::Succeeded })
        };
        let node = cluster.node(name, 2).job_fn("work", work).build().unwrap();
        node.start().unwrap();
        node
    };
    let first = build("n1");
    let detail = JobDetail::builder(JobKey::new("g", "j"), "work").requests_recovery(true).build().unwrap();
    first.schedule_job(detail.clone(), now("t", &detail)).unwrap();
    wait_until("it runs", LONG, || first.running_here().len() == 1);
    let second = build("n2");
    second.drain_and_stop("n1").unwrap();
    wait_until("it has run elsewhere", LONG, || succeeded(&second) == 1);
    let expected = [("n1".to_owned(), Some(StopReason::Drained)), ("n2".to_owned(), None)];
    assert_eq!(*seen.lock(), expected);
    assert!(second.undrain("n1").unwrap());
    wait_until("n1 takes work again", LONG, || first.health().is_firing);
    cluster.await_quiet();
    cluster.assert_sound();
}

#[test]
fn others_take_the_work_of_a_preferred_node_when_that_is_gone() {
    let cluster = cluster();
    let (first, second) = (node(&cluster, "n1", ""), node(&cluster, "n2", "carnelian.scheduler.nodeName = rack7"));
    // Both have seen the other.
    let checkins = |node: &Scheduler| node.health().services.iter().find(|one| one.name == "cluster").unwrap().runs;
    let before = checkins(&first);
    wait_until("n1 has looked", LONG, || checkins(&first) > before + 1);
    let prefer = |name: String| {
        let placement = Placement::new().prefer_node("n2").prefer_grace(Duration::from_secs(3600));
        let detail = JobDetail::builder(JobKey::new("g", name.as_str()), "note");
        let detail = detail.policy(JobPolicy::new().placement(placement)).build().unwrap();
        first.schedule_job(detail.clone(), now(&name, &detail)).unwrap();
    };
    (0..10).for_each(|n| prefer(format!("j{n}")));
    wait_until("all have run", LONG, || succeeded(&second) == 10);
    assert!(second.shutdown_and_wait().is_clean());
    (0..10).for_each(|n| prefer(format!("k{n}")));
    wait_until("all have run", LONG, || succeeded(&first) == 10);
    cluster.await_quiet();
    cluster.assert_sound();
}

/// The number of runs on each node, and the largest number ever, there and in all.
#[derive(Default)]
struct Inside {
    now: BTreeMap<&'static str, usize>,
    most_on_one: usize,
    most: usize,
    runs: usize,
}

fn racing_nodes_keep_a_limit(cluster: &Cluster) {
    const RUNS: usize = 60;
    let inside: Arc<Mutex<Inside>> = Arc::default();
    let nodes: Vec<Scheduler> = ["n1", "n2", "n3"]
        .into_iter()
        .map(|name| {
            let inside = Arc::clone(&inside);
            let work = move |_: &mut JobContext| {
                {
                    let mut inside = inside.lock();
                    let here = inside.now.entry(name).or_default();
                    *here += 1;
                    let here = *here;
                    let all = inside.now.values().sum();
                    inside.most_on_one = inside.most_on_one.max(here);
                    inside.most = inside.most.max(all);
                    inside.runs += 1;
                }
                (0..50).for_each(|_| std::thread::yield_now());
                *inside.lock().now.entry(name).or_default() -= 1;
                Ok(())
            };
            cluster.node(name, 5).job_fn("note", work).build().unwrap()
        })
        .collect();
    nodes[0].set_group_limit("g", Some(2), Some(3)).unwrap();
    for n in 0..RUNS {
        let detail = job(&format!("j{n}"), "note");
        assert_eq!(detail.key().group(), "g");
        nodes[0].schedule_job(detail.clone(), now(&format!("t{n}"), &detail)).unwrap();
    }
    nodes.iter().for_each(|node| node.start().unwrap());
    wait_until("all have run", LONG, || inside.lock().runs == RUNS);
    cluster.await_quiet();
    let inside = inside.lock();
    assert!(inside.most <= 3 && inside.most_on_one <= 2, "{} in all, {} on one", inside.most, inside.most_on_one);
    assert!(inside.most >= 2, "they ran beside each other: {}", inside.most);
    cluster.assert_sound();
}

#[test]
fn racing_nodes_never_run_more_of_a_group_than_there_may_be() {
    racing_nodes_keep_a_limit(&Cluster::new());
}

#[cfg(feature = "sqlite")]
#[test]
fn racing_nodes_on_sqlite_never_run_more_of_a_group_than_there_may_be() {
    racing_nodes_keep_a_limit(&Cluster::on_sqlite());
}

/// DS-86; in active-passive mode (QZ-22) as well, where it is never the active node.
#[test]
fn an_observer_looks_after_the_cluster_and_runs_nothing() {
    let cluster = cluster();
    let passive = "jobStore.isClustered = true\njobStore.dataSource = x\ndataSource.x.URL = sqlite::memory:\n\
        carnelian.cluster.mode = active-passive\n";
    let observer = node(&cluster, "admin", &format!("{passive}carnelian.scheduler.role = observer"));
    assert!(observer.health().takes_no_work.is_some_and(|why| why.contains("observer")));
    let (first, second) = (node(&cluster, "n1", passive), node(&cluster, "n2", passive));
    wait_until("the first worker is active", LONG, || first.health().is_active);
    schedule(&observer, "j", 10);
    wait_until("all have run", LONG, || succeeded(&first) == 10);

    // The active one dies, as far as others can see.
    first.standby();
    cluster.convict("n1");
    wait_until("the second is active", LONG, || second.health().is_active);
    schedule(&observer, "k", 10);
    wait_until("all have run", LONG, || succeeded(&second) == 10);
    assert!(second.shutdown_and_wait().is_clean());
    first.start().unwrap();
    wait_until("the first is active again", LONG, || first.health().is_active);
    let health = observer.health();
    assert!(health.is_registered && !health.is_active && !health.is_firing);
    assert_eq!((succeeded(&observer), health.counters.checkin_failures), (0, 0));
    cluster.await_quiet();
}

/// QZ-22: a drained active node hands over too.
#[test]
fn a_drained_active_node_hands_over() {
    let cluster = cluster();
    let passive = "jobStore.isClustered = true\njobStore.dataSource = x\ndataSource.x.URL = sqlite::memory:\n\
        carnelian.cluster.mode = active-passive";
    let (first, second) = (node(&cluster, "n1", passive), node(&cluster, "n2", passive));
    wait_until("the first is active", LONG, || first.health().is_active);
    second.drain("n1").unwrap();
    wait_until("the second is active", LONG, || second.health().is_active);
    assert!(!first.health().is_active);
    schedule(&first, "j", 5);
    wait_until("all have run", LONG, || succeeded(&second) == 5);
    second.undrain("n1").unwrap();
    wait_until("the first is active", LONG, || first.health().is_active);
    schedule(&second, "k", 5);
    wait_until("all have run", LONG, || succeeded(&first) == 5);
    cluster.await_quiet();
    cluster.assert_sound();
}

#[test]
fn orders_have_the_name_of_who_gives_them() {
    let cluster = cluster();
    let program = node(&cluster, "n1", "");
    let ada = program.as_actor("ada");
    program.drain("n7").unwrap();
    ada.drain("n8").unwrap();
    ada.blacklist(&BlacklistEntry::new("n9")).unwrap();
    ada.set_group_limit("g", Some(1), None).unwrap();
    let orders = program.blacklist_rows().unwrap().into_iter().map(|row| (row.node, row.who));
    let expected = [("n7", "n1"), ("n8", "ada"), ("n9", "ada")].map(|(node, who)| (node.to_owned(), who.to_owned()));
    assert_eq!(orders.collect::<BTreeMap<_, _>>(), BTreeMap::from(expected));
    assert_eq!(program.group_limits().unwrap()[0].who, "ada");
    assert_eq!(ada.start_recovery().unwrap().begun_by, "ada");
}
