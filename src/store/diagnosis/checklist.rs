//! The checklist of a trigger: each thing that must hold before it runs, and whether it does.

use super::explanation::TriggerCheck;
use super::facts::Facts;
use crate::span::span;
use crate::trigger::TriggerState;

impl TriggerCheck {
    fn new(is_fine: bool, fine: impl Into<String>, otherwise: impl Into<String>) -> Self {
        Self { is_fine, text: if is_fine { fine.into() } else { otherwise.into() } }
    }
}

/// The checks of a trigger, in the order in which a node makes them.
pub(super) fn checklist(facts: &Facts) -> Vec<TriggerCheck> {
    vec![
        definition(facts),
        calendar(facts),
        release(facts),
        room(facts),
        due(facts),
        nodes(facts),
        job_type(facts),
        placement(facts),
    ]
}

fn state(facts: &Facts) -> Option<TriggerState> {
    TriggerState::from_name(&facts.trigger.state)
}

fn definition(facts: &Facts) -> TriggerCheck {
    let problem = match (&facts.unreadable, &facts.job) {
        (Some(reason), _) => reason.clone(),
        (None, None) => format!("The job {} does not exist.", facts.trigger.job),
        (None, Some(_)) => String::new(),
    };
    TriggerCheck::new(problem.is_empty(), "The trigger and its job can be read.", problem)
}

fn calendar(facts: &Facts) -> TriggerCheck {
    let missing = facts.missing_calendar.as_deref().unwrap_or_default();
    TriggerCheck::new(missing.is_empty(), "No calendar is missing.", format!("The calendar {missing} does not exist."))
}

fn release(facts: &Facts) -> TriggerCheck {
    match state(facts) {
        Some(TriggerState::Paused | TriggerState::PausedBlocked) => {
            TriggerCheck::new(false, "", "The trigger, its job or its group is paused.")
        }
        Some(TriggerState::Error) => TriggerCheck::new(false, "", "The trigger is in the error state."),
        Some(_) => TriggerCheck::new(true, "The trigger is neither paused nor in error.", ""),
        None => TriggerCheck::new(false, "", format!("Nobody knows the state {}.", facts.trigger.state)),
    }
}

fn room(facts: &Facts) -> TriggerCheck {
    let is_blocked = matches!(state(facts), Some(TriggerState::Blocked | TriggerState::PausedBlocked));
    TriggerCheck::new(!is_blocked, "No other run holds the trigger back.", "Another run holds the trigger back.")
}

fn due(facts: &Facts) -> TriggerCheck {
    if let Some(fire) = facts.running().next() {
        return TriggerCheck::new(true, format!("A fire of the trigger runs on {}.", fire.instance), "");
    }
    let Some(next_ms) = facts.trigger.next_fire_time.map(|time| time.timestamp_millis()) else {
        return TriggerCheck::new(false, "", "The trigger has no fire time left.");
    };
    let wait_ms = next_ms.saturating_sub(facts.now_ms);
    let not_yet = format!("The time has not come: the trigger fires in {}.", span(wait_ms));
    TriggerCheck::new(
        wait_ms <= 0,
        format!("The time has come: the trigger has been due for {}.", span(wait_ms)),
        not_yet,
    )
}

fn nodes(facts: &Facts) -> TriggerCheck {
    let working = facts.nodes.iter().filter(|node| node.is_working()).count();
    let fine = format!("{working} living {} work.", if working == 1 { "node takes" } else { "nodes take" });
    TriggerCheck::new(working > 0, fine, "No living node takes work.")
}

fn job_type(facts: &Facts) -> TriggerCheck {
    let reason = facts.orphan.as_ref().map(|orphan| format!("Nobody takes the job: {}.", orphan.reason()));
    TriggerCheck::new(reason.is_none(), "A living node has the job's type.", reason.unwrap_or_default())
}

fn placement(facts: &Facts) -> TriggerCheck {
    let may = facts.may_run.iter().filter(|node| node.refusal.is_none()).count();
    let is_fine = may > 0 || facts.may_run.is_empty();
    TriggerCheck::new(
        is_fine,
        "The job's placement, drains and limits leave a node.",
        "No living node may run the job now.",
    )
}
