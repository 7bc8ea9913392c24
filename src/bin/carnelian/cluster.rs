//! `running` and `cancel`: the cluster as the database shows it.

use crate::failure::{Failure, Outcome};
use crate::marks::Filter;
use crate::output::{Output, span, table, time};
use carnelian::FiredTrigger;
use carnelian::store::JobStore;
use carnelian::store::row::FiredState;
use serde_json::{Value, json};

/// The fires that are running, and with `reserved` those to come.
pub fn running(store: &JobStore, output: Output, reserved: bool, filter: &Filter) -> Outcome {
    let now_ms = store.now_ms()?;
    let mut fires = store.catalogue().find_fired(&filter.filter())?;
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
            "last_progress_ms": fire.heartbeat.as_ref().and_then(|beat| beat.progress_ms),
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
                    ago(fire.heartbeat.as_ref().map(|beat| beat.last_ms), now_ms),
                    ago(fire.heartbeat.as_ref().and_then(|beat| beat.progress_ms), now_ms),
                    progress(fire),
                    fire.fire_id.clone(),
                ]
            })
            .collect();
        let heading = [
            "JOB",
            "TRIGGER",
            "INSTANCE",
            "STATE",
            "SCHEDULED",
            "FIRED",
            "LAST BEAT",
            "LAST PROGRESS",
            "PROGRESS",
            "FIRE",
        ];
        table(&heading, &rows)
    })
}

fn ago(at_ms: Option<i64>, now_ms: i64) -> String {
    at_ms.map_or_else(|| "-".to_owned(), |at_ms| format!("{} ago", span(now_ms.saturating_sub(at_ms).max(0))))
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
        true => format!("asked fire {fire_id} to stop: its node learns it at once"),
        false => format!("fire {fire_id} does not run, or was asked before"),
    };
    output.done(json!({"fire_id": fire_id, "asked": asked}), &text)?;
    if asked { Ok(()) } else { Err(Failure::No) }
}
