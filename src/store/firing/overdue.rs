//! Overdue: reservations whose time has come and whose owner has not fired them go to whoever asks
//! first.

use super::Reservation;
use super::fire::give_back;
use crate::epoch::millis;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::rules::overdue::GRACE;
use crate::store::row::{FiredRow, FiredSelection, Notification};
use crate::store::transaction::fenced;
use crate::store::{Firing, Lock, Owner, Session, TxMode};
use std::collections::BTreeSet;
use std::time::Duration;

/// Most reservations that are taken back at once: as many as a batch by default.
const LIMIT: usize = 500;

impl Firing<'_> {
    /// Sets the triggers free that other nodes of ours have reserved for a time which was more than
    /// `grace` ago by the store's clock, and gives back what they were reserved as. The owner of
    /// such a reservation is dead, or so slow that it is late anyway: nobody asks whether it is
    /// alive. An owner that is alive finds its fired row gone when it would fire, so that the
    /// trigger fires once.
    ///
    /// Reservations of nodes of Quartz are theirs: they never look for their rows. Fires that
    /// execute are never touched.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered under this incarnation.
    pub fn take_back_overdue(&self, owner: &Owner, grace: Duration) -> Result<Vec<FiredRow>> {
        self.store.at_least_once("take back reservations", TxMode::Exclusive(Lock::TriggerAccess), |s| {
            if s.draw_fences(Some(owner), 0)?.is_none() {
                return Err(fenced(owner));
            }
            take_back(s, &owner.instance, grace, self.node.is_beside_quartz())
        })
    }

    /// Sets the triggers free that any node of ours has reserved for a time which is over by more
    /// than a grace; returns them. For an operator: no node has to ask.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn take_back_abandoned(&self) -> Result<Vec<TriggerKey>> {
        let taken =
            self.store.at_least_once("take back reservations", TxMode::Exclusive(Lock::TriggerAccess), |s| {
                let taken = take_back(s, "", GRACE, true)?;
                s.notify(Notification::Change)?;
                Ok(taken)
            })?;
        Ok(taken.into_iter().map(|row| row.trigger).collect())
    }
}

/// Takes back overdue reservations of nodes of ours, but for those of one node.
fn take_back(s: &mut dyn Session, but_of: &str, grace: Duration, beside_quartz: bool) -> Result<Vec<FiredRow>> {
    let before_ms = s.now_ms()?.saturating_sub(millis(grace));
    let overdue = s.fired(FiredSelection::Overdue { instance: but_of, before_ms, limit: LIMIT })?;
    if overdue.is_empty() {
        return Ok(overdue);
    }
    let keys: Vec<TriggerKey> = overdue.iter().map(|row| row.trigger.clone()).collect();
    // A trigger that a node of Quartz has reserved since is acquired for it.
    let foreign: BTreeSet<TriggerKey> = match beside_quartz {
        true => s.acquired_by_quartz(&keys)?,
        false => BTreeSet::new(),
    };
    let (lost, free): (Vec<&FiredRow>, Vec<&FiredRow>) = overdue.iter().partition(|row| foreign.contains(&row.trigger));
    let lost: Vec<String> = lost.into_iter().map(|row| row.fire_id.clone()).collect();
    if !lost.is_empty() {
        s.delete_fired(&lost, Vec::new())?;
    }
    let free: Vec<Reservation> = free.into_iter().map(reservation).collect();
    give_back(s, &free.iter().collect::<Vec<_>>())?;
    Ok(overdue)
}

/// The reservation that a fired row stands for; a reserved row names no job, and giving it back
/// asks for none.
fn reservation(row: &FiredRow) -> Reservation {
    Reservation {
        job_type: "".into(),
        fire_id: row.fire_id.clone(),
        trigger: row.trigger.clone(),
        scheduled_ms: row.scheduled_ms,
        may_precommit: false,
    }
}
