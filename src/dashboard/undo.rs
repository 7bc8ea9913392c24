//! Undo: the action that takes another one back, and nothing else with it.

use super::actions::{Action, find};
use super::keys::Subject;
use super::new_schedule::{NewSchedule, taking_back};
use crate::error::Result;
use crate::job::JobFilter;
use crate::listing::TriggerQuery;
use crate::matcher::GroupMatcher;
use crate::store::JobStore;
use crate::trigger::TriggerState;

/// The action that takes another one back.
pub(super) struct Undo {
    pub(super) action: &'static Action,
    pub(super) subjects: Vec<Subject>,
    pub(super) new_schedule: Option<NewSchedule>,
}

impl Undo {
    /// The action that will take this one back, once it has changed all its subjects; none if
    /// nothing can, or if that would change what was so before. To be asked for beforehand.
    pub(super) fn of(store: &JobStore, action: &'static Action, subjects: &[Subject]) -> Option<Self> {
        let new_schedule = action.takes_new_schedule().then(|| taking_back(store, subjects)).flatten();
        let undo = if new_schedule.is_some() { action } else { action.undo.and_then(find)? };
        let is_whole = |subject| Ok(!is_partly_so(store, action.word, subject)?);
        let are_whole = subjects.iter().map(is_whole).collect::<Result<Vec<bool>>>().ok()?;
        let subjects = subjects.to_vec();
        are_whole.iter().all(|whole| *whole).then_some(Self { action: undo, subjects, new_schedule })
    }
}

/// True if a part of what an action is about is already as the action would make it.
fn is_partly_so(store: &JobStore, word: &str, subject: &Subject) -> Result<bool> {
    let (triggers, group) = match word.split_once('.') {
        Some(("job", _)) => (TriggerQuery::new().job(subject.key()?), None),
        Some(("group", _)) => {
            let group = subject.name();
            (TriggerQuery::new().filter(JobFilter::new().groups(GroupMatcher::equals(&group))), Some(group))
        }
        Some(("all", _)) => (TriggerQuery::new(), None),
        Some(("node", "drain")) => {
            let name = subject.name();
            return Ok(store.placement().blacklist_rows()?.iter().any(|row| row.node == name));
        }
        _ => return Ok(false),
    };
    let is_paused = |state: &TriggerState| matches!(state, TriggerState::Paused | TriggerState::PausedBlocked);
    let pauses = word.ends_with(".pause");
    if pauses && !word.starts_with("job") {
        let paused = store.catalogue().paused_groups()?;
        if paused.iter().any(|paused| group.as_ref().is_none_or(|group| group == paused)) {
            return Ok(true);
        }
    }
    for state in TriggerState::ALL.into_iter().filter(|state| is_paused(state) == pauses) {
        if !store.catalogue().list_triggers(&triggers.clone().state(state).limit(1))?.items.is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
