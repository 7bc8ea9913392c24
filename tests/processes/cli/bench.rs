//! `carnelian bench`: its figures in each mode. Nothing is left of a bench, even of an interrupted
//! one.

use super::{Place, write_config};
use crate::support::wait_until;
use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection, sql_query};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;

#[derive(QueryableByName)]
struct Table {
    #[diesel(sql_type = Text)]
    name: String,
}

#[derive(QueryableByName)]
struct Rows {
    #[diesel(sql_type = BigInt)]
    n: i64,
}

/// The tables with rows of a bench's scheduler, and the number of rows in each; none before the
/// tables are made.
fn rows(place: &Place) -> Vec<(String, i64)> {
    let path = place.path("carnelian.db");
    if !path.exists() {
        return Vec::new();
    }
    let mut db = SqliteConnection::establish(path.to_str().unwrap()).unwrap();
    let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%SCHED_NAME%'";
    let Ok(tables) = sql_query(tables).load::<Table>(&mut db) else { return Vec::new() };
    let mut found = Vec::new();
    for Table { name } in tables {
        let count = format!("SELECT COUNT(*) AS n FROM {name} WHERE SCHED_NAME LIKE 'bench-%'");
        match sql_query(count).get_result::<Rows>(&mut db) {
            Ok(Rows { n: 0 }) | Err(_) => {}
            Ok(Rows { n }) => found.push((name, n)),
        }
    }
    found
}

#[track_caller]
fn positive(figures: &Value, keys: &[&str]) {
    for key in keys {
        assert!(figures[key].as_f64().is_some_and(|value| value > 0.0), "{key} in {figures}");
    }
}

#[test]
fn the_bench_reports_its_figures_and_leaves_nothing() {
    let place = Place::new();
    let figures = place.json("bench --triggers 200 --threads 4 --nodes 2 --stored 50");
    assert_eq!(figures["fires"], 200);
    positive(&figures, &["seconds", "fires_per_second", "statements_per_fire", "commits_per_fire"]);
    for key in ["p50", "p99", "max"] {
        assert!(figures["lateness_ms"][key].is_i64(), "{key} in {figures}");
    }
    assert_eq!((&figures["history"], &figures["stored_beside"]), (&json!("all"), &json!(50)), "{figures}");
    assert_eq!(figures["wal_bytes_per_fire"], Value::Null, "only PostgreSQL is asked");
    let nodes = figures["nodes"].as_array().unwrap();
    assert_eq!(nodes.iter().map(|node| node["fires"].as_u64().unwrap()).sum::<u64>(), 200, "{figures}");
    assert_eq!(rows(&place), []);
}

#[test]
fn the_bench_writes_the_history_that_it_names() {
    let place = Place::new();
    write_config(
        &place.path("carnelian.properties"),
        "carnelian.history.record = problems\ncarnelian.scheduler.role = observer\ncarnelian.scheduler.enabled = false\n",
    );
    place.fine("migrate");
    for (option, written) in [("", "problems"), ("--history on", "all"), ("--history off", "none")] {
        assert_eq!(place.json(&format!("bench --triggers 20 {option}"))["history"], written, "{option}");
    }
    assert_eq!(rows(&place), []);
}

#[test]
fn the_bench_paces_repeating_triggers_to_the_last() {
    let figures = Place::new().json("bench --triggers 20 --repeat 3 --every 200ms");
    assert_eq!((&figures["fires"], &figures["lateness_since"]), (&json!(80), &json!("the scheduled time")));
    positive(&figures, &["seconds"]);
}

#[test]
fn the_bench_measures_scheduling_and_latency() {
    let place = Place::new();
    let figures = place.json("bench --schedule --triggers 40 --threads 4");
    for way in ["one_thread", "threads", "job_and_trigger", "bulk", "bulk_jobs"] {
        positive(&figures[way], &["per_second", "statements_per_trigger", "commits_per_trigger"]);
    }
    assert!(figures["bulk"]["commits_per_trigger"].as_f64().unwrap() < 0.1, "{figures}");
    let figures = place.json("bench --schedule --only bulk_jobs --triggers 40");
    positive(&figures["bulk_jobs"], &["per_second"]);
    assert_eq!(figures["one_thread"], Value::Null);
    let figures = place.json("bench --latency --triggers 5");
    for place in ["same_node_ms", "other_node_ms"] {
        positive(&figures[place], &["p50", "p99", "max", "call_p50"]);
    }
    assert_eq!(rows(&place), []);
}

#[test]
fn the_bench_measures_the_store_in_memory_with_one_node() {
    let place = Place::new();
    std::fs::write(place.path("carnelian.properties"), "org.quartz.jobStore.class = RAMJobStore\n").unwrap();
    assert_eq!(place.json("bench --triggers 100")["fires"], 100);
    assert_eq!(place.json("bench --latency --triggers 3")["other_node_ms"], Value::Null);
    assert!(place.refused(2, "bench --nodes 2").contains("--nodes 2: expected 1"));
}

#[test]
fn an_interrupted_bench_cleans_up() {
    let place = Place::new();
    write_config(&place.path("carnelian.properties"), "");
    place.fine("migrate");
    let mut command = place.command(&["bench", "--triggers", "50", "--repeat", "100000", "--stored", "50"]);
    let bench = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let has = |rows: &[(String, i64)]| rows.iter().any(|(table, n)| table.ends_with("_TRIGGERS") && *n >= 100);
    wait_until("the bench has stored its triggers", Duration::from_secs(60), || has(&rows(&place)));
    kill_process(Pid::from_child(&bench), Signal::TERM).unwrap();
    let output = bench.wait_with_output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("interrupted"), "{said}");
    assert_eq!(rows(&place), []);
}
