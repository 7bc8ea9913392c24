//! Storms: real nodes in their own processes, killed and paused while they work, judged by an
//! independent checker.
//!
//! `CARNELIAN_STORM_KILLS` (default 5), `CARNELIAN_STORM_PAUSES` (default 1) and the like set the
//! length; `.ci/run` runs a short form. A failing run prints its seed and keeps its folder.
#![cfg(all(feature = "sqlite", feature = "postgres", feature = "mysql"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "storms happen in real time")]

#[path = "storm/checker.rs"]
mod checker;
#[path = "storm/cluster.rs"]
mod cluster;
#[path = "storm/effects.rs"]
mod effects;
#[path = "storm/galera.rs"]
mod galera;
#[path = "storm/grids.rs"]
mod grids;
mod support;
#[path = "storm/thousand.rs"]
mod thousand;

use carnelian::{JobDataMap, JobDetail, JobKey, MisfireInstruction, SimpleSchedule, Trigger, TriggerKey};
use cluster::{Cluster, Death};
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;
use support::{history, node};

/// The check-in interval of the storms; the tolerance stays 7.5 s.
const INTERVAL: Duration = Duration::from_secs(1);
const WINDOW: Duration = Duration::from_millis(8500);
/// The time that a busy machine may add to the window until recovered work begins; the storm prints
/// the time that it was.
const SLACK: Duration = Duration::from_secs(3);

