//! Actions of the API: done to one subject after the other, each with why it was left as it was.

use super::actions::{Action, Order};
use super::errors::status_of;
use super::keys::Subject;
use crate::error::{Error, Result};
use crate::key::{JobKey, TriggerKey};
use crate::report;
use crate::store::JobStore;
use crate::trigger::TriggerState;

/// A reason for which a subject was not changed, and the status of an answer about it.
pub(super) struct Reason {
    pub(super) status: u16,
    pub(super) text: String,
}

impl Reason {
    fn missing(text: impl Into<String>) -> Self {
        Self { status: 404, text: text.into() }
    }

    fn refused(text: impl Into<String>) -> Self {
        Self { status: 409, text: text.into() }
    }
}

/// The reason not to begin with a subject: an order about a node is kept for the node that comes,
/// so that a wrong name would be taken without a word.
fn before(store: &JobStore, action: &Action, subject: &Subject) -> Result<Option<Reason>> {
    let is_order = action.word == "node.drain";
    Ok(if is_order && !is_node(store, &subject.name())? { Some(no_node(&subject.name())) } else { None })
}

/// The reason for which an action has not changed a subject; none if it was so before.
///
/// # Errors
/// [`Error::Invalid`] for a text that is no key; failures of the database.
fn after(store: &JobStore, action: &Action, subject: &Subject) -> Result<Option<Reason>> {
    let name = subject.name();
    let (kind, verb) = action.word.split_once('.').unwrap_or((action.word, ""));
    Ok(match kind {
        "trigger" => {
            let key: TriggerKey = subject.key()?;
            match store.catalogue().trigger_state(&key)? {
                None => Some(Reason::missing(report::missing(store, "trigger", &key.to_string()))),
                Some(state) => refusal(&key, state, verb).map(Reason::refused),
            }
        }
        "job" => {
            let key: JobKey = subject.key()?;
            let is_there = store.catalogue().job_exists(&key)?;
            (!is_there).then(|| Reason::missing(report::missing(store, "job", &key.to_string())))
        }
        "run" => match store.history().run_record(&name)? {
            Some(record) if record.run.is_running() => None,
            Some(record) => Some(Reason::refused(format!("run `{name}` has ended: {}", record.run.outcome))),
            None => Some(Reason::missing(format!("run `{name}` does not exist"))),
        },
        "node" if is_node(store, &name)? => None,
        "node" => Some(no_node(&name)),
        "group" => Some(Reason::missing(format!("group of triggers `{name}` does not exist, and is not paused"))),
        "parked" => Some(Reason::missing(format!("parked work `{name}` does not exist: /api/parked lists it"))),
        "lock" => Some(Reason::missing(format!("lock `{name}` is not held: /api/locks lists those that are"))),
        _ => None,
    })
}

/// The reason for which a trigger in this state stays in it; none if the action was to bring it
/// there.
fn refusal(key: &TriggerKey, state: TriggerState, verb: &str) -> Option<String> {
    let is_paused = matches!(state, TriggerState::Paused | TriggerState::PausedBlocked);
    let why = match (verb, state) {
        ("pause" | "resume", TriggerState::Error) => "`trigger.reset` frees it",
        ("pause", _) if is_paused => return None,
        ("resume", _) if !is_paused => return None,
        ("pause" | "resume", _) => "it has no time to come",
        ("reset", _) => "only the error state is reset",
        _ => return None,
    };
    Some(format!("trigger `{key}` is in state {} as before: {why}", state.name()))
}

fn is_node(store: &JobStore, name: &str) -> Result<bool> {
    Ok(store.upkeep().instances()?.iter().any(|node| node.is_named(name)))
}

fn no_node(name: &str) -> Reason {
    Reason::missing(format!("node `{name}` does not exist: /api/cluster lists those that have checked in"))
}

/// Does it to one subject after the other; gives how many were changed, and those for which it was
/// not done by their places. A failure of the database ends it.
pub(super) fn one_by_one(
    store: &JobStore,
    action: &Action,
    order: &Order<'_>,
) -> Result<(usize, Vec<(usize, Reason)>)> {
    action.begin(order)?;
    let (mut done, mut reasons) = (0, Vec::new());
    let mut failed = None;
    for (at, subject) in order.subjects.iter().enumerate() {
        if let Some(status) = failed {
            reasons.push((at, Reason { status, text: "not tried".to_owned() }));
            continue;
        }
        let outcome = one(store, action, subject, order).unwrap_or_else(|error| {
            let status = status_of(&error);
            failed = (status >= 500).then_some(status);
            let text = match &error {
                Error::NotFound { what: what @ ("trigger" | "job"), key, .. } => report::missing(store, what, key),
                other => other.to_string(),
            };
            Err(Reason { status, text })
        });
        match outcome {
            Ok(is_changed) => done += usize::from(is_changed),
            Err(reason) => reasons.push((at, reason)),
        }
    }
    Ok((done, reasons))
}

/// Does it to one subject; false if that was so before.
fn one(store: &JobStore, action: &Action, subject: &Subject, order: &Order<'_>) -> Result<Result<bool, Reason>> {
    if let Some(reason) = before(store, action, subject)? {
        return Ok(Err(reason));
    }
    let is_changed = action.perform_on(store, subject, order)?;
    let reason = if is_changed { None } else { after(store, action, subject)? };
    Ok(reason.map_or(Ok(is_changed), Err))
}
