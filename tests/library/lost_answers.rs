//! Connections that are all cut while a commit is on its way, as by a restarted server or a
//! balancer. Committed work runs, however long the store cannot be asked, and later calls do not
//! suffer.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

use crate::support::{self, cutting_proxy::Proxy, wait_until};
use carnelian::history::HistoryQuery;
use carnelian::settings::Settings;
use carnelian::{IfExists, JobContext, JobDetail, JobKey, Scheduler, Trigger, TriggerKey};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const LONG: Duration = Duration::from_secs(60);

/// The number of commits that are cut; more by `CARNELIAN_CUTS`.
fn cuts() -> usize {
    std::env::var("CARNELIAN_CUTS").ok().and_then(|text| text.parse().ok()).unwrap_or(2)
}

fn scheduler(name: &str, url: &str) -> Scheduler {
    let text = format!(
        "scheduler.instanceName = {name}\nscheduler.instanceId = AUTO\nthreadPool.threadCount = 4\n\
         jobStore.isClustered = true\njobStore.dataSource = db\ndataSource.db.URL = {url}\n"
    );
    let settings = Settings::from_text("test", &text, |_| None).unwrap();
    Scheduler::builder().settings(settings).job_fn("pay", |_: &mut JobContext| Ok(())).build().unwrap()
}

/// Waits until so many connections of the node are open and idle.
fn open_connections(node: &Scheduler, proxy: &Proxy, count: usize) {
    let ended = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..10 {
            scope.spawn(|| {
                while ended.load(Ordering::SeqCst) == 0 {
                    node.store().upkeep().snapshot().unwrap();
                }
            });
        }
        let waited = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            wait_until("they are open", LONG, || proxy.connections() >= count);
        }));
        ended.store(1, Ordering::SeqCst);
        waited.unwrap();
    });
}

/// One-shots whose job asks for no recovery: a lost one is lost for ever. The node that fires one
/// is cut off when it commits, with all its connections, and finds no server for the outage.
fn none_is_lost(url: &str, outage: Duration) {
    let name = support::fresh_name("cut");
    let proxy = Proxy::before(url);
    let outside = scheduler(&name, url);
    outside.migrate().unwrap();
    let node = scheduler(&name, &proxy.url(url));
    node.start().unwrap();
    let job = JobDetail::builder(JobKey::named("pay"), "pay").durable(true).build().unwrap();
    outside.add_job(&job, IfExists::Refuse).unwrap();
    let mut lost = 0;
    for n in 0..cuts() {
        open_connections(&node, &proxy, 9);
        let key = TriggerKey::named(format!("one-shot-{n}-of-{name}"));
        proxy.cut_at_commit_with(key.name(), outage);
        let stored = outside.schedule_trigger(Trigger::builder(key.clone(), job.key().clone()).build().unwrap());
        stored.unwrap();
        wait_until("the commit was cut", LONG, || proxy.cuts() > n);
        let of_it = HistoryQuery::new().trigger(key.clone());
        let ended = || outside.history(&of_it).unwrap_or_default();
        wait_until("it has ended", LONG, || !ended().is_empty());
        let runs = ended();
        let is_good = runs.len() == 1 && runs[0].error.is_none();
        if !is_good {
            println!("{runs:?}");
        }
        lost += usize::from(!is_good);
        // The first call after it finds a connection that works.
        node.pause_trigger(&key).unwrap();
    }
    println!("{} cuts, outage {outage:?}: {lost} lost", cuts());
    assert_eq!(lost, 0);
    assert!(node.shutdown_and_wait().is_clean());
    outside.store().database().forget_scheduler().unwrap();
}

#[test]
fn a_one_shot_is_not_lost_with_the_answer_of_its_commit_on_postgres() {
    none_is_lost(&support::postgres_url(), Duration::ZERO);
    none_is_lost(&support::postgres_url(), Duration::from_secs(1));
}

#[test]
fn a_one_shot_is_not_lost_with_the_answer_of_its_commit_on_mysql() {
    none_is_lost(&support::mysql_url(), Duration::ZERO);
    none_is_lost(&support::mysql_url(), Duration::from_secs(1));
}

/// A server that was restarted is there again: calls need not first find out for each connection
/// that it is dead.
#[test]
fn calls_right_after_all_connections_were_cut_succeed() {
    for url in [support::postgres_url(), support::mysql_url()] {
        let name = support::fresh_name("cut");
        let proxy = Proxy::before(&url);
        let node = scheduler(&name, &proxy.url(&url));
        node.migrate().unwrap();
        let job = JobDetail::builder(JobKey::named("pay"), "pay").durable(true).build().unwrap();
        node.add_job(&job, IfExists::Refuse).unwrap();
        let stored = Arc::new(AtomicUsize::new(0));
        for round in 0..5 {
            open_connections(&node, &proxy, 9);
            proxy.cut();
            let key = TriggerKey::named(format!("t{round}"));
            node.schedule_trigger(Trigger::builder(key.clone(), job.key().clone()).build().unwrap()).unwrap();
            open_connections(&node, &proxy, 9);
            proxy.cut();
            node.pause_trigger(&key).unwrap();
            stored.fetch_add(1, Ordering::SeqCst);
        }
        assert_eq!(node.store().upkeep().snapshot().unwrap().triggers.len(), stored.load(Ordering::SeqCst));
        node.store().database().forget_scheduler().unwrap();
    }
}
