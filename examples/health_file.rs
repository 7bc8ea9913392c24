//! A file that is touched while all services of a node pass: for a liveness probe that does not ask the database.
//!
//! `cargo run --example health_file`
#![allow(clippy::disallowed_methods, reason = "a program may sleep")]

use carnelian::monitoring::Health;
use carnelian::{JobContext, Scheduler};
use std::time::Duration;

/// Longer than a healthy service is silent that passes regularly: the check-in comes every 15 s, the heartbeat every 5 s.
const LONGEST_SILENCE: Duration = Duration::from_secs(120);

/// Whether a restart of the process would help nobody. An unreachable database is no reason: services that back off pass.
fn is_alive(health: &Health) -> bool {
    // Others wait for as long as there is nothing for them to do: the acquirer for a free worker, the completer for an end.
    let mut regular = health.services.iter().filter(|service| matches!(service.name, "cluster" | "heartbeat"));
    regular.all(|service| service.since_last_pass.is_some_and(|since| since < LONGEST_SILENCE))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("carnelian-alive");
    let scheduler = Scheduler::builder().job_fn("none", |_: &mut JobContext| Ok(())).build()?;
    assert!(!is_alive(&scheduler.health()), "it has not been started");
    scheduler.start()?;
    // In a program: on a thread of its own, every ten seconds, for ever.
    for _ in 0..5 {
        if is_alive(&scheduler.health()) {
            std::fs::write(&file, b"alive\n")?;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    println!("alive: {}", file.exists());
    scheduler.shutdown_and_wait();
    Ok(())
}
