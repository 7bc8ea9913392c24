//! `job run`: makes a trigger that fires now, and waits for the end of its run if asked to.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, complain, or_dash, span, yes_or_no};
use crate::watch::{FOLLOWED, pause};
use crate::{schedule, value};
use carnelian::history::{FireOutcome, HistoryQuery, HistoryRow};
use carnelian::report;
use carnelian::store::JobStore;
use carnelian::{JobKey, TriggerKey};
use serde_json::json;

/// Runs the job once; with `wait`, exit code 1 unless the run, or the last of its retries,
/// succeeds.
pub fn run(store: &JobStore, output: Output, job: &JobKey, data: &[(String, String)], wait: bool) -> Outcome {
    let trigger = store.catalogue().trigger_job(job, value::data_map(data))?;
    if !wait {
        return output.done(
            json!({"job": job.to_string(), "trigger": trigger.to_string()}),
            &format!("{job} runs as soon as a node takes {trigger}"),
        );
    }
    if let Some(detail) = store.catalogue().job(job)?
        && let Some(warning) = schedule::nobody_runs(store, detail.job_type())?
    {
        complain(&format!("warning: {warning}"));
    }
    let row = last_run(store, job, &trigger)?;
    let document = json!({"job": job.to_string(), "trigger": trigger.to_string(), "run": report::run(&row)});
    let time = row.run_ms.map_or(String::new(), |ms| format!(" after {}", span(ms)));
    let node = or_dash(row.instance.as_ref());
    let mut line = format!("{job} {}{time}: fire {} on {node}", row.outcome.name(), row.fire_id);
    for (what, text) in [("error", &row.error), ("result", &row.result)] {
        line.extend(text.iter().map(|text| format!("\n{what}: {text}")));
    }
    output.done(document, &line)?;
    yes_or_no(row.outcome == FireOutcome::Succeeded)
}

/// Waits until nothing of the work runs or waits any more; returns its last run.
fn last_run(store: &JobStore, job: &JobKey, trigger: &TriggerKey) -> Outcome<HistoryRow> {
    let query = HistoryQuery::new().job(job.clone()).trigger(trigger.clone()).running(true).limit(1);
    let mut was_gone = false;
    loop {
        // The trigger is looked at first: once it is gone, the history has the run.
        let is_gone = !store.catalogue().trigger_exists(trigger)?;
        match store.history().find(&query)?.pop() {
            Some(first) if !first.is_running() => {
                let record = store.history().run_record(&first.fire_id)?;
                let is_over = |record: &carnelian::history::RunRecord| {
                    record.waiting.is_empty() && !record.chain.iter().any(HistoryRow::is_running)
                };
                match record {
                    Some(mut record) if is_over(&record) => return Ok(record.chain.pop().unwrap_or(record.run)),
                    Some(_) => {}
                    None => return Ok(first),
                }
            }
            Some(_) => {}
            // A run that has begun since the first look is found by the second.
            None if is_gone && was_gone => {
                let why = "the trigger is gone, and the history has no run of it: see carnelian.history.record";
                return Err(Failure::Refused(format!("{job}: {why}")));
            }
            None => was_gone = is_gone,
        }
        pause(FOLLOWED);
    }
}
