//! Triggers and fires in states that somebody or nobody must end.

use super::finding::Finding;
use crate::key::TriggerKey;
use crate::span::span;
use crate::store::row::{FiredRow, FiredState, Snapshot, TriggerRow};
use crate::trigger::TriggerState;
use std::collections::BTreeSet;

/// The lateness from which a reservation is worth a finding; nodes take it back much sooner.
const LATE_RESERVATION_MS: i64 = 10_000;

/// Triggers whose states say what is not so.
pub(super) fn stuck(snapshot: &Snapshot, parked: &BTreeSet<TriggerKey>) -> Vec<Finding> {
    let fired: BTreeSet<_> = snapshot.fired.iter().map(|fire| &fire.trigger).collect();
    let is_reserved = |fire: &&FiredRow| fire.state == FiredState::Acquired;
    let reserved: BTreeSet<_> = snapshot.fired.iter().filter(is_reserved).map(|fire| &fire.trigger).collect();
    let executing: BTreeSet<_> = snapshot
        .fired
        .iter()
        .filter(|fire| fire.state == FiredState::Executing)
        .filter_map(|fire| fire.job.as_ref())
        .collect();
    let look = |trigger: &TriggerRow| match TriggerState::from_name(&trigger.state) {
        None => {
            let way_out = "delete the trigger, or set TRIGGER_STATE to one of Quartz's states, such as WAITING";
            let detail = format!("state `{}` means nothing: {way_out}", trigger.state);
            Some(Finding::new("unknown_state", &trigger.key, detail))
        }
        Some(TriggerState::Error) if parked.contains(&trigger.key) => None,
        Some(TriggerState::Error) => Some(Finding::new(
            "error_state",
            &trigger.key,
            "it was set aside and waits for a person: mend the cause, then `carnelian trigger reset`",
        )),
        Some(TriggerState::Acquired) if !reserved.contains(&trigger.key) => {
            Some(Finding::new("stuck", &trigger.key, "ACQUIRED, but no node holds it").repairable())
        }
        Some(TriggerState::Complete) if !fired.contains(&trigger.key) => {
            Some(Finding::new("stuck", &trigger.key, "COMPLETE, but no fire of it is left").repairable())
        }
        Some(TriggerState::Blocked | TriggerState::PausedBlocked) if !executing.contains(&trigger.job) => Some(
            Finding::new("stuck", &trigger.key, format!("{}, but no fire of its job is running", trigger.state))
                .repairable(),
        ),
        Some(_) => None,
    };
    snapshot.triggers.iter().filter_map(look).collect()
}

/// Reservations of nodes of ours that their owners have not fired. The reservations of a node
/// that is gone are found with the node.
pub(super) fn overdue_reservations(snapshot: &Snapshot, now_ms: i64) -> Vec<Finding> {
    let ours: BTreeSet<&str> =
        snapshot.instances.iter().filter(|node| node.incarnation.is_some()).map(|node| node.name.as_str()).collect();
    let look = |fire: &FiredRow| {
        let late_ms = now_ms.saturating_sub(fire.scheduled_ms);
        let is_late = fire.state == FiredState::Acquired && late_ms > LATE_RESERVATION_MS;
        (is_late && ours.contains(fire.instance.as_str())).then(|| {
            let detail = format!("`{}` has reserved it, and not fired it for {}", fire.instance, span(late_ms));
            Finding::new("overdue_reservation", &fire.trigger, detail).repairable()
        })
    };
    snapshot.fired.iter().filter_map(look).collect()
}
