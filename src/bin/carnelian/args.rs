//! The command line's grammar: commands, options and their help.

pub mod help;
#[cfg(test)]
#[cfg(feature = "dashboard")]
mod pages;
mod schedule;

pub use schedule::{JobFlags, Policy, Schedule};

use crate::backfill::Backfill;
use crate::check::Check;
use crate::cluster::Running;
use crate::confirm::Confirm;
use crate::fail::Fail;
use crate::follow::Follow;
use crate::history::History;
use crate::nodes::Cluster;
use crate::page::Paging;
use crate::placement::{BlacklistCommand, Drain, LimitCommand};
use crate::value;
use carnelian::{JobKey, TriggerKey};
use chrono_tz::Tz;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Keys of jobs and triggers: group.name; with a dot in the group as in '[\"com.acme\",\"nightly\"]'.
Exit codes: 0 fine, 1 the answer is \"no\", 2 usage or configuration, 3 database unusable.";

/// Operates a Carnelian scheduler through its database, and runs stand-alone nodes.
#[derive(Parser)]
#[command(name = "carnelian", version, propagate_version = true)]
#[command(after_help = AFTER_HELP)]
pub struct Cli {
    /// The properties file. Without it: $CARNELIAN_CONFIG, else ./carnelian.properties, else the
    /// embedded database ./carnelian.db
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// One JSON document on standard output instead of a table
    #[arg(long, global = true, overrides_with = "json")]
    pub json: bool,
    /// Says nothing of what was done, and no warnings
    #[arg(long, short, global = true, overrides_with = "quiet")]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Creates or upgrades the tables; safe to repeat and to race
    Migrate,
    /// Stores a job and a trigger in one transaction
    Schedule(Box<Schedule>),
    /// Stores the jobs and triggers of job files (Quartz's XML, job_scheduling_data 2.0)
    Import(Import),
    /// Looks at jobs and changes them
    #[command(subcommand)]
    Job(JobCommand),
    /// Looks at triggers and changes them
    #[command(subcommand)]
    Trigger(TriggerCommand),
    /// Looks at calendars and changes them
    #[command(subcommand)]
    Calendar(CalendarCommand),
    /// Pauses or resumes a group of triggers
    #[command(subcommand)]
    Group(GroupCommand),
    /// Pauses or resumes everything
    #[command(subcommand)]
    All(AllCommand),
    /// The fires that are running in the cluster
    Running(Running),
    /// The fires that have ended, the newest first; all that is known of one; what becomes of old
    /// ones
    History(Box<History>),
    /// The log of actions: who paused, deleted, drained … what by the command line, in programs and
    /// on pages, the newest first
    Actions(crate::actions::Actions),
    /// Runs a fire of the history again, at once
    Retry {
        /// The fire, one that failed, was lost or was stopped; see `history`
        #[arg(value_name = "FIRE_ID")]
        fire_id: String,
    },
    /// Asks a run to stop, wherever it is; exit code 1 if it does not run, or was asked before
    Cancel {
        /// The fire, as `running` shows it
        fire: String,
    },
    /// Declares a running fire failed: it ends so, and its retry policy applies; exit code 1 if it
    /// does not run
    Fail(Fail),
    /// The nodes with their last check-in, or one of them with everything it says of itself; exit
    /// code 1 if it is not there or silent
    Cluster(Cluster),
    /// The locks of the application
    #[command(subcommand)]
    Lock(crate::lock::LockCommand),
    /// The jobs that programs have defined in code, and which program has defined each
    Definitions {
        /// Forgets the definition of this job, which stays: another program may define it then; may
        /// be repeated
        #[arg(long, value_name = "G.N")]
        forget: Vec<JobKey>,
        #[command(flatten)]
        paging: Paging,
    },
    /// Jobs that no live node can run, since when, and why; exit code 1 if it cannot be told
    Orphans(crate::orphans::Orphans),
    /// Work that is set aside: what was taken over too often from runs that died, and what could
    /// not be stored
    #[command(subcommand)]
    Parked(crate::parked::ParkedCommand),
    /// Why a trigger is not running right now, or when it will
    Explain {
        /// The trigger, `group.name`
        trigger: TriggerKey,
    },
    /// Checks tables, indexes, rows and states, and mends what can be mended; exit code 1 if there
    /// is a finding left
    Doctor(crate::doctor::Doctor),
    /// The times in which no node ran, and what was missed
    Outages(Paging),
    /// Work by the id of its request
    #[command(subcommand)]
    Submission(crate::submission::SubmissionCommand),
    /// The recovery mode: a backlog is drained by priority, in larger batches
    #[command(subcommand)]
    Recovery(crate::outages::RecoveryCommand),
    /// The overview in a terminal: nodes, runs, what is due and what has failed, until Ctrl-C
    Top(crate::top::Top),
    /// Has a node take no work, until `undrain`
    Drain(Drain),
    /// Has a drained node take work again; exit code 1 if it is not drained
    Undrain {
        /// The name it was drained under
        node: String,
    },
    /// Nodes that take no work for a while
    #[command(subcommand)]
    Blacklist(BlacklistCommand),
    /// The number of runs of a group of jobs that may run at a time
    #[command(subcommand)]
    Limit(LimitCommand),
    /// For a monitor: exit code 1 outside the bounds; needs only the database
    Check(Check),
    /// Serves the web page for operators, its JSON, health and metrics, until SIGTERM or SIGINT
    #[cfg(feature = "dashboard")]
    Dashboard(crate::dashboard::Dashboard),
    /// Runs a stand-alone node for jobs of type `command`, until SIGTERM or SIGINT
    Node,
    /// Cron expressions: their next times, their meaning
    #[command(subcommand)]
    Cron(CronCommand),
    /// Measures this database with no-op jobs in a scratch scheduler name; cleans up
    Bench(crate::bench::Bench),
    /// Kills a whole cluster of scratch nodes, and checks what becomes of its work; exit code 1 if
    /// a check fails; cleans up
    Drill(crate::drill::Drill),
    /// The completions for a shell, on standard output
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Writes man pages, one for each command, into a folder
    Man {
        /// The folder, which is made if it is missing
        folder: PathBuf,
    },
}

