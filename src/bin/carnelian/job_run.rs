//! `job run`: makes a trigger that fires now, and waits for the end of its run if asked to.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, or_dash, span, yes_or_no};
use crate::table::printable;
use crate::watch::{FOLLOWED, pause};
use crate::{schedule, value};
use carnelian::history::{FireOutcome, HistoryQuery, HistoryRow};
use carnelian::report;
use carnelian::settings::HistoryRecord;
use carnelian::store::JobStore;
use carnelian::{JobKey, TriggerKey, TriggerState};
use serde_json::json;

/// Runs the job once; with `wait`, exit code 1 unless the run, or the last of its retries,
/// succeeds.
pub fn run(store: &JobStore, output: Output, job: &JobKey, data: &[(String, String)], wait: bool) -> Outcome {
    let record = store.settings().history.record;
    if wait && record == HistoryRecord::None {
        let why = "--wait looks for the run in the history, and carnelian.history.record = none keeps none";
        return Err(Failure::Usage(why.to_owned()));
    }
    let run = store.catalogue().trigger_job(job, value::data_map(data));
    let trigger = run.map_err(|error| Failure::of(store, error))?;
    if !wait {
        return output.done(
            json!({"job": job.to_string(), "trigger": trigger.to_string()}),
            &format!("{job} runs as soon as a node takes {trigger}"),
        );
    }
    if let Some(detail) = store.catalogue().job(job)?
        && let Some(warning) = schedule::doubts(store, &detail)?
    {
        output.warn(&warning);
    }
    let Some(row) = last_run(store, job, &trigger)? else {
        let document = json!({"job": job.to_string(), "trigger": trigger.to_string(), "run": null});
        let why = "the history, which keeps problems only (carnelian.history.record), has none of its last run";
        return output.done(document, &format!("{job} is over: {why}"));
    };
    let document = json!({"job": job.to_string(), "trigger": trigger.to_string(), "run": report::run(&row)});
    let time = row.run_ms.map_or(String::new(), |ms| format!(" after {}", span(ms)));
    let node = or_dash(row.instance.as_ref());
    let mut line = format!("{job} {}{time}: fire {} on {node}", row.outcome.name(), row.fire_id);
    for (what, text) in [("error", &row.error), ("result", &row.result)] {
        line.extend(text.iter().map(|text| format!("\n{what}: {}", printable(text.trim_end()))));
    }
    output.done(document, &line)?;
    yes_or_no(row.outcome == FireOutcome::Succeeded)
}

/// Waits until nothing of the work runs or waits any more; returns its last run. None if that left
/// no row where only problems are recorded.
fn last_run(store: &JobStore, job: &JobKey, trigger: &TriggerKey) -> Outcome<Option<HistoryRow>> {
    let query = HistoryQuery::new().job(job.clone()).trigger(trigger.clone()).running(true).limit(1);
    let keeps_problems = store.settings().history.record == HistoryRecord::Problems;
    let (mut was_gone, mut tried_again) = (false, None);
    loop {
        // The trigger is looked at first: once it is gone, the history has the run.
        let is_gone = !store.catalogue().trigger_exists(trigger)?;
        match store.history().find(&query)?.pop() {
            Some(first) if !first.is_running() => {
                let Some(mut record) = store.history().run_record(&first.fire_id)? else { return Ok(Some(first)) };
                let runs = record.chain.iter().any(HistoryRow::is_running);
                let last = record.chain.iter().rfind(|row| !row.is_running()).map(|row| row.fire_id.clone());
                if record.waiting.is_empty() && !runs {
                    let left_no_row = keeps_problems && last.is_some() && tried_again == last;
                    return Ok((!left_no_row).then(|| record.chain.pop().unwrap_or(record.run)));
                }
                tried_again = last;
                if !runs {
                    let waiting: Vec<TriggerKey> = record.waiting.into_iter().map(|(key, _)| key).collect();
                    refuse_held(store, job, &waiting)?;
                }
            }
            Some(_) => {}
            // A run that has begun since the first look is found by the second.
            None if is_gone && was_gone && keeps_problems => return Ok(None),
            None if is_gone && was_gone => {
                let why = "the trigger is gone, and the history has no run of it: see carnelian.history.record";
                return Err(Failure::Refused(format!("{job}: {why}")));
            }
            None => {
                refuse_held(store, job, std::slice::from_ref(trigger))?;
                was_gone = is_gone;
            }
        }
        pause(FOLLOWED);
    }
}

/// Refuses to wait for triggers if each of them stays as it is until a person frees it.
fn refuse_held(store: &JobStore, job: &JobKey, triggers: &[TriggerKey]) -> Outcome {
    let mut held = None;
    for trigger in triggers {
        held = match store.catalogue().trigger_state(trigger)? {
            Some(TriggerState::Paused | TriggerState::PausedBlocked) => Some((trigger, "is paused")),
            Some(TriggerState::Error) => Some((trigger, "is parked, or in the error state")),
            _ => return Ok(()),
        };
    }
    match held {
        Some((trigger, how)) => {
            let why = format!("{trigger} {how}, and runs when it is freed: see `carnelian explain {trigger}`");
            Err(Failure::Refused(format!("{job}: {why}")))
        }
        None => Ok(()),
    }
}
