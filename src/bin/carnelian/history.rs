//! `history`: the fires that have ended and those that run, one of them with all that is known of
//! it, what becomes of old ones.

use crate::confirm::Confirm;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields, or_dash, span, table, time};
use crate::page::{Paging, Part};
use crate::run_log;
use crate::value::{self, Moment, With, epoch_ms, millis, resolved};
use carnelian::history::{FireOutcome, HistoryPruning, HistoryQuery, HistoryRow, SummaryRow};
use carnelian::report::{self, ended_ms};
use carnelian::store::JobStore;
use carnelian::{JobKey, JobPolicy, TriggerKey};
use chrono::{DateTime, Utc};
use clap::builder::TypedValueParser;
use clap::{Args, Subcommand};
use log::LevelFilter;
use serde_json::json;
use std::time::Duration;

// The filter of fires.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct History {
    #[command(subcommand)]
    pub command: Option<HistoryCommand>,
    /// Only fires of this job, `group.name`
    #[arg(long, value_name = "G.N")]
    pub job: Option<JobKey>,
    /// Only fires of this trigger, `group.name`
    #[arg(long, value_name = "G.N")]
    pub trigger: Option<TriggerKey>,
    /// Only fires of jobs of this type
    #[arg(long = "type", value_name = "TYPE")]
    pub job_type: Option<String>,
    /// Only this fire
    #[arg(long, value_name = "ID")]
    pub fire: Option<String>,
    /// Only fires that belonged to this instance
    #[arg(long, value_name = "NAME")]
    pub instance: Option<String>,
    /// Only fires of this outcome; may be repeated
    #[arg(long, value_name = "NAME", value_parser = outcome())]
    pub outcome: Vec<FireOutcome>,
    /// Also fires that run now
    #[arg(long)]
    pub running: bool,
    /// Only fires with this attempt number; the first attempt is 0
    #[arg(long, value_name = "N")]
    pub attempt: Option<u32>,
    /// Only fires whose job had this business key when they ran
    #[arg(long, visible_alias = "biz-key", value_name = "KEY")]
    pub business_key: Option<String>,
    /// Only fires of this trace: 32 hexadecimal digits
    #[arg(long, value_name = "ID", value_parser = trace)]
    pub trace: Option<String>,
    /// Only fires whose error has this text in it
    #[arg(long, value_name = "TEXT")]
    pub error: Option<String>,
    /// Only fires that ended at this time or later: ISO 8601 with offset, `now`, or so long ago,
    /// such as `-2h`
    #[arg(long, value_name = "TIME", value_parser = value::past, allow_hyphen_values = true)]
    pub since: Option<Moment>,
    /// Only fires that ended before this time
    #[arg(long, value_name = "TIME", value_parser = value::past, allow_hyphen_values = true)]
    pub until: Option<Moment>,
    #[command(flatten)]
    pub paging: Paging,
    /// The number of fires of each job by outcome, and their run times, instead of the fires
    #[arg(long, conflicts_with_all = ["running", "after", "limit", "all"])]
    pub summary: bool,
}

// The limits of a job's rows in the history.
#[derive(Args, Default)]
#[command(next_help_heading = "History")]
pub struct KeepFlags {
    /// Down to which level the lines that a run logs are kept with its row of the history [default:
    /// that of the node]
    #[arg(long, value_name = "LEVEL", value_parser = value::level())]
    pub capture_log: Option<LevelFilter>,
    /// The number of bytes of such lines that are kept of a run [default: that of the node]
    #[arg(long, value_name = "N")]
    pub log_max_bytes: Option<u32>,
    /// The number of rows of the history that are kept of the job [default: that of the node]
    #[arg(long, value_name = "N")]
    pub keep_history: Option<u32>,
}

impl KeepFlags {
    /// The policy with what the options say.
    pub fn add_to(&self, policy: JobPolicy) -> JobPolicy {
        policy
            .with(self.capture_log, JobPolicy::capture_log)
            .with(self.log_max_bytes, JobPolicy::log_max_bytes)
            .with(self.keep_history, JobPolicy::keep_history)
    }
}

