//! `node`: a stand-alone node with the built-in job type `command`, until a signal ends it.

use crate::command::{self, Command};
use crate::config::{Config, open};
#[cfg(not(feature = "dashboard"))]
use crate::failure::Failure;
use crate::failure::Outcome;
#[cfg(feature = "dashboard")]
use crate::output::complain;
use crate::output::write;
#[cfg(feature = "dashboard")]
use carnelian::dashboard::{Server, monitoring};
use carnelian::{Scheduler, StopSignals};

/// Runs until SIGTERM or SIGINT, then stops gracefully.
pub fn run(config: Config) -> Outcome {
    // Before anything is started, so that a signal is never lost.
    let signals = StopSignals::catch()?;
    // Makes the tables of an embedded database, and says at once if there is none.
    config.open()?;
    let store = open(&config.settings)?;
    let waits_for_jobs = config.settings.plugins.shutdown_hook.is_none_or(|hook| hook.clean_shutdown);
    let commands = Command::default();
    let scheduler =
        Scheduler::builder().settings(config.settings).store(store).job(command::TYPE, commands.clone()).build()?;
    let _answering = listen(&scheduler)?;
    scheduler.start()?;
    write(&format!("READY {}\n", scheduler.instance_id()))?;
    signals.wait();
    let report = if waits_for_jobs { scheduler.shutdown_and_wait() } else { scheduler.shutdown_now() };
    log::info!("stopped {report:?}");
    // Others take the work of those that did not end: none of them may go on.
    commands.kill_all();
    // A job that does not end must not keep the process.
    std::process::exit(0)
}

/// Answers for health and metrics, if the settings say where.
#[cfg(feature = "dashboard")]
fn listen(scheduler: &Scheduler) -> Outcome<Option<Server>> {
    let Some(listen) = scheduler.store().settings().monitor.listen else { return Ok(None) };
    let node = scheduler.clone();
    let server = Server::start(listen, move |request| monitoring(&node, request))?;
    complain(&format!("health and metrics at http://{}", server.address()));
    Ok(Some(server))
}

/// Refuses to be silent where the settings want an answer.
#[cfg(not(feature = "dashboard"))]
fn listen(scheduler: &Scheduler) -> Outcome<Option<std::convert::Infallible>> {
    match scheduler.store().settings().monitor.listen {
        Some(listen) => Err(Failure::Usage(format!(
            "carnelian.monitoring.listen = {listen}: this program was built without the feature `dashboard`, which answers \
             there"
        ))),
        None => Ok(None),
    }
}
