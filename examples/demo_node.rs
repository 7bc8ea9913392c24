//! A cluster node with the demo jobs, for tests and drills: `demo_node --config FILE [--without TYPE]…`.
//!
//! Prints `READY <instance>` when it has checked in and acquires. SIGTERM or SIGINT stops it gracefully within
//! `carnelian.shutdown.deadline`, with exit code 0. Exit code 2: bad configuration; 3: database unusable.

mod demo;

use carnelian::settings::Settings;
use carnelian::{Error, Scheduler};
use demo::log::EventLog;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Write;
use std::process::exit;
use std::time::Duration;

const USAGE: &str = "usage: demo_node --config FILE [--without TYPE]...";
/// Kept back of the shutdown deadline, so that the process is gone by then.
const RESERVE: Duration = Duration::from_millis(500);

struct Arguments {
    config: String,
    without: Vec<String>,
}

fn main() {
    env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).init();
    let arguments = arguments().unwrap_or_else(|problem| fail(2, &format!("{problem}\n{USAGE}")));
    let mut settings = Settings::from_file(&arguments.config).unwrap_or_else(|errors| fail(2, &errors));
    for warning in settings.warnings() {
        log::warn!("{warning}");
    }
    let log = EventLog::open(settings.extra.get("demo.log.file").map(String::as_str))
        .unwrap_or_else(|error| fail(2, &format!("demo.log.file: {error}")));
    // Before anything is started, so that a signal is never lost.
    let mut signals = Signals::new([SIGTERM, SIGINT]).unwrap_or_else(|error| fail(1, &error));
    let deadline = settings.shutdown.deadline;
    settings.shutdown.deadline = deadline.saturating_sub(RESERVE.min(deadline / 4));

    let mut builder = Scheduler::builder().settings(settings);
    for (name, job) in demo::jobs::all(&log) {
        if !arguments.without.iter().any(|without| without == name) {
            builder = builder.job(name, job);
        }
    }
    let scheduler = builder.build().unwrap_or_else(|error| refuse(&error));
    scheduler.start().unwrap_or_else(|error| refuse(&error));
    say(&format!("READY {}", scheduler.instance_id()));

    let signal = signals.forever().next();
    log::info!("demo node stops signal={signal:?} instance={}", scheduler.instance_id());
    std::thread::spawn(move || {
        // Whatever jobs or the database do, the process ends in time.
        std::thread::sleep(deadline.saturating_sub(RESERVE.min(deadline / 4) / 2));
        exit(0);
    });
    let report = scheduler.shutdown(true);
    log::info!("demo node stopped report={report:?}");
    exit(0);
}

fn arguments() -> Result<Arguments, String> {
    let (mut config, mut without) = (None, Vec::new());
    let mut given = std::env::args().skip(1);
    while let Some(argument) = given.next() {
        let (name, value) = match argument.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None => (argument, None),
        };
        let mut value = || value.clone().or_else(|| given.next()).ok_or_else(|| format!("{name} needs a value"));
        match name.as_str() {
            "--config" => config = Some(value()?),
            "--without" => without.push(value()?),
            "--help" | "-h" => {
                say(USAGE);
                exit(0);
            }
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(Arguments { config: config.ok_or("--config is missing")?, without })
}

/// Ends with the exit code that belongs to the error.
fn refuse(error: &Error) -> ! {
    let code = match error {
        Error::Database(_) | Error::Schema(_) => 3,
        Error::Settings(_) | Error::Invalid { .. } => 2,
        _ => 1,
    };
    fail(code, error)
}

fn fail(code: i32, problem: &dyn std::fmt::Display) -> ! {
    eprintln!("demo_node: {problem}");
    exit(code)
}

/// One line on standard output; that nobody reads it is no reason to stop.
fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
