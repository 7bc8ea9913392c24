//! Release: reservations are given back.

use super::Reservation;
use super::fire::give_back;
use crate::error::Result;
use crate::store::row::Notification;
use crate::store::{JobStore, Lock, TxMode};

impl JobStore {
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
        self.retrying(
            "release triggers",
            TxMode::Exclusive(Lock::TriggerAccess),
            |s| {
                // A node with a free worker may take them.
                give_back(s, &all).and_then(|()| s.notify(Notification::Change))
            },
            &mut |_, ()| Ok(false), // doing it twice does no harm
        )
    }
}
