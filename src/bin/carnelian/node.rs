//! `node`: a stand-alone node with the built-in job type `command`, until a signal ends it.

use crate::command;
use crate::config::{Config, open};
use crate::failure::{Failure, Outcome};
use crate::output::write;
use carnelian::Scheduler;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// Runs until SIGTERM or SIGINT, then stops gracefully.
pub fn run(config: Config) -> Outcome {
    // Before anything is started, so that a signal is never lost.
    let mut signals = Signals::new([SIGTERM, SIGINT])
        .map_err(|error| Failure::Refused(format!("signals cannot be handled: {error}")))?;
    // Makes the tables of an embedded database, and says at once if there is none.
    config.open()?;
    let store = open(&config.settings)?;
    let waits_for_jobs = config.settings.plugins.shutdown_hook.is_none_or(|hook| hook.clean_shutdown);
    let scheduler =
        Scheduler::builder().settings(config.settings).store(store).job(command::TYPE, command::Command).build()?;
    scheduler.start()?;
    write(&format!("READY {}\n", scheduler.instance_id()))?;
    let signal = signals.forever().next();
    log::info!("stopping signal={}", signal.unwrap_or_default());
    let report = if waits_for_jobs { scheduler.shutdown_and_wait() } else { scheduler.shutdown_now() };
    log::info!("stopped {report:?}");
    // A job that does not end must not keep the process.
    std::process::exit(0)
}