#[derive(Subcommand)]
pub enum HistoryCommand {
    /// All that is known of one run: its times, its chain, what it has logged; exit code 1 if
    /// nothing is
    Show {
        /// The fire
        #[arg(value_name = "FIRE_ID")]
        fire_id: String,
    },
    /// The lines that a run has logged, as far as they are kept; exit code 1 if nothing is known of
    /// the run
    Logs {
        /// The fire
        #[arg(value_name = "FIRE_ID")]
        fire_id: String,
        /// Waits for the end of the run, tells its progress meanwhile, and then shows its lines
        #[arg(long, short)]
        follow: bool,
    },
    /// Deletes what is too old or too much by the settings, as the longest-serving node does by
    /// itself
    Prune {
        /// Deletes what is older than this, whatever the settings say
        #[arg(long, value_name = "DUR", value_parser = value::duration)]
        older_than: Option<Duration>,
        /// Only rows of this job, `group.name`
        #[arg(long, value_name = "G.N")]
        job: Option<JobKey>,
        /// Only says how many rows there are
        #[arg(long)]
        dry_run: bool,
        #[command(flatten)]
        confirm: Confirm,
    },
}

/// Reads the name of an outcome.
fn outcome() -> impl TypedValueParser<Value = FireOutcome> {
    value::named(FireOutcome::ALL.into_iter().chain([FireOutcome::Running]), FireOutcome::name)
}

/// Reads the id of a trace.
fn trace(text: &str) -> Result<String, String> {
    let is_id = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| text.to_ascii_lowercase()).ok_or_else(|| "expected 32 hexadecimal digits".to_owned())
}

/// Does what the options ask for.
pub fn run(store: &JobStore, output: Output, options: &History) -> Outcome {
    match &options.command {
        Some(HistoryCommand::Show { fire_id }) => show(store, output, fire_id),
        Some(HistoryCommand::Logs { fire_id, follow }) => run_log::run(store, output, fire_id, *follow),
        Some(HistoryCommand::Prune { older_than, job, dry_run, confirm }) => {
            let pruning = HistoryPruning::new()
                .with(*older_than, HistoryPruning::older_than)
                .with(job.clone(), HistoryPruning::job);
            prune(store, output, &pruning, *dry_run, *confirm)
        }
        None if options.summary => summary(store, output, &query(store, options)?),
        None => list(store, output, query(store, options)?, &options.paging),
    }
}

fn query(store: &JobStore, options: &History) -> Outcome<HistoryQuery> {
    let moment = |moment: Option<Moment>| moment.map(|moment| resolved(store, moment)).transpose();
    let query = HistoryQuery::new()
        .running(options.running)
        .with(options.job_type.as_ref(), HistoryQuery::job_type)
        .with(options.job.clone(), HistoryQuery::job)
        .with(options.trigger.clone(), HistoryQuery::trigger)
        .with(options.fire.as_ref(), HistoryQuery::fire)
        .with(options.instance.as_ref(), HistoryQuery::instance)
        .with(options.attempt.map(i64::from), HistoryQuery::attempt)
        .with(options.business_key.as_ref(), HistoryQuery::biz_key)
        .with(options.trace.as_ref(), HistoryQuery::trace)
        .with(options.error.as_ref(), HistoryQuery::error)
        .with(moment(options.since)?, HistoryQuery::since)
        .with(moment(options.until)?, HistoryQuery::until);
    let query = options.outcome.iter().copied().fold(query, HistoryQuery::outcome);
    let Some(token) = &options.paging.after else { return Ok(query) };
    let fire = token.strip_prefix(RUNNING).unwrap_or(token);
    let found = store.history().find(&HistoryQuery::new().fire(fire).running(true))?.into_iter().next();
    let mut last = found.ok_or_else(|| Failure::Refused(format!("the history has no fire {fire}")))?;
    if fire != token {
        // A fire that has ended meanwhile keeps its place before the others that ran then.
        last.outcome = FireOutcome::Running;
    }
    Ok(query.after(&last))
}

/// The beginning of the token of a fire that runs.
const RUNNING: &str = "running:";

fn list(store: &JobStore, output: Output, query: HistoryQuery, paging: &Paging) -> Outcome {
    let part = Part::of_queries(
        paging,
        |row: &HistoryRow| match row.outcome {
            FireOutcome::Running => format!("{RUNNING}{}", row.fire_id),
            _ => row.fire_id.clone(),
        },
        |last, limit| Ok(store.history().find(&query.clone().with(last, HistoryQuery::after).limit(limit))?),
    )?;
    let heading = ["ENDED", "OUTCOME", "JOB", "TRIGGER", "INSTANCE", "ATTEMPT", "RUN TIME", "FIRE", "ERROR"];
    output.part("no such fire has ended", heading, &part, report::run, |row| {
        [
            time(ended_ms(row)),
            row.outcome.name().to_owned(),
            or_dash(row.job.as_ref()),
            row.trigger.to_string(),
            or_dash(row.instance.as_ref()),
            row.attempt.to_string(),
            or_dash(row.run_ms.map(span)),
            row.fire_id.clone(),
            row.error.as_deref().map(first_line).unwrap_or_default(),
        ]
    })
}

