//! The life of a node process: start, say READY, run until a signal, stop in time.

#[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
use super::effects::{Entry, write};
use super::{jobs, log::EventLog};
#[cfg(feature = "dashboard")]
use carnelian::dashboard::{Server, monitoring};
use carnelian::settings::Settings;
use carnelian::{Error, Scheduler};
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fmt::Display;
use std::io::Write;
use std::process::exit;
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::Duration;

/// Kept back of the shutdown deadline, so that the process is gone by then.
const RESERVE: Duration = Duration::from_millis(500);

/// The longest wait for the first connection.
const CONNECTION_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs a node with all demo jobs except those in `without`; ends the process.
pub fn run(mut settings: Settings, without: &[String]) -> ! {
    let log = EventLog::open(settings.extra.get("demo.log.file").map(String::as_str))
        .unwrap_or_else(|error| fail(2, &format!("demo.log.file: {error}")));
    let deadline = settings.shutdown.deadline;
    let waits_for_jobs = settings.plugins.shutdown_hook.is_none_or(|hook| hook.clean_shutdown);
    let reserve = RESERVE.min(deadline / 4);
    settings.shutdown.deadline = deadline - reserve;
    // Before anything is started, so that a signal is never lost.
    let stop = catch(deadline - reserve / 2);

    check_database(&settings).unwrap_or_else(|error| refuse(&error));
    let url = settings.data_source.as_ref().map(|source| source.url.clone());
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    if let Some(url) = &url
        // Nodes that start together may get in each other's way: the second try finds the tables.
        && let Err(error) = write(url, Entry::Tables, None).or_else(|_| write(url, Entry::Tables, None))
    {
        fail(3, &format!("the demo tables cannot be made: {}", error.message()));
    }
    let mut builder = Scheduler::builder().settings(settings);
    for (name, job) in jobs::all(&log, url.as_ref()) {
        if !without.iter().any(|without| without == name) {
            builder = builder.job(name, job);
        }
    }
    let scheduler = builder.build().unwrap_or_else(|error| refuse(&error));
    if url.is_some_and(|url| url.is_in_memory()) {
        scheduler.migrate().unwrap_or_else(|error| refuse(&error));
    }
    #[cfg(feature = "dashboard")]
    let _answering = listen(&scheduler).unwrap_or_else(|error| refuse(&error));
    scheduler.start().unwrap_or_else(|error| refuse(&error));
    say(&format!("READY {}", scheduler.instance_id()));

    let signal = stop.recv();
    log::info!("demo node stops signal={signal:?} instance={}", scheduler.instance_id());
    let report = if waits_for_jobs { scheduler.shutdown_and_wait() } else { scheduler.shutdown_now() };
    log::info!("demo node stopped report={report:?}");
    exit(0)
}

/// Tells of the first signal. The process ends so long after it, whatever jobs or the database do,
/// also while the start waits.
fn catch(longest: Duration) -> Receiver<Option<i32>> {
    let mut signals = Signals::new([SIGTERM, SIGINT]).unwrap_or_else(|error| fail(1, &error));
    let (told, stop) = sync_channel(1);
    std::thread::spawn(move || {
        let _ = told.send(signals.forever().next());
        std::thread::sleep(longest);
        exit(0);
    });
    stop
}

/// Answers for health and metrics, if the settings say where.
#[cfg(feature = "dashboard")]
fn listen(scheduler: &Scheduler) -> carnelian::Result<Option<Server>> {
    let node = scheduler.clone();
    let listen = scheduler.store().settings().monitor.listen;
    listen.map(|listen| Server::start(listen, move |request| monitoring(&node, request))).transpose()
}

/// Fails soon if the database cannot be used, where the scheduler itself would be patient.
fn check_database(settings: &Settings) -> carnelian::Result<()> {
    let mut settings = settings.clone();
    let Some(source) = settings.data_source.as_mut().filter(|source| !source.url.is_in_memory()) else {
        return Ok(());
    };
    source.connection_timeout = source.connection_timeout.min(CONNECTION_TIMEOUT);
    Scheduler::builder().settings(settings).build()?.job_groups().map(drop)
}

/// Ends with the exit code that belongs to the error: 2 bad configuration, 3 database unusable, or
/// used already by a node with this instance id.
fn refuse(error: &Error) -> ! {
    let code = match error {
        Error::Database(_) | Error::Schema(_) | Error::AlreadyRunning { .. } => 3,
        Error::Settings(_) | Error::Invalid { .. } => 2,
        _ => 1,
    };
    fail(code, error)
}

/// Says what is wrong and ends with this exit code.
pub fn fail(code: i32, problem: &dyn Display) -> ! {
    eprintln!("demo_node: {problem}");
    exit(code)
}

/// One line on standard output; that nobody reads it is no reason to stop.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
