//! `trigger`: lists, shows, deletes, pauses, resumes and resets triggers.

use crate::args::TriggerCommand;
use crate::backfill;
use crate::failure::{Failure, Outcome};
use crate::job::data;
use crate::marks::Filter;
use crate::output::{Output, fields, time};
use crate::value::epoch_ms;
use crate::when;
use carnelian::TriggerSummary;
use carnelian::store::JobStore;
use carnelian::trigger::TriggerOption;
use carnelian::{MisfireInstruction, Overlap, TriggerKey};
use serde_json::{Value, json};

/// Runs one of the `trigger` commands.
pub fn run(store: &JobStore, output: Output, command: &TriggerCommand) -> Outcome {
    match command {
        TriggerCommand::List(filter) => list(store, output, filter),
        TriggerCommand::Show { trigger } => show(store, output, trigger),
        TriggerCommand::Delete { trigger } => {
            if store.catalogue().unschedule(std::slice::from_ref(trigger))? == 0 {
                return Err(missing(trigger));
            }
            done(output, trigger, "deleted")
        }
        TriggerCommand::Pause { trigger } => {
            existing(store, trigger)?;
            store.catalogue().pause_triggers(std::slice::from_ref(trigger))?;
            done(output, trigger, "paused")
        }
        TriggerCommand::Resume { trigger } => {
            existing(store, trigger)?;
            store.catalogue().resume_triggers(std::slice::from_ref(trigger), true)?;
            done(output, trigger, "resumed")
        }
        TriggerCommand::Reset { trigger } => {
            existing(store, trigger)?;
            if !store.catalogue().reset_from_error(trigger)? {
                return Err(Failure::Refused(format!("trigger `{trigger}` is not in the error state")));
            }
            done(output, trigger, "reset")
        }
        TriggerCommand::Backfill(options) => backfill::run(store, output, options),
    }
}

fn done(output: Output, trigger: &TriggerKey, what: &str) -> Outcome {
    output.done(json!({"trigger": trigger.to_string(), "done": what}), &format!("{what} {trigger}"))
}

/// The error for a trigger that is not there.
pub fn missing(trigger: &TriggerKey) -> Failure {
    Failure::Refused(format!("trigger `{trigger}` does not exist"))
}

fn existing(store: &JobStore, trigger: &TriggerKey) -> Outcome {
    match store.catalogue().trigger_state(trigger)? {
        Some(_) => Ok(()),
        None => Err(missing(trigger)),
    }
}

fn list(store: &JobStore, output: Output, filter: &Filter) -> Outcome {
    let triggers = store.catalogue().find_triggers(&filter.filter())?;
    let heading = ["TRIGGER", "JOB", "TYPE", "STATE", "NEXT FIRE", "PREVIOUS FIRE", "PRIORITY", "MISFIRE"];
    output.list(None, heading, &triggers, summary, |trigger| {
        [
            trigger.key.to_string(),
            trigger.job.to_string(),
            trigger.kind.clone(),
            trigger.state.clone(),
            time(trigger.next_fire_time.map(epoch_ms)),
            time(trigger.previous_fire_time.map(epoch_ms)),
            trigger.priority.to_string(),
            misfire_name(trigger),
        ]
    })
}

fn summary(trigger: &TriggerSummary) -> Value {
    json!({
        "trigger": trigger.key.to_string(),
        "job": trigger.job.to_string(),
        "type": trigger.kind,
        "state": trigger.state,
        "next_fire_ms": trigger.next_fire_time.map(epoch_ms),
        "prev_fire_ms": trigger.previous_fire_time.map(epoch_ms),
        "priority": trigger.priority,
        "misfire": misfire_name(trigger),
    })
}

/// The instruction's name; the number where nobody knows it.
fn misfire_name(trigger: &TriggerSummary) -> String {
    MisfireInstruction::from_code(&trigger.kind, trigger.misfire)
        .map_or_else(|| trigger.misfire.to_string(), |instruction| instruction.name().to_owned())
}

fn show(store: &JobStore, output: Output, key: &TriggerKey) -> Outcome {
    let trigger = store.catalogue().trigger(key)?.ok_or_else(|| missing(key))?;
    let state = store.catalogue().trigger_state(key)?.ok_or_else(|| missing(key))?;
    let (start, end) = (epoch_ms(trigger.start_time()), trigger.end_time().map(epoch_ms));
    let options: Vec<_> = trigger.schedule().options().into_iter().map(TriggerOption::name).collect();
    let (next, previous) = (trigger.next_fire_time().map(epoch_ms), trigger.previous_fire_time().map(epoch_ms));
    let window = trigger.catch_up_window();
    let document = json!({
        "trigger": key.to_string(),
        "job": trigger.job_key().to_string(),
        "type": trigger.schedule().kind(),
        "schedule": when::words(trigger.schedule()),
        "options": options,
        "description": trigger.description(),
        "state": state.name(),
        "next_fire_ms": next,
        "prev_fire_ms": previous,
        "start_ms": start,
        "end_ms": end,
        "priority": trigger.priority(),
        "misfire": trigger.misfire_instruction().name(),
        "overlap": trigger.overlap().name(),
        "catch_up_ms": window.map(|window| window.as_millis()),
        "pause_on_failure": trigger.pauses_on_failure(),
        "calendar": trigger.calendar_name(),
        "data": data(trigger.data()),
    });
    output.answer(document, || {
        let mut shown = vec![
            ("trigger", Some(key.to_string())),
            ("job", Some(trigger.job_key().to_string())),
            ("schedule", Some(when::words(trigger.schedule()))),
            ("options", (!options.is_empty()).then(|| options.join(", "))),
            ("description", trigger.description().map(str::to_owned)),
            ("state", Some(state.name().to_owned())),
            ("next fire", Some(time(next))),
            ("previous fire", Some(time(previous))),
            ("start", Some(time(Some(start)))),
            ("end", end.map(|end| time(Some(end)))),
            ("priority", Some(trigger.priority().to_string())),
            ("misfire", Some(trigger.misfire_instruction().name().to_owned())),
            ("overlap", (trigger.overlap() != Overlap::AllowAll).then(|| trigger.overlap().name().to_owned())),
            ("catch up", window.map(|window| format!("what is at most {} ms late", window.as_millis()))),
            ("on failure", trigger.pauses_on_failure().then(|| "paused".to_owned())),
            ("calendar", trigger.calendar_name().map(str::to_owned)),
        ];
        for (name, value) in trigger.data().iter() {
            shown.push(("data", Some(format!("{name} = {value}"))));
        }
        fields(&shown)
    })
}
