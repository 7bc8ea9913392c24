//! A database that answers sometimes at once and sometimes slowly: a dead node is found as soon as
//! ever.
//!
//! `CARNELIAN_JITTER` is the longest delay, in seconds. Check-ins and their tolerance grow with it.

use super::support::{cutting_proxy::Proxy, wait_until};
use super::*;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

/// The parts of the longest delay that transactions wait, turn by turn.
const TURNS: [f64; 8] = [0.0, 1.0, 0.03, 0.96, 0.5, 0.0, 0.83, 0.2];

fn a_dead_node_is_found(database: &'static str) {
    let most = seconds("CARNELIAN_JITTER", 2);
    let (interval, tolerance) = (most * 2, most * 5 / 2);
    let url = server_url(database);
    let proxy = Proxy::before(&url);
    let more = format!(
        "jobStore.clusterCheckinInterval = {}\njobStore.clusterCheckinMisfireThreshold = {}\n",
        interval.as_millis(),
        tolerance.as_millis()
    );
    let place = Place::at(None, database, &more, Arc::new(SystemClock::default()));
    let mut a = place.node("a");
    let mut b = place.start("b", &mut place.command_at("b", &proxy.url(&url)));
    let row = || place.store.upkeep().instances().unwrap().into_iter().find(|node| node.instance == "a");
    let checkins = |name: &'static str| {
        let store = &place.store;
        move || {
            let node = store.upkeep().instances().unwrap().into_iter().find(|node| node.instance == name).unwrap();
            node.last_checkin.timestamp_millis()
        }
    };
    let done = AtomicBool::new(false);
    std::thread::scope(|threads| {
        threads.spawn(|| {
            for part in TURNS.iter().cycle().take_while(|_| !done.load(Ordering::SeqCst)) {
                proxy.delay(most.mul_f64(*part));
                std::thread::sleep(interval);
            }
        });
        // However slow its answers are, it has seen some by then.
        let mut seen = BTreeSet::new();
        let of_b = checkins("b");
        wait_until("the survivor has checked in four times", LONG, || {
            seen.insert(of_b());
            seen.len() > 4
        });
        a.kill();
        let killed = Instant::now();
        let last_ms = checkins("a")();
        wait_until("the dead node is found", LONG, || row().is_none());
        let (found_ms, window) = (place.store.now_ms().unwrap() - last_ms, interval + tolerance);
        println!(
            "jitter database={database} most={most:?} window={window:?} found_ms={found_ms} after_the_kill={:.1?}",
            killed.elapsed()
        );
        done.store(true, Ordering::SeqCst);
        // The recovery is on its way before the window ends.
        let bound = window + Duration::from_secs(1);
        assert!(found_ms < i64::try_from(bound.as_millis()).unwrap(), "{found_ms}");
    });
    b.kill();
    place.store.database().forget_scheduler().unwrap();
}

#[test]
fn a_dead_node_is_found_however_unevenly_postgres_answers() {
    a_dead_node_is_found("postgres");
}

#[test]
fn a_dead_node_is_found_however_unevenly_mysql_answers() {
    a_dead_node_is_found("mysql");
}