impl Command {
    /// True if the command only looks at what is stored.
    pub fn only_looks(&self) -> bool {
        use crate::{history::HistoryCommand, lock::LockCommand, outages::RecoveryCommand, parked::ParkedCommand};
        match self {
            Self::Job(command) => matches!(command, JobCommand::List(_) | JobCommand::Show { .. }),
            Self::Trigger(command) => matches!(command, TriggerCommand::List(_) | TriggerCommand::Show { .. }),
            Self::Calendar(command) => matches!(command, CalendarCommand::List(_) | CalendarCommand::Show { .. }),
            Self::History(options) => !matches!(options.command, Some(HistoryCommand::Prune { .. })),
            Self::Lock(command) => matches!(command, LockCommand::List { .. }),
            Self::Definitions { forget, .. } => forget.is_empty(),
            Self::Parked(command) => matches!(command, ParkedCommand::List { .. } | ParkedCommand::Show { .. }),
            Self::Blacklist(command) => matches!(command, BlacklistCommand::List { .. }),
            Self::Limit(command) => matches!(command, LimitCommand::List { .. }),
            Self::Recovery(command) => matches!(command, RecoveryCommand::Show),
            Self::Running(_) | Self::Actions(_) | Self::Cluster(_) | Self::Explain { .. } | Self::Outages(_) => true,
            Self::Submission(_) | Self::Top(_) | Self::Check(_) => true,
            _ => false,
        }
    }
}

#[derive(Args)]
pub struct Import {
    /// The files, `-` for standard input; each is stored whole or not at all, and none if one of
    /// them cannot be read
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Leaves triggers alone that are stored just as the file has them, instead of beginning them
    /// anew
    #[arg(long)]
    pub keep_unchanged: bool,
    /// At most one fire of each job of this type runs in the whole cluster; may be repeated
    #[arg(long, value_name = "TYPE")]
    pub non_concurrent: Vec<String>,
    /// Changes that a run makes to the data of a job of this type are kept; may be repeated
    #[arg(long, value_name = "TYPE")]
    pub persist_data: Vec<String>,
    /// A group in which no command of a file deletes; may be repeated
    #[arg(long, value_name = "GROUP")]
    pub protect: Vec<String>,
}

