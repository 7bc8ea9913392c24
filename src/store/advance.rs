//! `Advance`: the write that moves a trigger's row on, made from the trigger as it is to be.

use super::row::{Advance, TriggerRow};
use super::schedule_row::counts;
use crate::trigger::{Trigger, TriggerState};

impl Advance {
    /// The write for a trigger whose row was read with this state and next fire time.
    pub(super) fn of(trigger: &Trigger, read: (TriggerState, Option<i64>), state: TriggerState) -> Self {
        Self {
            key: trigger.key.clone(),
            expected_state: read.0,
            expected_next_ms: read.1,
            state,
            next_ms: trigger.next_ms,
            previous_ms: trigger.previous_ms,
            start_ms: trigger.start_ms,
            counts: counts(&trigger.schedule),
            moves_options: false,
        }
    }

    /// The write that gives a trigger this state and next fire time, and leaves all else as it was
    /// read in this state.
    pub(super) fn of_row(row: &TriggerRow, from: TriggerState, state: TriggerState, next_ms: Option<i64>) -> Self {
        Self {
            key: row.key.clone(),
            expected_state: from,
            expected_next_ms: row.next_ms,
            state,
            next_ms,
            previous_ms: row.previous_ms,
            start_ms: row.start_ms,
            counts: None,
            moves_options: false,
        }
    }

    /// The write for a trigger that moves on without a fire: without a fire time left it is
    /// complete.
    pub(super) fn without_fire(trigger: &Trigger, read: (TriggerState, Option<i64>), state: TriggerState) -> Self {
        Self::of(trigger, read, if trigger.next_ms.is_none() { TriggerState::Complete } else { state })
    }
}
