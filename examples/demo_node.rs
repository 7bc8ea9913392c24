//! A cluster node with the demo jobs, for tests and drills: `demo_node --config FILE [--without
//! TYPE]…`.
//!
//! Prints `READY <instance>` when it has checked in and acquires. SIGTERM or SIGINT stops it
//! gracefully within `carnelian.shutdown.deadline`, with exit code 0. Exit code 2: bad
//! configuration; 3: database unusable, or a node with this instance id runs already.

mod demo;

use carnelian::settings::Settings;
use demo::node::{fail, run, say};

const USAGE: &str = "usage: demo_node --config FILE [--without TYPE]...";

struct Arguments {
    config: String,
    without: Vec<String>,
}

fn main() {
    let logger = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("info")).build();
    // A run's log lines are kept with the run where `carnelian.history.log` or a job's policy says
    // so.
    let level = logger.filter().max(log::LevelFilter::Info);
    carnelian::history::CaptureLog::new(logger).install(level).unwrap_or_else(|why| fail(2, &why));
    let arguments = arguments().unwrap_or_else(|problem| fail(2, &format!("{problem}\n{USAGE}")));
    let settings = Settings::from_file(&arguments.config).unwrap_or_else(|errors| fail(2, &errors));
    for warning in settings.warnings() {
        log::warn!("{warning}");
    }
    run(settings, &arguments.without)
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
                std::process::exit(0);
            }
            _ => return Err(format!("unknown argument {name}")),
        }
    }
    Ok(Arguments { config: config.ok_or("--config is missing")?, without })
}
