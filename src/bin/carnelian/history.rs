//! `history`: the fires that have ended, the newest first.

use crate::failure::Outcome;
use crate::output::{Output, span, table, time};
use crate::value::{self, Moment};
use carnelian::store::JobStore;
use carnelian::{FireOutcome, HistoryQuery, HistoryRow, JobKey, TriggerKey};
use clap::Args;
use serde_json::{Value, json};

// Which fires are asked for.
#[derive(Args)]
pub struct History {
    /// Only fires of this job, `group.name`
    #[arg(long, value_name = "G.N")]
    pub job: Option<JobKey>,
    /// Only fires of this trigger, `group.name`
    #[arg(long, value_name = "G.N")]
    pub trigger: Option<TriggerKey>,
    /// Only this fire
    #[arg(long, value_name = "ID")]
    pub fire: Option<String>,
    /// Only fires of this outcome; may be repeated
    #[arg(long, value_name = "NAME", value_parser = value::outcome())]
    pub outcome: Vec<FireOutcome>,
    /// Only fires that ended at this time or later: ISO 8601 with offset, `now`, or so long ago, such as `-2h`
    #[arg(long, value_name = "TIME", value_parser = value::past, allow_hyphen_values = true)]
    pub since: Option<Moment>,
    /// At most so many
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
}

/// Lists what the options ask for.
pub fn run(store: &JobStore, output: Output, options: &History) -> Outcome {
    let mut query = HistoryQuery::new().limit(options.limit);
    if let Some(job) = &options.job {
        query = query.job(job.clone());
    }
    if let Some(trigger) = &options.trigger {
        query = query.trigger(trigger.clone());
    }
    if let Some(fire) = &options.fire {
        query = query.fire(fire);
    }
    for outcome in &options.outcome {
        query = query.outcome(*outcome);
    }
    if let Some(since) = options.since {
        let time = match since.resolve(|| store.now_ms())? {
            Some(time) => Some(time),
            None => chrono::DateTime::from_timestamp_millis(store.now_ms()?),
        };
        query = time.into_iter().fold(query, HistoryQuery::since);
    }
    let rows = store.history(&query)?;
    output.answer(Value::Array(rows.iter().map(document).collect()), || {
        let cells = |row: &HistoryRow| {
            vec![
                time(Some(row.ended_ms)),
                row.outcome.name().to_owned(),
                row.job.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
                row.trigger.to_string(),
                row.instance.clone().unwrap_or_else(|| "-".to_owned()),
                row.attempt.to_string(),
                row.run_ms.map_or_else(|| "-".to_owned(), span),
                row.fire_id.clone(),
                row.error.as_deref().map(first_line).unwrap_or_default(),
            ]
        };
        let heading = ["ENDED", "OUTCOME", "JOB", "TRIGGER", "INSTANCE", "ATTEMPT", "RUN TIME", "FIRE", "ERROR"];
        table(&heading, &rows.iter().map(cells).collect::<Vec<_>>())
    })
}

fn document(row: &HistoryRow) -> Value {
    json!({
        "fire_id": row.fire_id,
        "job": row.job.as_ref().map(ToString::to_string),
        "type": row.job_type,
        "trigger": row.trigger.to_string(),
        "instance": row.instance,
        "scheduled_ms": row.scheduled_ms,
        "fired_ms": row.fired_ms,
        "started_ms": row.run_ms.map(|run_ms| row.ended_ms.saturating_sub(run_ms)),
        "ended_ms": row.ended_ms,
        "run_ms": row.run_ms,
        "outcome": row.outcome.name(),
        "attempt": row.attempt,
        "origin_fire_id": row.root_fire_id,
        "error": row.error,
        "result": row.result,
    })
}

/// Enough of an error for a table.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}
