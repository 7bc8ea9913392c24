//! Leaving: what a node does to its rows when it ends, so that no peer waits for its window.

use crate::error::Result;
use crate::node::NodeRole;
use crate::store::history::LostReason;
use crate::store::row::{Departure, FiredSelection, FiredState, Notification, Selection};
use crate::store::{Lock, Owner, TxMode, Upkeep};
use crate::trigger::Transition;

impl Upkeep<'_> {
    /// Leaves the cluster: gives back what is acquired and deletes the own rows. If fires are still
    /// executing, the rows stay, so that peers take over after the usual time. Returns how many
    /// fires are left so.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries; peers then take over after
    /// the usual time.
    pub fn leave(&self, owner: &Owner) -> Result<usize> {
        self.store.at_least_once("leave the cluster", TxMode::Exclusive(Lock::StateAccess), |s| {
            if s.draw_fences(Some(owner), 0)?.is_none() {
                return Ok(0); // already failed out: nothing of ours is left
            }
            s.lock(Lock::TriggerAccess)?;
            let (acquired, executing): (Vec<_>, Vec<_>) = s
                .fired(FiredSelection::OfInstance(&owner.instance))?
                .into_iter()
                .partition(|f| f.state == FiredState::Acquired);
            if !acquired.is_empty() {
                let ids: Vec<_> = acquired.iter().map(|f| f.fire_id.clone()).collect();
                let keys: Vec<_> = acquired.into_iter().map(|f| f.trigger).collect();
                s.delete_fired(&ids, Vec::new())?;
                s.change_states(Selection::Triggers(&keys), Transition::Release.moves(), false)?;
            }
            s.notify(Notification::Change)?;
            if executing.is_empty() {
                s.delete_instance(&owner.instance, Departure::Any)?;
                s.delete_begin_rows(&owner.instance)?;
                // The node was there until now; an observer was never there for work.
                if self.node.identity(&owner.instance).role == NodeRole::Worker {
                    let now_ms = s.now_ms()?;
                    s.note_seen(now_ms)?;
                }
                self.store.firing().abandon_parts(s, &owner.instance, LostReason::Withdrawn)?;
            }
            Ok(executing.len())
        })
    }
}
