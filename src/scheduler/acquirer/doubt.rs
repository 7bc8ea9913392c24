//! How the acquirer keeps what was taken while nobody could say whether it was, and finds rows that
//! nothing here stands for.

use super::Acquirer;
use super::ahead::ahead_of;
use crate::error::{Error, Result};
use crate::listener::log;
use crate::store::{Doubt, Owner};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How many check-in intervals are between two comparisons of rows with memory.
const INTERVALS: u32 = 4;

/// What is unknown is looked at again so long after.
const AGAIN: Duration = Duration::from_millis(500);

impl Acquirer {
    /// Keeps what is in doubt until the store can be asked, and tells of the failure.
    pub(super) fn keep_doubt(&mut self, doubt: Option<Box<Doubt>>) -> Result<()> {
        let Some(mut doubt) = doubt else { return Ok(()) };
        let settled_later = Error::Refused("it is kept until it is settled".to_owned());
        let error = std::mem::replace(&mut doubt.error, settled_later);
        // They wait from now on: what begins meanwhile may have been taken later.
        self.node.ahead.lock().enter(ahead_of(&doubt.brought.fired));
        self.doubts.push(*doubt);
        Err(error)
    }

    /// Asks the store what became of what is in doubt. What is there is taken as if the answer had
    /// come now.
    pub(super) fn settle_doubts(&mut self, owner: &Owner) -> Result<()> {
        while let Some(mut doubt) = self.doubts.pop() {
            let happened = match self.node.store.settle_doubt(owner, &mut doubt) {
                Ok(happened) => happened,
                Err(error) => {
                    self.doubts.push(doubt);
                    return Err(error);
                }
            };
            let Doubt { brought, ended, recorded, leads, .. } = doubt;
            log::settled(&self.node.instance, happened, brought.fired.len(), brought.reserved.len());
            if !happened {
                self.node.ahead.lock().leave(ahead_of(&brought.fired));
                self.ends.give_back(&self.node, owner, ended);
                continue;
            }
            self.node.settle(&ended, &recorded);
            self.tell_passed(&brought);
            self.reserved.extend(brought.reserved);
            self.reserved.sort_by_key(|held| held.scheduled_ms);
            self.count_reserved();
            self.take_over(owner, brought.fired, leads);
        }
        Ok(())
    }

    /// Everything in doubt belongs to others by now; what has ended is told so by its rows.
    pub(super) fn forget_doubts(&mut self, owner: &Owner) {
        for doubt in std::mem::take(&mut self.doubts) {
            self.node.ahead.lock().leave(ahead_of(&doubt.brought.fired));
            self.ends.give_back(&self.node, owner, doubt.ended);
        }
    }

    /// A last try at the end of the node: what is not settled then is recovered from its rows.
    pub(super) fn settle_at_end(&mut self) {
        let Some(owner) = self.owner.clone().filter(|_| !self.doubts.is_empty()) else { return };
        if let Err(error) = self.settle_doubts(&owner) {
            log::leave_failed(&self.node.instance, &error.to_string());
            self.forget_doubts(&owner);
        }
    }

    /// When something went wrong here after an answer had come, fires may have begun of which
    /// nobody here knows: the store treats them as a peer would after our death. Only this thread
    /// makes fires, so nothing new can be taken for forgotten.
    pub(super) fn recover_forgotten(&mut self, owner: &Owner) -> Result<()> {
        self.settle_doubts(owner)?;
        let node = Arc::clone(&self.node);
        self.is_in_doubt |= node.uncertain.swap(false, Ordering::SeqCst);
        if !self.is_in_doubt {
            return Ok(());
        }
        let known = self.known();
        let recovered = node.store.recover_forgotten(owner, &known)?;
        self.is_in_doubt = false;
        if !recovered.is_empty() {
            log::forgotten(&node.instance, &recovered);
        }
        Ok(())
    }

    /// The fires that something here stands for.
    fn known(&self) -> BTreeSet<String> {
        let mut known = self.node.known_fires();
        known.extend(self.reserved.iter().chain(&self.unwanted).map(|held| held.fire_id.clone()));
        known
    }

    /// Compares the rows of this node with memory, after every lost connection and now and then: a
    /// store that has lost commits brings reservations and fires back that nobody here stands for,
    /// and their triggers would wait for ever. Those that are unknown twice are recovered.
    ///
    /// Nothing new can be taken for unknown: only this thread makes fires, and what is known is
    /// gathered before the rows are read.
    pub(super) fn reconcile(&mut self, owner: &Owner) -> Result<()> {
        let node = Arc::clone(&self.node);
        let (losses, now) = (node.store.losses(), node.clock.ticks());
        if losses == self.compared.0 && now < self.compared.1 {
            return Ok(());
        }
        let unknown = node.store.unknown_fires(owner, &self.known())?;
        let twice: BTreeSet<String> = unknown.intersection(&self.unknown).cloned().collect();
        if !twice.is_empty() {
            let recovered = node.store.recover_unknown(owner, &twice)?;
            log::forgotten(&node.instance, &recovered);
            node.acquirer.signal.raise();
        }
        let wait = match unknown.is_empty() {
            true => node.store.settings().job_store.checkin_interval.saturating_mul(INTERVALS),
            false => AGAIN,
        };
        self.unknown = unknown;
        self.compared = (losses, now.saturating_add(wait));
        Ok(())
    }

    /// When what is unknown is looked at again.
    pub(super) fn compares_at(&self) -> Option<Duration> {
        (!self.unknown.is_empty()).then_some(self.compared.1)
    }
}
