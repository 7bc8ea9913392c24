//! Unfire: a fire that has not begun is taken back, as if its trigger had never been taken.

use super::FireBundle;
use super::prefetch::{UnbegunFire, Unfired};
use crate::error::Result;
use crate::hash::HashMap;
use crate::store::row::{FiredSelection, Notification};
use crate::store::stop_orders::StopOrders;
use crate::store::transaction::fenced;
use crate::store::{Firing, Lock, Owner, Session, TxMode};
use crate::trigger::TriggerState;
use std::collections::BTreeSet;

impl Firing<'_> {
    /// Takes fires back that have not begun: their triggers are due again for the same times, under
    /// their own keys, for whoever has a free worker, and the history has nothing of it. The answer
    /// is in the order of `fires`.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered under this incarnation;
    /// what the database reports after the bounded retries. Nothing is taken back then.
    pub fn unfire(&self, owner: &Owner, fires: &[&FireBundle]) -> Result<Vec<Unfired>> {
        if fires.is_empty() {
            return Ok(Vec::new());
        }
        self.store.retrying(
            "take fires back",
            TxMode::Exclusive(Lock::TriggerAccess),
            |s| self.unfire_in_session(s, owner, fires),
            &mut |s, answer: &Vec<Unfired>| {
                let done = fires.iter().zip(answer).filter(|(_, one)| **one == Unfired::Done);
                let ids: Vec<_> = done.map(|(fire, _)| fire.fire_id.clone()).collect();
                Ok(s.fired_ids(FiredSelection::Ids(&ids))?.is_empty() && s.draw_fences(Some(owner), 0)?.is_some())
            },
        )
    }

    fn unfire_in_session(&self, s: &mut dyn Session, owner: &Owner, fires: &[&FireBundle]) -> Result<Vec<Unfired>> {
        s.draw_fences(Some(owner), 0)?.ok_or_else(|| fenced(owner))?;
        let ids: Vec<_> = fires.iter().map(|fire| fire.fire_id.clone()).collect();
        let held: BTreeSet<String> = s.fired_ids(FiredSelection::Ids(&ids))?;
        let orders = StopOrders::of(s, &ids)?;
        let of_bundle = |fire: &&&FireBundle| {
            UnbegunFire::of_bundle(fire, |before| self.store.trigger_row(before, TriggerState::Waiting))
        };
        let ours: Vec<UnbegunFire> = fires
            .iter()
            .filter(|fire| held.contains(&fire.fire_id))
            .filter(|fire| !orders.has(&fire.fire_id))
            .map(|fire| of_bundle(&fire))
            .collect::<Result<_>>()?;
        let unfired = self.restore_all(s, &ours)?;
        let mut told: HashMap<&String, Unfired> = ours.iter().map(|fire| &fire.fire_id).zip(unfired).collect();
        // A node with a free worker may take them.
        s.notify(Notification::Change)?;
        let untold = |id: &String| if held.contains(id) { Unfired::Stands } else { Unfired::Gone };
        Ok(fires.iter().map(|fire| told.remove(&fire.fire_id).unwrap_or_else(|| untold(&fire.fire_id))).collect())
    }
}
