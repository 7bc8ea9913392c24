//! `node`: a stand-alone node with the built-in job type `command`, until a signal ends it.

use crate::command::{self, Command};
use crate::config::{Config, open};
#[cfg(not(feature = "dashboard"))]
use crate::failure::Failure;
use crate::failure::Outcome;
use crate::output::{complain, write};
use crate::shown::count;
use carnelian::clock::{Clock, Signal, SystemClock};
#[cfg(feature = "dashboard")]
use carnelian::dashboard::{Server, monitoring};
use carnelian::{Error, Scheduler};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Runs until SIGTERM or SIGINT, then stops gracefully.
pub fn run(config: Config) -> Outcome {
    // Before anything is started, so that a signal is never lost.
    let commands = Command::default();
    let is_started = Arc::new(AtomicBool::new(false));
    let stop = catch(&commands, config.settings.shutdown.deadline, &is_started)?;
    // Makes the tables of an embedded database, and says at once if there are none.
    config.open()?;
    let store = open(&config.settings)?;
    // Each opening of a database in memory is another one.
    if config.settings.data_source.as_ref().is_some_and(|source| source.url.is_in_memory()) {
        store.database().migrate()?;
    }
    let waits_for_jobs = config.settings.plugins.shutdown_hook.is_none_or(|hook| hook.clean_shutdown);
    let scheduler =
        Scheduler::builder().settings(config.settings).store(store).job(command::TYPE, commands.clone()).build()?;
    let _answering = listen(&scheduler)?;
    scheduler.start()?;
    is_started.store(true, Ordering::SeqCst);
    write(&format!("READY {}\n", scheduler.instance_id()))?;
    // The other end is gone only with the thread that waits for signals, and nothing ends that.
    let _ = stop.recv();
    let report = if waits_for_jobs { scheduler.shutdown_and_wait() } else { scheduler.shutdown_now() };
    log::info!("stopped {report:?}");
    // Others take the work of those that did not end: none of them may go on.
    commands.kill_all();
    // A job that does not end must not keep the process.
    std::process::exit(0)
}

/// Catches SIGTERM and SIGINT. The first is told, and ends a node that has not started when the
/// time for a shutdown is over, since it waits for its database. The second ends the process at
/// once, for people who cannot wait, and its commands with it: others take their work over.
fn catch(commands: &Command, longest: Duration, is_started: &Arc<AtomicBool>) -> Outcome<Receiver<()>> {
    let why = |error: std::io::Error| Error::Refused(format!("signals cannot be caught: {error}"));
    let mut signals = Signals::new([SIGTERM, SIGINT]).map_err(why)?;
    let (first, stop) = sync_channel(1);
    let (commands, is_started) = (commands.clone(), Arc::clone(is_started));
    std::thread::spawn(move || {
        let mut signals = signals.forever();
        signals.next();
        // Nobody is told if the node has ended by itself.
        let _ = first.send(());
        std::thread::spawn(move || {
            let clock = SystemClock::default();
            clock.wait(&Signal::default(), Some(longest));
            if !is_started.load(Ordering::SeqCst) {
                complain("the node ends: its start still waits for the database");
                signal_hook::low_level::exit(0);
            }
        });
        if let Some(signal) = signals.next() {
            let killed = count(commands.kill_all(), "command");
            complain(&format!("a second signal: the node ends at once, {killed} killed, whose work others take over"));
            signal_hook::low_level::exit(128 + signal);
        }
    });
    Ok(stop)
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
