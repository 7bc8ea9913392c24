//! Nodes are killed beside grids that fire every second: only what a node was executing waits for
//! the verdict over it.

use super::cluster::Cluster;
use super::history::text;
use super::{INTERVAL, SLACK, WINDOW, checker, grid, number};
use carnelian::Schedule;
use carnelian::store::row::FiredState;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

impl Cluster {
    /// Stores so many long jobs and twice as many fires of short ones, the fastest long one at this
    /// interval, for so many seconds, and starts three nodes. Returns what is to fire.
    pub fn begin_grids(&mut self, count: u64, fastest: Duration, seconds: u32) -> Vec<(String, Schedule)> {
        let mut work = Vec::new();
        for i in 0..count {
            let every = fastest + Duration::from_millis(110 * i);
            let fires = seconds * 1000 / u32::try_from(every.as_millis()).unwrap();
            work.push(grid(&format!("sleeper-{i}"), "demo.sleep", &[("ms", "600")], every, fires));
            work.push(grid(&format!("quick-{i}"), "demo.append", &[], every / 2, fires * 2));
        }
        let triggers = work.iter().flat_map(|(_, triggers)| triggers);
        let expected = triggers.map(|t| (t.key().to_string(), t.schedule().clone())).collect();
        self.store.catalogue().schedule(work, false).unwrap();
        for _ in 0..3 {
            self.start_node();
        }
        self.wait_until_ready(3);
        expected
    }
}

/// A trigger that was not executing on a node that is killed fires so soon after its time on
/// another.
const LATEST_MS: i64 = 500;

/// `CARNELIAN_STORM_GRID_KILLS` (default 2) nodes are killed.
fn grids(database: &str) {
    let kills = number("CARNELIAN_STORM_GRID_KILLS", 2);
    let mut cluster = Cluster::new("grids", database);
    let seconds = kills * 3 + 8;
    let mut work: Vec<_> =
        (0..8).map(|i| grid(&format!("grid-{i}"), "demo.append", &[], Duration::from_secs(1), seconds)).collect();
    let sleepers =
        (0..2).map(|i| grid(&format!("sleeper-{i}"), "demo.sleep", &[("ms", "2500")], INTERVAL * 3, seconds / 3));
    work.extend(sleepers);
    for _ in 0..3 {
        cluster.start_node();
    }
    cluster.wait_until_ready(3);
    let mut expected = Vec::new();
    for (job, triggers) in work {
        expected.extend(triggers.iter().map(|one| (one.key().to_string(), one.schedule().clone())));
        cluster.store.catalogue().schedule(vec![(job, triggers)], false).unwrap();
        // Each at another moment of the second.
        std::thread::sleep(Duration::from_millis(u64::from(cluster.random(150))));
    }
    let (mut deaths, mut executing) = (Vec::new(), BTreeSet::new());
    for _ in 0..kills {
        std::thread::sleep(Duration::from_millis(1500 + u64::from(cluster.random(1000))));
        let death = cluster.kill_one();
        // The fires that the dead node was executing stay in its rows until the verdict.
        let fired = cluster.store.upkeep().snapshot().unwrap().fired;
        let begun = fired.iter().filter(|row| row.state == FiredState::Executing && row.instance == death.instance);
        executing.extend(begun.map(|row| (row.trigger.to_string(), row.scheduled_ms)));
        deaths.push(death);
        cluster.start_node();
    }
    cluster.wait_until_quiet(WINDOW * 2 + Duration::from_secs(u64::from(seconds) + 30));
    cluster.stop_all();
    let events = cluster.events();
    checker::check(&events, &expected).assert_clean(&cluster);
    let mut late = lateness(&events, &executing);
    late.sort_by_key(|(ms, ..)| std::cmp::Reverse(*ms));
    let recovered = checker::fastest_and_longest_recovery(&events, &deaths);
    println!(
        "grids database={database} seed={} kills={kills} fires={} latest_ms={:?} executing={} taken_back={} recovered_after={recovered:?}",
        cluster.seed,
        late.len(),
        late.first(),
        executing.len(),
        cluster.stderr_lines("took back"),
    );
    assert!(late[0].0 <= LATEST_MS, "fires that nobody was executing were late: {:?}", &late[..late.len().min(10)]);
    checker::check_latency(&events, &deaths, WINDOW + SLACK);
    let soonest = recovered.map(|(soonest, _)| soonest);
    assert!(
        soonest.is_none_or(|soonest| soonest >= WINDOW),
        "work was taken from a node {soonest:?} after its check-in"
    );
    cluster.succeeded();
}

/// The lateness of each fire of a grid, by the trigger and the time, without those that a dead node
/// was executing.
fn lateness(events: &[Value], executing: &BTreeSet<(String, i64)>) -> Vec<(i64, String, i64)> {
    let starts = events.iter().filter(|event| text(event, "event") == "START" && text(event, "job").contains("grid-"));
    let mut first: BTreeMap<(String, i64), i64> = BTreeMap::new();
    for event in starts.filter(|event| event["recovering"] == false) {
        let scheduled_ms = event["original_scheduled_ms"].as_i64().unwrap();
        let began_ms = event["wall_ms"].as_i64().unwrap();
        let earliest = first.entry((text(event, "trigger").to_owned(), scheduled_ms)).or_insert(began_ms);
        *earliest = began_ms.min(*earliest);
    }
    let due = first.into_iter().filter(|(due, _)| !executing.contains(due));
    due.map(|((trigger, scheduled_ms), began_ms)| (began_ms - scheduled_ms, trigger, scheduled_ms)).collect()
}

#[test]
fn grids_go_on_while_nodes_are_killed_on_sqlite() {
    grids("sqlite");
}

#[test]
fn grids_go_on_while_nodes_are_killed_on_postgres() {
    grids("postgres");
}

#[test]
fn grids_go_on_while_nodes_are_killed_on_mysql() {
    grids("mysql");
}
