//! `running`, `cancel` and `check`: the cluster as the database shows it.

use crate::failure::{Failure, Outcome};
use crate::output::{Output, fields, span, table, time};
use crate::value;
use carnelian::store::row::FiredState;
use carnelian::store::{FiredTrigger, JobStore};
use carnelian::{GroupMatcher, TriggerState};
use clap::Args;
use serde_json::{Value, json};
use std::time::Duration;

// The bounds of `check`; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Check {
    /// At most so many triggers may be overdue
    #[arg(long, value_name = "N")]
    pub max_overdue: Option<usize>,
    /// At least so many nodes must be alive
    #[arg(long, value_name = "M")]
    pub min_nodes: Option<usize>,
    /// How late a waiting trigger must be to count as overdue
    #[arg(long, value_name = "DUR", default_value = "1s", value_parser = value::duration)]
    pub overdue_after: Duration,
}

/// The fires that are running, and with `reserved` those to come.
pub fn running(store: &JobStore, output: Output, reserved: bool) -> Outcome {
    let now_ms = store.now_ms()?;
    let mut fires = store.fired_triggers()?;
    fires.retain(|fire| reserved || fire.state == FiredState::Executing);
    fires.sort_by(|a, b| (a.fired_ms, &a.fire_id).cmp(&(b.fired_ms, &b.fire_id)));
    let document = fires.iter().map(|fire| {
        json!({
            "fire_id": fire.fire_id,
            "job": fire.job.as_ref().map(ToString::to_string),
            "trigger": fire.trigger.to_string(),
            "instance": fire.instance,
            "state": fire.state.name(),
            "scheduled_ms": fire.scheduled_ms,
            "fired_ms": fire.fired_ms,
            "last_beat_ms": fire.heartbeat.as_ref().map(|beat| beat.last_ms),
            "progress": fire.heartbeat.as_ref().and_then(|beat| beat.progress.as_ref()).map(|progress| {
                json!({"done": progress.done, "total": progress.total, "note": progress.note})
            }),
        })
    });
    output.answer(Value::Array(document.collect()), || {
        let rows: Vec<Vec<String>> = fires
            .iter()
            .map(|fire| {
                vec![
                    fire.job.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string),
                    fire.trigger.to_string(),
                    fire.instance.clone(),
                    fire.state.name().to_owned(),
                    time(Some(fire.scheduled_ms)),
                    time(Some(fire.fired_ms)),
                    fire.heartbeat.as_ref().map_or_else(
                        || "-".to_owned(),
                        |beat| format!("{} ago", span(now_ms.saturating_sub(beat.last_ms).max(0))),
                    ),
                    progress(fire),
                    fire.fire_id.clone(),
                ]
            })
            .collect();
        table(&["JOB", "TRIGGER", "INSTANCE", "STATE", "SCHEDULED", "FIRED", "LAST BEAT", "PROGRESS", "FIRE"], &rows)
    })
}

/// `3 of 10: copying`.
fn progress(fire: &FiredTrigger) -> String {
    let progress = fire.heartbeat.as_ref().and_then(|beat| beat.progress.as_ref());
    let Some(progress) = progress else { return "-".to_owned() };
    let total = progress.total.map_or(String::new(), |total| format!(" of {total}"));
    let note = progress.note.as_ref().map_or(String::new(), |note| format!(": {note}"));
    format!("{}{total}{note}", progress.done)
}

/// Leaves an order to stop for whichever node runs the fire.
pub fn cancel(store: &JobStore, output: Output, fire_id: &str) -> Outcome {
    let asked = store.request_cancels(&[fire_id.to_owned()], "carnelian cancel")? > 0;
    let text = match asked {
        true => format!("asked fire {fire_id} to stop: its node learns it with its next heartbeat"),
        false => format!("fire {fire_id} does not run, or was asked before"),
    };
    output.done(json!({"fire_id": fire_id, "asked": asked}), &text)?;
    if asked { Ok(()) } else { Err(Failure::No) }
}

/// Counts what is overdue and who is alive, and compares with the bounds.
pub fn check(store: &JobStore, output: Output, bounds: &Check) -> Outcome {
    let now_ms = store.earliest_due(&[])?.0;
    let late_ms = i64::try_from(bounds.overdue_after.as_millis()).unwrap_or(i64::MAX);
    let before_ms = now_ms.saturating_sub(late_ms);
    let triggers = store.trigger_summaries(&GroupMatcher::any())?;
    // An acquired trigger whose time is long past is one whose node does not fire it: overdue as well.
    let waits = |state: &str| [TriggerState::Waiting, TriggerState::Acquired].iter().any(|s| s.name() == state);
    let overdue: Vec<i64> = triggers
        .iter()
        .filter(|trigger| waits(&trigger.state))
        .filter_map(|trigger| trigger.next_fire_ms)
        .filter(|next_ms| *next_ms < before_ms)
        .collect();
    let oldest_ms = overdue.iter().min().map(|next_ms| now_ms.saturating_sub(*next_ms));
    let alive = store.instances()?.iter().filter(|node| node.alive).count();
    let mut problems = Vec::new();
    if let Some(most) = bounds.max_overdue.filter(|most| overdue.len() > *most) {
        problems.push(format!("{} triggers are overdue, at most {most} are allowed", overdue.len()));
    }
    if let Some(least) = bounds.min_nodes.filter(|least| alive < *least) {
        problems.push(format!("{alive} nodes are alive, at least {least} are needed"));
    }
    let document = json!({
        "ok": problems.is_empty(),
        "overdue": overdue.len(),
        "oldest_overdue_ms": oldest_ms,
        "nodes": alive,
        "problems": problems,
    });
    output.answer(document, || {
        let mut text = fields(&[
            ("overdue", Some(overdue.len().to_string())),
            ("oldest", oldest_ms.map(span)),
            ("nodes alive", Some(alive.to_string())),
        ]);
        problems.iter().for_each(|problem| text.push_str(&format!("{problem}\n")));
        text
    })?;
    if problems.is_empty() { Ok(()) } else { Err(Failure::No) }
}