fn number(variable: &str, default: u32) -> u32 {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// A strict grid: every fire of it is due, none may be missed, none may run twice.
fn grid(name: &str, job_type: &str, data: &[(&str, &str)], every: Duration, fires: u32) -> (JobDetail, Vec<Trigger>) {
    let data: JobDataMap = data.iter().copied().collect();
    let job = JobDetail::builder(JobKey::new("storm", name), job_type).requests_recovery(true).data_map(data);
    let trigger = Trigger::builder(TriggerKey::new("storm", name), JobKey::new("storm", name))
        .schedule(SimpleSchedule::every(every).repeat(fires - 1))
        .misfire(MisfireInstruction::Ignore)
        .build()
        .unwrap();
    (job.build().unwrap(), vec![trigger])
}

/// Three nodes drain grids while nodes are killed at random moments and replaced.
fn kills(database: &str) {
    let kills = number("CARNELIAN_STORM_KILLS", 5);
    let mut cluster = Cluster::new("kills", database);
    let seconds = kills * 2 + 12;
    let expected = cluster.begin_grids(6, Duration::from_millis(700), seconds);
    let mut deaths: Vec<Death> = Vec::new();
    let wanted = usize::try_from(kills).unwrap();
    // A few more than asked for, if none of them has hit a node in the middle of its work.
    while deaths.len() < wanted || (deaths.len() < wanted + 3 && !deaths.iter().any(|death| death.interrupted)) {
        std::thread::sleep(Duration::from_millis(1200 + u64::from(cluster.random(1000))));
        deaths.push(cluster.kill_one());
        cluster.start_node();
    }
    cluster.wait_until_quiet(WINDOW * 2 + Duration::from_secs(u64::from(seconds) + 30));
    cluster.stop_all();
    let events = cluster.events();
    let verdict = checker::check(&events, &expected);
    verdict.assert_clean(&cluster);
    println!(
        "kills database={database} seed={} kills={} starts={} recoveries={} longest_recovery={:?}",
        cluster.seed,
        deaths.len(),
        verdict.starts,
        verdict.recoveries,
        checker::longest_recovery(&events, &deaths)
    );
    checker::check_latency(&events, &deaths, WINDOW + SLACK);
    assert!(
        verdict.starts >= 20 * usize::try_from(kills).unwrap(),
        "a quiet run proves nothing: {} starts",
        verdict.starts
    );
    assert!(verdict.recoveries > 0, "no kill interrupted anything");
    cluster.succeeded();
}

/// A node is stopped for longer than its window, so that its peers convict it, and then goes on.
fn pauses(database: &str) {
    let pauses = number("CARNELIAN_STORM_PAUSES", 1);
    let mut cluster = Cluster::new("pauses", database);
    let fires = pauses * 20 + number("CARNELIAN_STORM_TAIL", 20);
    let counter = JobDetail::builder(JobKey::new("storm", "counter"), "demo.counter")
        .disallow_concurrent_execution(true)
        .persist_job_data_after_execution(true)
        .durable(true)
        .data("n", "0")
        .build()
        .unwrap();
    let counting = Trigger::builder(TriggerKey::new("storm", "counter"), counter.key().clone())
        .schedule(SimpleSchedule::every(Duration::from_millis(250)).repeat(fires * 2))
        .misfire(MisfireInstruction::Ignore)
        .build()
        .unwrap();
    let mut work = vec![(counter.clone(), vec![counting])];
    for i in 0..4 {
        work.push(grid(&format!("sleeper-{i}"), "demo.sleep", &[("ms", "900")], Duration::from_millis(1000), fires));
    }
    let expected: Vec<_> = work
        .iter()
        .skip(1)
        .flat_map(|(_, triggers)| triggers.iter().map(|t| (t.key().to_string(), t.schedule().clone())))
        .collect();
    cluster.store.catalogue().schedule(work, false).unwrap();
    for _ in 0..2 {
        cluster.start_node();
    }
    cluster.wait_until_ready(2);
    for _ in 0..pauses {
        cluster.wait_until_running();
        let (node, instance) = cluster.pause_one();
        support::wait_until("the stopped node is convicted", WINDOW * 2, || {
            cluster.store.upkeep().instances().is_ok_and(|all| all.iter().all(|i| i.instance != instance))
        });
        cluster.resume(node);
        support::wait_until("the revived node is registered again", WINDOW * 2, || {
            cluster.store.upkeep().instances().is_ok_and(|all| all.iter().any(|i| i.instance == instance && i.alive))
        });
    }
    cluster.wait_until_quiet(Duration::from_secs(u64::from(fires) * 2 + 60));
    let n = cluster.store.catalogue().job(counter.key()).unwrap().unwrap().data().integer("n").unwrap();
    cluster.stop_all();
    let verdict = checker::check(&cluster.events(), &expected);
    verdict.assert_clean(&cluster);
    // Each completed run of the counter added one; runs that were taken away added nothing.
    let counted = i64::from(fires * 2 + 1);
    assert!(n <= counted, "the counter was raised {n} times by {counted} fires");
    let fenced = cluster.stderr_lines("completion refused");
    println!(
        "pauses database={database} seed={} pauses={pauses} starts={} recoveries={} counter={n}/{counted} fenced_lines={fenced}",
        cluster.seed, verdict.starts, verdict.recoveries
    );
    assert!(verdict.recoveries > 0, "no pause interrupted anything");
    cluster.succeeded();
}

/// Nodes are killed and stopped while their jobs write to the database in one transaction with the
/// end of their fires (`ctx.complete_in`): each due time has one effect, none has two; and of the
/// fences only the largest is kept.
fn effects_happen_once(database: &str) {
    effects_happen_once_on(Cluster::new("effects", database), database, number("CARNELIAN_STORM_EFFECTS", 2));
}

fn effects_happen_once_on(mut cluster: Cluster, database: &str, blows: u32) {
    let group = cluster.store.settings().scheduler.instance_name.clone();
    let fires = blows * 16 + 12;
    let of_type = |name: &str, job_type: &str| {
        let data: &[_] = if job_type == "demo.checkpoint" { &[("ms", "90"), ("steps", "5")] } else { &[("ms", "450")] };
        let (job, triggers) = grid(name, job_type, data, Duration::from_millis(800), fires);
        let key = JobKey::new(&group, name);
        let job = JobDetail::builder(key.clone(), job_type).requests_recovery(true).data_map(job.data().clone());
        let trigger = Trigger::builder(TriggerKey::new(&group, name), key).schedule(triggers[0].schedule().clone());
        (job.build().unwrap(), vec![trigger.misfire(MisfireInstruction::Ignore).build().unwrap()])
    };
    let mut work: Vec<_> = (0..4).map(|i| of_type(&format!("effect-{i}"), "demo.effect")).collect();
    work.push(of_type("fenced", "demo.fenced"));
    work.push(of_type("steps", "demo.checkpoint"));
    for _ in 0..3 {
        cluster.start_node();
    }
    cluster.wait_until_ready(3);
    let written = effects::Effects::of(&cluster.properties());
    written.reset_fence();
    let stored = cluster.store.catalogue().schedule(work, false).unwrap();
    let mut expected: Vec<effects::Effect> = Vec::new();
    for trigger in stored.iter().filter(|trigger| trigger.key().name().starts_with("effect")) {
        let start = trigger.start_time().timestamp_millis();
        let job = trigger.job_key().to_string();
        expected
            .extend((0..fires).map(|k| effects::Effect { job: job.clone(), scheduled_ms: start + i64::from(k) * 800 }));
    }
    expected.sort();
    for blow in 0..blows {
        cluster.wait_until_running();
        if blow % 2 == 0 {
            let (node, instance) = cluster.pause_one();
            support::wait_until("the stopped node is convicted", WINDOW * 2, || {
                cluster.store.upkeep().instances().is_ok_and(|all| all.iter().all(|i| i.instance != instance))
            });
            cluster.resume(node);
        } else {
            cluster.kill_one();
            cluster.start_node();
        }
        std::thread::sleep(Duration::from_millis(u64::from(cluster.random(1500))));
    }
    cluster.wait_until_quiet(WINDOW * 2 + Duration::from_secs(u64::from(fires) + 60));
    cluster.stop_all();
    let done = written.of_group(&group);
    let events = cluster.events();
    let ended = |event: &&serde_json::Value, outcome: &str| {
        event["event"] == "END" && event["type"] == "demo.fenced" && event["outcome"] == outcome
    };
    let accepted = events.iter().filter(|event| ended(event, "succeeded")).filter_map(|event| event["fence"].as_i64());
    let refused = events.iter().filter(|event| ended(event, "lost")).count();
    println!(
        "effects database={database} seed={} blows={blows} due={} effects={} fences_refused={refused} fenced_lines={}",
        cluster.seed,
        expected.len(),
        done.len(),
        cluster.stderr_lines("completion refused")
    );
    let repeated = checker::repeated_steps(&events);
    assert!(repeated.is_empty(), "steps before a checkpoint were done again: {repeated:?}");
    assert_eq!(accepted.max(), Some(written.fence()), "a smaller fence was accepted after a larger one");
    assert_eq!(done, expected, "an effect is missing, or happened twice");
    cluster.succeeded();
}

/// A node stands still for longer than its window and is not convicted, since the file is locked
/// meanwhile; then the node gives its work up and resumes it. That resumption is no second fire,
/// and a recovery of the resumed run is one of the same due fire. A resumption of work that was not
/// given up is a second fire.
#[test]
fn the_checker_knows_a_resumption_from_a_second_fire() {
    let event = |event: &str, fire: &str, trigger: &str, ns: i64, more: serde_json::Value| {
        let mut line = serde_json::json!({
            "event": event, "fire_id": fire, "trigger": trigger, "job": "storm.a", "pid": 1, "attempt": 0,
            "recovering": false, "original_scheduled_ms": 1000, "mono_ns": ns,
        });
        line.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        line
    };
    let first = |outcome: &str| {
        let end = event("END", "1", "storm.a", 2, serde_json::json!({ "outcome": outcome }));
        vec![event("START", "1", "storm.a", 1, serde_json::json!({})), end]
    };
    let went_on = |trigger: &str, more: serde_json::Value| {
        let done = event("END", "2", trigger, 4, serde_json::json!({ "outcome": "succeeded" }));
        vec![event("START", "2", trigger, 3, more), done]
    };
    let resumed = || went_on("INTERRUPTED_JOBS.resume_1", serde_json::json!({ "root_fire_id": "1" }));
    let group_and_name = ("QRTZ_FAILED_JOB_ORIG_TRIGGER_GROUP", "QRTZ_FAILED_JOB_ORIG_TRIGGER_NAME");
    let data = serde_json::json!({ group_and_name.0: "INTERRUPTED_JOBS", group_and_name.1: "resume_1" });
    let marks = serde_json::json!({ "root_fire_id": "1", "attempt": 1, "recovering": true, "data": data });
    let recovered = || went_on("RECOVERING_JOBS.recover_1", marks.clone());
    // Every run has an id of its own.
    let renamed = |mut events: Vec<serde_json::Value>| {
        for pair in 0..events.len() / 2 {
            let id = (pair + 1).to_string();
            (events[2 * pair]["fire_id"], events[2 * pair + 1]["fire_id"]) = (id.clone().into(), id.into());
        }
        events
    };
    let expected = [("storm.a".to_owned(), SimpleSchedule::every(Duration::from_secs(1)).repeat(0).into())];
    let judged = |events: Vec<Vec<serde_json::Value>>| checker::check(&events.concat(), &expected).problems;
    assert_eq!(judged(vec![first("lost"), resumed()]), [""; 0]);
    assert_eq!(judged(vec![first("lost"), recovered()]), [""; 0]);
    assert_eq!(judged(vec![recovered()]), [""; 0], "given back before it began, then recovered");
    assert!(judged(vec![first("succeeded"), resumed()])[0].starts_with("FiredTwice"));
    let both = [first("lost"), recovered(), resumed()].concat();
    assert!(judged(vec![renamed(both)])[0].starts_with("FiredTwice"), "recovered, and resumed as well");
    let mut moved = resumed();
    moved[0]["original_scheduled_ms"] = 2000.into();
    assert!(judged(vec![first("lost"), moved])[0].starts_with("Alien"), "by its own word it was due at another time");
    assert!(judged(vec![first("lost"), went_on("storm.a", serde_json::json!({}))])[0].starts_with("FiredTwice"));
    assert!(judged(vec![first("lost")])[0].starts_with("NeverEnded"));
}

#[test]
fn effects_happen_once_on_sqlite() {
    effects_happen_once("sqlite");
}

#[test]
fn effects_happen_once_on_postgres() {
    effects_happen_once("postgres");
}

#[test]
fn effects_happen_once_on_mysql() {
    effects_happen_once("mysql");
}

/// `carnelian.cluster.onOwnershipLost = abort`: a node that was convicted while it stood still ends
/// itself with its first check-in afterwards, so that nothing of it can go on beside its successor.
#[test]
fn a_convicted_node_that_is_to_abort_ends_itself() {
    let mut cluster = Cluster::new("aborts", "sqlite");
    cluster.configure("carnelian.cluster.onOwnershipLost=abort\n");
    // More than one node has workers for, so that whichever is stopped is in the middle of work.
    let sleeper = |i| grid(&format!("sleeper-{i}"), "demo.sleep", &[("ms", "300")], Duration::from_millis(400), 60);
    let work: Vec<_> = (0..5).map(sleeper).collect();
    let expected: Vec<_> = work.iter().map(|(_, t)| (t[0].key().to_string(), t[0].schedule().clone())).collect();
    cluster.store.catalogue().schedule(work, false).unwrap();
    for _ in 0..2 {
        cluster.start_node();
    }
    cluster.wait_until_ready(2);
    let (node, instance) = cluster.pause_one();
    support::wait_until("the stopped node is convicted", WINDOW * 2, || {
        cluster.store.upkeep().instances().is_ok_and(|all| all.iter().all(|i| i.instance != instance))
    });
    cluster.resume(node);
    let status = cluster.await_end(node);
    assert_eq!(status.signal(), Some(6), "expected SIGABRT: {status}");
    cluster.wait_until_quiet(Duration::from_secs(90));
    cluster.stop_all();
    checker::check(&cluster.events(), &expected).assert_clean(&cluster);
    assert_eq!(cluster.stderr_lines("ending the process"), 1);
    cluster.succeeded();
}

#[test]
fn killed_nodes_on_sqlite() {
    kills("sqlite");
}

#[test]
fn killed_nodes_on_postgres() {
    kills("postgres");
}

#[test]
fn killed_nodes_on_mysql() {
    kills("mysql");
}

#[test]
fn paused_nodes_on_sqlite() {
    pauses("sqlite");
}

#[test]
fn paused_nodes_on_postgres() {
    pauses("postgres");
}

#[test]
fn paused_nodes_on_mysql() {
    pauses("mysql");
}
