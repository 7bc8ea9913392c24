//! How the acquirer fires what is reserved: shortly before its time, so that its job begins at it.

use super::Acquirer;
use crate::error::Result;
use crate::store::{Owner, Reservation};
use std::collections::BTreeSet;
use std::time::Duration;

/// A reserved trigger is fired in the store at most so long before its time, and handed to the workers at that: so its job
/// begins in time whatever the transaction takes. The first of a transaction is fired half as long before, so that it
/// fires many.
const LEAD: Duration = Duration::from_millis(20);

impl Acquirer {
    /// When a reserved trigger is fired in the store, in ticks, if that may be so long before its time.
    fn fired_at(&self, held: &Reservation, lead: Duration) -> Duration {
        let due = self.store_time.ticks_at(held.scheduled_ms);
        if held.may_precommit { due.saturating_sub(lead) } else { due }
    }

    /// When the first of the reserved is to be fired.
    pub(super) fn first_fired_at(&self) -> Option<Duration> {
        self.reserved.iter().map(|held| self.fired_at(held, LEAD / 2)).min()
    }

    /// Fires what is due of the reserved, all together.
    pub(super) fn fire_due(&mut self, owner: &Owner) -> Result<()> {
        let now = self.node.clock.ticks();
        if self.first_fired_at().is_none_or(|at| at > now) {
            return Ok(());
        }
        let is_due = |held: &&Reservation| self.fired_at(held, LEAD) <= now;
        let due: Vec<Reservation> = self.reserved.iter().filter(is_due).cloned().collect();
        let fired: BTreeSet<&String> = due.iter().map(|held| &held.fire_id).collect();
        self.is_in_doubt = true;
        let mut brought = self.node.store.fire_reserved(owner, &due)?;
        self.keep_doubt(brought.doubt.take())?;
        self.store_time.note(self.node.clock.ticks(), brought.now_ms);
        self.reserved.retain(|held| !fired.contains(&held.fire_id));
        self.count_reserved();
        self.node.counters.overtaken.add(brought.overtaken);
        self.tell_passed(&brought);
        self.take_over(owner, brought.fired, true);
        self.is_in_doubt = false;
        Ok(())
    }
}
