//! Processes that stand still and go on when a peer has their work: `ctx.holds_fire()` is false at
//! once. A suspended machine, whose monotonic clock stood still too, is no exception.
//!
//! `CARNELIAN_STOP` is the number of seconds for which a process stands still, if that is longer
//! than its peer needs.

use super::history::text;
use super::node::NodeProcess;
use super::support::wait_until;
use super::*;
use carnelian::{JobDetail, JobKey, Trigger, TriggerKey};
use rustix::process::Signal;
use rustix::time::{ClockId, clock_gettime};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

fn mono_ns() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

/// Stops a node with SIGSTOP, but not while it has the lock: a server takes that away only after 5
/// s, SQLite not at all.
pub fn stop(place: &Place, node: &NodeProcess) {
    wait_until("it stops without the lock", LONG, || {
        node.freeze();
        let is_free = place.is_lock_free();
        if !is_free {
            node.signal(Signal::CONT);
        }
        is_free
    });
}

/// Compiles what makes the monotonic clock of a process stand still.
fn suspender(folder: &Path) -> std::path::PathBuf {
    let library = folder.join("suspended.so");
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/processes/drills/suspended.c");
    let done = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").output();
    let done = done.unwrap();
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    library
}

fn goes_on(place: &Place, suspended: bool) {
    let run = |instance: &str, name: &str| {
        let events = place.events().into_iter();
        events.filter(|e| text(e, "instance") == instance && text(e, "event") == name).collect::<Vec<_>>()
    };
    let stood_still = place.path("stood-still");
    std::fs::write(&stood_still, 0u64.to_ne_bytes()).unwrap();
    let mut command = place.command_at("a", place.url());
    if suspended {
        command.env("LD_PRELOAD", suspender(place.folder.path())).env("STOOD_STILL", &stood_still);
    }
    let mut a = place.start("a", &mut command);
    let job = JobDetail::builder(JobKey::named("long"), "demo.sleep").requests_recovery(true);
    let job = job.disallow_concurrent_execution(true).data("ms", 600_000).data("poll_ms", 20).build().unwrap();
    let trigger = Trigger::builder(TriggerKey::named("long"), job.key().clone()).build().unwrap();
    place.store.catalogue().schedule(vec![(job, vec![trigger])], false).unwrap();
    wait_until("it runs and holds its fire", LONG, || !run("a", "TICK").is_empty());
    let mut b = place.node("b");

    stop(place, &a);
    let begun = Instant::now();
    wait_until("its peer has the work", LONG, || !run("b", "START").is_empty());
    std::thread::sleep(seconds("CARNELIAN_STOP", 0).saturating_sub(begun.elapsed()));
    let stopped = begun.elapsed();
    if suspended {
        std::fs::write(&stood_still, (stopped.as_millis() as u64).div_ceil(1000).to_ne_bytes()).unwrap();
    }
    let ticks = run("a", "TICK").len();
    let on_ns = mono_ns();
    a.signal(Signal::CONT);
    wait_until("it sees that its fire is lost", LONG, || !run("a", "LOST").is_empty());
    let lost_ms = (run("a", "LOST")[0]["mono_ns"].as_i64().unwrap() - on_ns) / 1_000_000;
    let ticks = run("a", "TICK").len() - ticks;
    println!(
        "standing_still database={} suspended={suspended} stopped={stopped:.1?} lost_ms={lost_ms} held_ticks={ticks}",
        place.database
    );
    // One may have been asked for before and logged after.
    assert!(lost_ms < 1_000 && ticks <= 1, "{lost_ms} ms, {ticks} ticks");
    a.kill();
    b.kill();
    place.store.catalogue().clear().unwrap();
}

#[test]
fn a_process_that_was_stopped_knows_at_once_that_its_fire_is_lost() {
    everywhere("", |place| goes_on(place, false));
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_whose_machine_was_suspended_knows_at_once_that_its_fire_is_lost() {
    everywhere("", |place| goes_on(place, true));
}
