//! The `carnelian` command: an operator's hand on a scheduler's database, and a stand-alone node.
#![warn(clippy::disallowed_methods)]

mod actions;
mod args;
mod backfill;
mod bar;
mod bench;
mod calendar;
mod check;
mod cluster;
mod command;
mod config;
mod confirm;
mod cron;
#[cfg(feature = "dashboard")]
mod dashboard;
mod defined;
mod definition;
mod doctor;
mod drill;
mod explain;
mod fail;
mod failure;
mod follow;
mod history;
mod import;
mod job;
mod job_delete;
mod job_run;
mod lock;
mod look;
mod marks;
mod node;
mod nodes;
mod orphans;
mod outages;
mod output;
mod page;
mod parked;
mod pausing;
mod placement;
mod retry;
mod run_log;
mod schedule;
mod shown;
mod submission;
mod table;
mod top;
mod trigger;
mod value;
mod warned;
mod watch;
mod when;

use args::{Cli, Command};
use bar::Bar;
use config::Config;
use failure::Outcome;
use output::Output;
use serde_json::json;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::help::parse();
    // A drill would warn of its own short intervals, and of the nodes that it kills.
    let level = match &cli.command {
        _ if cli.quiet => "error",
        Command::Drill(_) => "error",
        Command::Node | Command::Bench(_) => "warn",
        #[cfg(feature = "dashboard")]
        Command::Dashboard(_) => "warn",
        // The failure of a command says the same, once.
        _ => "warn,carnelian::store::sql::connect_attempts=error",
    };
    let logger = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or(level)).build();
    let filter = logger.filter();
    // A second logger cannot be: nothing has run before.
    let _ = carnelian::history::CaptureLog::new(logger).install(filter);
    match run(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(cli.json),
    }
}

fn run(cli: &Cli) -> Outcome {
    let output = Output::new(cli.json, cli.quiet);
    match &cli.command {
        Command::Cron(command) => return cron::run(output, command, cli.config.as_deref()),
        Command::Completions { shell } => return args::help::completions(*shell),
        Command::Man { folder } => return args::help::man(output, folder),
        #[cfg(feature = "dashboard")]
        Command::Dashboard(options) if options.hash_password => return dashboard::hash(),
        _ => {}
    }
    let is_node = matches!(cli.command, Command::Node);
    let mut config = Config::load(cli.config.as_deref(), cli.quiet, is_node)?;
    config.only_looks = cli.command.only_looks();
    match &cli.command {
        Command::Cron(_) | Command::Completions { .. } | Command::Man { .. } => Ok(()),
        Command::Migrate => migrate(&config, output),
        Command::Schedule(options) => schedule::run(&config.open()?, output, options),
        Command::Import(options) => import::run(&config.open()?, output, options),
        Command::Job(command) => job::run(&config.open()?, output, command),
        Command::Trigger(command) => trigger::run(&config.open()?, output, command),
        Command::Calendar(command) => calendar::run(&config.open()?, output, command),
        Command::Group(command) => pausing::group(&config.open()?, output, command),
        Command::All(command) => pausing::all(&config.open()?, output, command),
        Command::Running(options) => {
            let store = config.open()?;
            options.watch.run(output, || cluster::running(&store, output, options))
        }
        Command::History(options) => history::run(&config.open()?, output, options),
        Command::Actions(options) => actions::run(&config.open()?, output, options),
        Command::Retry { fire_id } => retry::run(&config.open()?, output, fire_id),
        Command::Cancel { fire } => cluster::cancel(&config.open()?, output, fire),
        Command::Fail(options) => fail::run(&config.open()?, output, options),
        Command::Cluster(which) => {
            let store = config.open()?;
            which.watch.run(output, || nodes::cluster(&store, output, which))
        }
        Command::Lock(command) => lock::run(&config.open()?, output, command),
        Command::Definitions { forget, paging } => defined::run(&config.open()?, output, forget, paging),
        Command::Orphans(options) => orphans::run(&config.open()?, output, options),
        Command::Parked(command) => parked::run(&config.open()?, output, command),
        Command::Explain { trigger } => explain::run(&config.open()?, output, trigger),
        Command::Doctor(options) => doctor::run(&config.open_unchecked()?, output, options),
        Command::Drain(options) => placement::drain(&config.open()?, output, options),
        Command::Undrain { node } => placement::undrain(&config.open()?, output, node),
        Command::Blacklist(command) => placement::blacklist(&config.open()?, output, command),
        Command::Limit(command) => placement::limit(&config.open()?, output, command),
        Command::Check(bounds) => check::run(&config.open()?, output, bounds),
        #[cfg(feature = "dashboard")]
        Command::Dashboard(options) => dashboard::run(&config, options),
        Command::Top(options) => top::run(&config.open()?, output, options),
        Command::Node => node::run(config),
        Command::Outages(paging) => outages::list(&config.open()?, output, paging),
        Command::Submission(command) => submission::run(&config.open()?, output, command),
        Command::Recovery(command) => outages::recovery(&config.open()?, output, command),
        Command::Drill(options) => drill::run(&config, output, options),
        Command::Bench(options) => bench::run(&config, output, options),
    }
}

/// Creates or upgrades the tables, and says what was done.
fn migrate(config: &Config, output: Output) -> Outcome {
    let store = config.open_any()?;
    let bar = Bar::new(output);
    bar.begin("migrating the tables", None);
    let steps = store.database().migrate()?;
    drop(bar);
    let line = if steps.is_empty() { "the tables are up to date".to_owned() } else { steps.join("\n") };
    output.done(json!({"database": store.database().describe(), "done": steps}), &line)
}