fn summary(store: &JobStore, output: Output, query: &HistoryQuery) -> Outcome {
    let summary = store.history().summary(query)?;
    let times = |row: &SummaryRow| [row.min, row.p50, row.p90, row.p99, row.max].map(|time| time.map(millis));
    let rows = summary.rows.iter().map(|row| {
        let [min, p50, p90, p99, max] = times(row);
        json!({
            "job": row.job.as_ref().map(ToString::to_string),
            "outcome": row.outcome.name(),
            "fires": row.fires,
            "run_ms": {"min": min, "p50": p50, "p90": p90, "p99": p99, "max": max},
        })
    });
    let json = json!({"fires": summary.fires, "complete": summary.is_complete, "rows": rows.collect::<Vec<_>>()});
    output.answer(json, || {
        let cells = summary.rows.iter().map(|row| {
            let [min, p50, p90, p99, max] = times(row).map(|ms| or_dash(ms.map(span)));
            let (job, outcome) = (or_dash(row.job.as_ref()), row.outcome.name().to_owned());
            [job, outcome, row.fires.to_string(), min, p50, p90, p99, max]
        });
        let mut text = table(["JOB", "OUTCOME", "FIRES", "MIN", "P50", "P90", "P99", "MAX"], cells);
        if !summary.is_complete {
            text.push_str(&format!("only the newest {} fires\n", summary.fires));
        }
        text
    })
}

fn show(store: &JobStore, output: Output, fire_id: &str) -> Outcome {
    let Some(record) = store.history().run_record(fire_id)? else {
        return Err(Failure::Refused(format!("nothing is known of fire {fire_id}")));
    };
    output.answer(report::run_record(&record), || {
        let row = &record.run;
        let mut text = fields(&[
            ("fire", Some(row.fire_id.clone())),
            ("outcome", Some(row.outcome.name().to_owned())),
            ("job", row.job.as_ref().map(ToString::to_string)),
            ("name", row.marks.name.clone()),
            ("description", record.description.clone()),
            ("owner", row.marks.owner.clone()),
            ("biz key", row.marks.biz_key.clone()),
            ("trace", row.marks.trace_id.clone()),
            ("type", row.job_type.clone()),
            ("trigger", Some(row.trigger.to_string())),
            ("instance", row.instance.clone()),
            ("address", row.address.clone()),
            ("scheduled", Some(time(Some(row.scheduled_ms)))),
            ("fired", row.fired_ms.map(|ms| time(Some(ms)))),
            ("started", row.start_time().map(|start| time(Some(epoch_ms(start))))),
            ("ended", ended_ms(row).map(|ms| time(Some(ms)))),
            ("run time", row.run_ms.map(span)),
            ("attempt", Some(row.attempt.to_string())),
            ("first fire", row.root_fire_id.clone()),
            ("error", row.error.clone()),
            ("result", row.result.clone()),
        ]);
        if record.chain.len() > 1 || !record.waiting.is_empty() {
            text.push_str("\nthe runs of this work:\n");
            let run = |row: &HistoryRow| {
                [row.fire_id.clone(), row.attempt.to_string(), row.outcome.name().to_owned(), time(row.fired_ms)]
            };
            let next = |(trigger, next): &(TriggerKey, Option<DateTime<Utc>>)| {
                [trigger.to_string(), "-".to_owned(), "to come".to_owned(), time(next.map(epoch_ms))]
            };
            let rows = record.chain.iter().map(run).chain(record.waiting.iter().map(next));
            text.push_str(&table(["FIRE", "ATTEMPT", "OUTCOME", "FIRED"], rows));
        }
        if !record.log.is_empty() {
            text.push_str("\nwhat it has logged:\n");
            text.push_str(&run_log::lines(&record.log));
        }
        text
    })
}

fn prune(store: &JobStore, output: Output, pruning: &HistoryPruning, dry_run: bool, confirm: Confirm) -> Outcome {
    if !dry_run && confirm.is_asked() {
        let rows = store.history().count_prunable(pruning)?;
        confirm.ask(|| format!("delete {rows} rows of the history"))?;
    }
    let rows = if dry_run { store.history().count_prunable(pruning)? } else { store.history().prune(pruning)? };
    let line = if dry_run { format!("{rows} rows would be deleted") } else { format!("{rows} rows deleted") };
    output.done(json!({"rows": rows, "dry_run": dry_run}), &line)
}

/// Enough of an error for a table.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let is_cut = line.len() < text.len() || line.chars().count() > 80;
    line.chars().take(80).chain(is_cut.then_some('…')).collect()
}