#[derive(Subcommand)]
pub enum JobCommand {
    /// The jobs, in order of name and group
    List(crate::job::List),
    /// One job with its data and triggers
    Show { job: JobKey },
    /// Stores a durable job without a trigger
    #[command(mut_arg("durable", |arg| arg.hide(true)))]
    Add {
        job: JobKey,
        /// The name its code is registered under
        #[arg(long = "type", value_name = "TYPE")]
        job_type: String,
        #[command(flatten)]
        flags: Box<JobFlags>,
        /// Replaces the job if it exists
        #[arg(long)]
        replace: bool,
    },
    /// Deletes a job with its triggers, or all jobs of a type
    Delete(crate::job_delete::Delete),
    /// Makes a trigger that fires now
    Run {
        job: JobKey,
        /// One entry of data for this run; may be repeated
        #[arg(long, value_name = "K=V", value_parser = value::entry)]
        data: Vec<(String, String)>,
        /// Waits for the end of the run, and of its retries; exit code 1 unless it succeeds
        #[arg(long)]
        wait: bool,
    },
    /// Runs a job after each run of another job that ends with the outcome of `--on`
    Follow(Follow),
    /// Lets a job follow another no longer
    Unfollow { parent: JobKey, child: JobKey },
    /// Gives a job another key, with its triggers; refused while it runs
    Rename {
        old: JobKey,
        new: JobKey,
        /// Only says what would be done
        #[arg(long)]
        dry_run: bool,
    },
    /// Gives all jobs of a type another type; those that run are left, and named
    ///
    /// Data are upgraded by programs that have the type's code (`Scheduler::migrate_jobs`), or when
    /// a job runs.
    Migrate {
        /// The type they have, and the one they get
        #[arg(long = "type", value_names = ["OLD", "NEW"], num_args = 2, required = true)]
        types: Vec<String>,
        /// Only says what would be done
        #[arg(long)]
        dry_run: bool,
    },
    /// Pauses the job's triggers
    Pause {
        job: JobKey,
        /// Also asks its runs to stop, wherever they are; those that do not are given up
        #[arg(long)]
        stop: bool,
    },
    /// Resumes the job's triggers
    Resume { job: JobKey },
}

#[derive(Subcommand)]
pub enum TriggerCommand {
    /// The triggers
    List(Box<crate::trigger::List>),
    /// One trigger with its schedule and data
    Show { trigger: TriggerKey },
    /// Deletes a trigger, and its job if that is left without one and is not durable
    Delete { trigger: TriggerKey },
    /// Pauses a trigger
    Pause { trigger: TriggerKey },
    /// Resumes a trigger
    Resume { trigger: TriggerKey },
    /// Takes a trigger out of the error state
    Reset { trigger: TriggerKey },
    /// Makes up for its fires in a range of the past: a one-shot trigger in the group BACKFILL for
    /// each
    Backfill(Backfill),
}

#[derive(Subcommand)]
pub enum CalendarCommand {
    /// The calendars, in order of their names
    List(Paging),
    /// One calendar with its definition, as `put` reads it
    Show { name: String },
    /// Stores a calendar from a definition
    #[command(after_help = crate::definition::FORM)]
    Put {
        name: String,
        /// The file with the definition; `-` for standard input
        file: PathBuf,
        /// Replaces the calendar if it exists
        #[arg(long)]
        replace: bool,
        /// Triggers that name it get a new next fire time; those in error or paused one by one wait
        /// again
        #[arg(long, requires = "replace")]
        update_triggers: bool,
    },
    /// Deletes a calendar that no trigger names
    Delete { name: String },
}

#[derive(Subcommand)]
pub enum GroupCommand {
    /// Pauses the triggers of a group, also those to come
    Pause {
        group: String,
        #[command(flatten)]
        confirm: Confirm,
    },
    /// Resumes the triggers of a group; exit code 1 if there is no such group
    Resume { group: String },
}

#[derive(Subcommand)]
pub enum AllCommand {
    /// Pauses every trigger, also those to come
    Pause {
        #[command(flatten)]
        confirm: Confirm,
    },
    /// Resumes every trigger
    Resume,
}

#[derive(Subcommand)]
pub enum CronCommand {
    /// The next fire times, ISO-8601 with offset, one a line; with --json in epoch milliseconds
    Next {
        /// The expression: seconds minutes hours day-of-month month day-of-week [year]
        expression: String,
        /// The time zone [default: the scheduler's, carnelian.scheduler.timeZone, else the host's]
        #[arg(long, value_name = "ZONE", value_parser = value::zone)]
        tz: Option<Tz>,
        /// Only times after this moment, ISO-8601 with offset or epoch milliseconds [default: now]
        #[arg(long, value_name = "TIME", allow_negative_numbers = true, value_parser = value::moment_ms)]
        from: Option<i64>,
        /// The number of times
        #[arg(long, value_name = "N", default_value_t = 5)]
        count: u32,
    },
    /// The expression in words
    Explain { expression: String },
}
