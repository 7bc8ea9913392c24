//! What an outage leaves in the log; alone in its process, since a log is the process's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "a test")]

#[allow(dead_code, reason = "not all of it is used here")]
#[path = "scheduler/fixture.rs"]
mod fixture;
mod support;

use fixture::{Cluster, LONG};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use support::wait_until;

/// Counts the lines that a log shows by default.
struct Counting;

static LINES: AtomicU64 = AtomicU64::new(0);

impl log::Log for Counting {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        if record.level() <= log::Level::Info {
            LINES.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn flush(&self) {}
}

/// H19: without a back-off a peer wrote 300 GB of log in one night of a database that was down. Here tries become
/// rarer, and most of them are not worth a line.
#[test]
fn an_outage_fills_no_log() {
    log::set_logger(&Counting).unwrap();
    log::set_max_level(log::LevelFilter::Info);
    let cluster = Cluster::with_checkin(Duration::from_millis(200), Duration::from_millis(400));
    let node = cluster.node("n1", 1).build().unwrap();
    node.start().unwrap();
    let failed = || node.health().services.iter().map(|service| service.errors).sum::<u64>();
    wait_until("the start is logged", LONG, || node.health().is_registered);
    let (lines, before) = (LINES.load(Ordering::SeqCst), failed());
    let began = cluster.clock.ticks();
    cluster.database.turn(false);
    wait_until("a dozen passes have failed", LONG, || failed() >= before + 12);
    let (failures, lines) = (failed() - before, LINES.load(Ordering::SeqCst) - lines);
    let took = cluster.clock.ticks() - began;
    println!("outage failures={failures} lines={lines} took={took:?}");
    assert!(lines <= failures / 2, "{lines} lines for {failures} failures");
    // Three services that doubled their waits from 100 ms cannot have failed so often sooner.
    assert!(took >= Duration::from_millis(700), "{failures} failures in {took:?}");
    cluster.database.turn(true);
}
