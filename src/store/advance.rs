//! `Advance`: the write that moves a trigger's row on, made from the trigger as it is to be.

use super::row::Advance;
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

    /// The write for a trigger that moves on without a fire: without a fire time left it is
    /// complete.
    pub(super) fn without_fire(trigger: &Trigger, read: (TriggerState, Option<i64>), state: TriggerState) -> Self {
        Self::of(trigger, read, if trigger.next_ms.is_none() { TriggerState::Complete } else { state })
    }
}
