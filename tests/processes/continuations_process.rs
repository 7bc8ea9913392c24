//! Continuations while nodes are killed, with real processes: at the end each child has run once
//! for each run of its parent that ended as the continuation asks (LT-12, scenario 14).
//!
//! The logs of the jobs and the history are the evidence.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]

#[path = "../storm/cluster.rs"]
#[allow(dead_code, reason = "storms do more")]
mod cluster;

use crate::support::{self, history, node};
use carnelian::history::{FireOutcome, HistoryQuery, HistoryRow};
use carnelian::store::row::FiredState;
use carnelian::{Continuation, JobDetail, JobKey, MisfireInstruction, On, SimpleSchedule, Trigger, TriggerKey};
use cluster::Cluster;
use history::text;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The check-in interval; the tolerance stays 7.5 s.
const INTERVAL: Duration = Duration::from_secs(1);

/// Runs of each parent; twice as many of the one that is to run whenever a node is killed.
const FIRES: u32 = 16;
const KILLS: u32 = 3;

fn key(name: &str) -> JobKey {
    JobKey::new("chain", name)
}

/// A parent with its grid, durable so that it can be looked at in the end.
fn parent(name: &str, recovers: bool, fires: u32) -> (JobDetail, Vec<Trigger>) {
    let job = JobDetail::builder(key(name), "demo.sleep").durable(true).requests_recovery(recovers).data("ms", "500");
    let trigger = Trigger::builder(TriggerKey::new("chain", name), key(name))
        .schedule(SimpleSchedule::every(Duration::from_millis(600)).repeat(fires - 1))
        .misfire(MisfireInstruction::Ignore);
    (job.build().unwrap(), vec![trigger.build().unwrap()])
}

fn child(cluster: &Cluster, name: &str, of: &str, on: On) {
    let job = JobDetail::builder(key(name), "demo.sleep").durable(true).requests_recovery(true).data("ms", "50");
    cluster.store.catalogue().add_job(&job.build().unwrap(), true).unwrap();
    cluster.store.catalogue().follow(&Continuation::new(key(of), key(name)).on(on)).unwrap();
}

/// Two nodes run parents with two children each, while nodes are killed and started again.
fn kills(database: &str) {
    let mut cluster = Cluster::new("chain", database);
    // Of the first two each run is done in the end; of the third one that dies is lost.
    cluster
        .store
        .catalogue()
        .schedule(vec![parent("p0", true, FIRES), parent("p1", true, FIRES), parent("frail", false, FIRES * 2)], false)
        .unwrap();
    for of in ["p0", "p1", "frail"] {
        child(&cluster, &format!("{of}-good"), of, On::Success);
        child(&cluster, &format!("{of}-any"), of, On::Any);
    }
    child(&cluster, "alarm", "frail", On::Failure);
    for _ in 0..2 {
        cluster.start_node();
    }
    cluster.wait_until_ready(2);
    for _ in 0..KILLS {
        std::thread::sleep(Duration::from_millis(900 + u64::from(cluster.random(1200))));
        cluster.kill(&running_frail(&cluster));
        cluster.start_node();
    }
    cluster.wait_until_quiet(Duration::from_secs(120));
    cluster.stop_all();

    let rows = cluster.store.history().find(&HistoryQuery::new().limit(10_000)).unwrap();
    let parents: BTreeMap<String, String> = parents_of_runs(&cluster);
    let of = |name: &str, outcome: FireOutcome| -> BTreeSet<&String> {
        let its = |row: &&HistoryRow| row.job.as_ref() == Some(&key(name)) && row.outcome == outcome;
        rows.iter().filter(its).map(|row| &row.fire_id).collect()
    };
    let (mut followed, mut lost) = (0, 0);
    for (name, on) in [("p0", On::Success), ("p1", On::Success), ("frail", On::Success), ("frail", On::Failure)] {
        let done = of(name, FireOutcome::Succeeded);
        let gone: BTreeSet<&String> = match name {
            // A run that was lost goes on in its recovery: that is another fire.
            "frail" => of(name, FireOutcome::Lost),
            _ => BTreeSet::new(),
        };
        let children = match on {
            On::Failure => vec![("alarm".to_owned(), gone.clone())],
            _ => vec![
                (format!("{name}-good"), done.clone()),
                (format!("{name}-any"), done.union(&gone).copied().collect::<BTreeSet<_>>()),
            ],
        };
        if name != "frail" {
            assert_eq!(done.len(), usize::try_from(FIRES).unwrap(), "{database}: runs of {name}");
        }
        lost = lost.max(gone.len());
        for (child, expected) in children {
            // Each run of a child that came to a good end, by the run it followed.
            let ends = of(&child, FireOutcome::Succeeded);
            let after: Vec<&String> = ends.iter().map(|fire| &parents[*fire]).collect();
            let once: BTreeSet<&String> = after.iter().copied().collect();
            assert_eq!(once, expected, "{database}: {child} ran after each of them");
            assert_eq!(after.len(), once.len(), "{database}: {child} ran once after each");
            followed += after.len();
        }
    }
    // No child began twice but as a recovery of the run before.
    let mut begun = BTreeSet::new();
    for event in cluster.events().iter().filter(|event| text(event, "event") == "START") {
        let after = text(&event["data"], "CARNELIAN_PARENT_FIRE_ID");
        if !after.is_empty() && event["recovering"] == false {
            assert!(begun.insert((text(event, "job").to_owned(), after.to_owned())), "{event}");
        }
    }
    println!("continuations database={database} seed={} followed={followed} lost={lost}", cluster.seed);
    assert!(lost > 0, "no kill hit anything that was lost");
    assert_eq!(cluster.store.catalogue().continuations().unwrap().len(), 7);
    cluster.succeeded();
}

/// The node on which the parent that nobody recovers has just begun to run.
fn running_frail(cluster: &Cluster) -> String {
    let fires = || {
        let fires = cluster.store.upkeep().fired_triggers().unwrap_or_default();
        fires.into_iter().filter(|fire| fire.job.as_ref() == Some(&key("frail")) && fire.state == FiredState::Executing)
    };
    let before: BTreeSet<String> = fires().map(|fire| fire.fire_id).collect();
    let mut instance = None;
    support::wait_until("it runs", Duration::from_secs(30), || {
        instance = fires().find(|fire| !before.contains(&fire.fire_id)).map(|fire| fire.instance);
        instance.is_some()
    });
    instance.unwrap()
}

/// The run that each run of a child followed, by the logs of the children.
fn parents_of_runs(cluster: &Cluster) -> BTreeMap<String, String> {
    let events = cluster.events();
    let starts = events.iter().filter(|event| text(event, "event") == "START");
    let after = |event: &serde_json::Value| {
        (text(event, "fire_id").to_owned(), text(&event["data"], "CARNELIAN_PARENT_FIRE_ID").to_owned())
    };
    starts.map(after).collect()
}

#[test]
fn children_run_once_on_sqlite() {
    kills("sqlite");
}

#[test]
fn children_run_once_on_postgres() {
    kills("postgres");
}

#[test]
fn children_run_once_on_mariadb() {
    kills("mysql");
}
