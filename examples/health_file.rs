//! A file that is touched while all services of a node pass: for a liveness probe that does not ask the database.
//!
//! `cargo run --example health_file`

use carnelian::{Health, JobContext, Scheduler};
use std::time::Duration;

/// The longest that a healthy service is silent: the acquirer looks once a second, the check-in comes every 15 s, and the
/// slowest look, for misfires and for what is to be cleaned up, once a minute.
const LONGEST_SILENCE: Duration = Duration::from_secs(180);

/// Whether a restart of the process would help nobody. An unreachable database is no reason: services that back off pass.
fn is_alive(health: &Health) -> bool {
    // The completer passes when there is something to record.
    let mut regular = health.services.iter().filter(|service| service.name != "completer");
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
    scheduler.shutdown(true);
    Ok(())
}
