//! Beside Quartz: what nodes of Quartz do to triggers whose fires run here, and what the ends of
//! those fires make of it.

use super::Completion;
use crate::error::Result;
use crate::key::{TriggerKey, distinct};
use crate::store::row::{Selection, TriggerRow, TriggerSelection};
use crate::store::{Firing, Session};
use crate::trigger::TriggerState;

impl Firing<'_> {
    /// Completes the triggers whose last fires these were and that a node of Quartz has wait again:
    /// there `addCalendar` gives the new calendar to triggers that are complete too.
    pub(super) fn complete_what_quartz_has_wait(&self, s: &mut dyn Session, recorded: &[&Completion]) -> Result<()> {
        use TriggerState::{Blocked, Complete, Paused, PausedBlocked, Waiting};
        let last: Vec<TriggerKey> = distinct(recorded.iter().filter(|c| c.last).map(|c| &c.trigger));
        if last.is_empty() || !self.node.may_meet_quartz(self.store.clock.ticks()) {
            return Ok(());
        }
        let rows = s.triggers(TriggerSelection::Keys(&last))?;
        let is_over = |row: &&TriggerRow| row.next_ms.is_none() && row.previous_ms.is_some();
        let over: Vec<TriggerKey> = rows.iter().filter(is_over).map(|row| row.key.clone()).collect();
        let moves = [Waiting, Blocked, Paused, PausedBlocked].map(|from| (from, Complete));
        match over.is_empty() {
            true => Ok(()),
            false => s.change_states(Selection::Triggers(&over), &moves, false).map(drop),
        }
    }
}
