//! Release: reservations are given back.

use super::Reservation;
use super::fire::give_back;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{FiredSelection, Notification, Selection, TriggerSelection};
use crate::store::{Firing, Lock, Session, TxMode};
use crate::trigger::Transition;
use std::collections::BTreeSet;

impl Firing<'_> {
    /// Gives reserved triggers back; those whose fired row is gone belong to another and are left
    /// alone.
    ///
    /// Touches only what the reservation reserved: a trigger that was blocked or paused meanwhile
    /// stays so (H4).
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries; the reservations are then
    /// left to the recovery of this node.
    pub fn release(&self, reservations: &[Reservation]) -> Result<()> {
        if reservations.is_empty() {
            return Ok(());
        }
        let all: Vec<_> = reservations.iter().collect();
        self.store.at_least_once("release triggers", TxMode::Exclusive(Lock::TriggerAccess), |s| {
            // A node with a free worker may take them.
            give_back(s, &all).and_then(|()| s.notify(Notification::Change))
        })
    }
}

/// Gives back the triggers of these jobs that nodes of ours have reserved; such a node learns it
/// when the reserved fire is due.
pub(in crate::store) fn take_back_reservations(s: &mut dyn Session, jobs: &[JobKey]) -> Result<()> {
    let triggers: Vec<TriggerKey> = match jobs {
        [] => return Ok(()),
        [job] => s.trigger_keys(TriggerSelection::OfJob(job))?,
        jobs => {
            let jobs: BTreeSet<&JobKey> = jobs.iter().collect();
            let reserved: Vec<_> = s.fired(FiredSelection::Acquired)?.into_iter().map(|row| row.trigger).collect();
            let reserved = s.triggers(TriggerSelection::Keys(&reserved))?.into_iter();
            reserved.filter(|trigger| jobs.contains(&trigger.job)).map(|trigger| trigger.key).collect()
        }
    };
    if triggers.is_empty() {
        return Ok(());
    }
    s.delete_reservations(&triggers)?;
    s.change_states(Selection::Triggers(&triggers), Transition::Release.moves(), false).map(drop)
}
