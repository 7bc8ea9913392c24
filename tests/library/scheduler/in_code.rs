//! Definitions in code on real nodes (LT-102, LT-103, LT-105).

use crate::scheduler::fixture::{Cluster, LONG};
use crate::support::wait_until;
use carnelian::settings::Settings;
use carnelian::{JobDefinition, JobDetail, JobKey, Scheduler, SimpleSchedule};
use crossbeam_channel::unbounded;
use std::time::Duration;

fn key(name: &str) -> JobKey {
    JobKey::new("code", name)
}

fn often(name: &str) -> JobDefinition {
    let job = JobDetail::builder(key(name), "count").build().unwrap();
    JobDefinition::new(job).schedule(SimpleSchedule::every(Duration::from_millis(20))).unwrap()
}

/// Two nodes of one program start at the same time: what it defines is stored once, and runs.
#[test]
fn definitions_are_stored_at_the_start_and_run() {
    let cluster = Cluster::new();
    let (runs, ran) = unbounded::<String>();
    let start = |name: &str| {
        let runs = runs.clone();
        let scheduler = cluster
            .node(name, 2)
            .job_fn("count", move |ctx| Ok(runs.send(ctx.job().key().name().to_owned())?))
            .define(often("auto"))
            .define(often("by-hand").auto_register(false))
            .build()
            .unwrap();
        scheduler.start().unwrap();
        scheduler
    };
    let nodes: Vec<Scheduler> = std::thread::scope(|scope| {
        let starts: Vec<_> = ["a", "b"].map(|name| scope.spawn(|| start(name))).into_iter().collect();
        starts.into_iter().map(|node| node.join().unwrap()).collect()
    });
    assert_eq!(ran.recv_timeout(LONG).unwrap(), "auto");
    assert_eq!(nodes[0].store().catalogue().definitions().unwrap().len(), 1);
    assert!(nodes[0].store().catalogue().job(&key("by-hand")).unwrap().is_none());

    let report = nodes[1].sync_definitions().unwrap();
    assert_eq!(report.inserted, [key("by-hand")]);
    wait_until("the other runs too", LONG, || ran.try_iter().any(|name| name == "by-hand"));
    assert!(nodes[0].preview_definitions().unwrap().changed_nothing());
    for node in nodes {
        assert!(node.shutdown_and_wait().is_clean());
    }
}

/// `carnelian.scheduler.enabled=false`: the program goes on as ever, and nothing runs here.
#[test]
fn a_node_that_is_not_enabled_stores_and_runs_nothing() {
    let mut settings = Settings::default();
    settings.scheduler.enabled = false;
    let scheduler = Scheduler::builder()
        .settings(settings)
        .job_fn("count", |_| -> Result<(), carnelian::JobError> { panic!("it must not run") })
        .define(often("auto"))
        .build()
        .unwrap();
    scheduler.start().unwrap();
    assert!(!scheduler.is_started());
    assert_eq!(scheduler.store().catalogue().definitions().unwrap(), []);
    assert_eq!(scheduler.store().upkeep().instances().unwrap().len(), 0);
    // Work that the program stores itself is stored, for nodes that are enabled.
    scheduler.sync_definitions().unwrap();
    assert!(scheduler.store().catalogue().job(&key("auto")).unwrap().is_some());
    assert!(scheduler.shutdown_and_wait().is_clean());
}
