//! `Doubts`: what was acquired if the store says so, and rows that nothing in memory stands for.

use super::prefetch_window::prefetched;
use crate::error::{Error, Result};
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::scheduler::run::completion_queue::CompletionQueue;
use crate::store::{Acquisition, Doubt, Owner};
use std::collections::BTreeSet;
use std::time::Duration;

/// The number of check-in intervals between two comparisons of rows with memory.
const INTERVALS: u32 = 4;

/// The time until unknown rows are compared again.
const AGAIN: Duration = Duration::from_millis(500);

/// The longest such time, for rows that others hold.
const AGAIN_AT_LAST: Duration = Duration::from_secs(8);

/// The rows of which the acquirer does not know for certain whether they are its own.
#[derive(Default)]
pub(super) struct Doubts {
    /// Acquired if the store says so, as soon as it can be asked.
    open: Vec<Doubt>,
    /// Something went wrong after an answer of the store had come: fires may have begun of which
    /// nothing here knows. Set before a transaction, and taken back when all of it is known.
    pub(super) is_interrupted: bool,
    /// Rows of this node that nothing in memory stood for at the last comparison.
    unknown: BTreeSet<String>,
    /// The time that was to pass from then to the next.
    again: Duration,
    /// The number of times that the way to the store had been lost then.
    losses: u64,
    /// The time at which to compare again, in ticks.
    compare_at: Duration,
}

impl Doubts {
    /// Keeps a doubt until the store can be asked, and returns the failure behind it.
    pub(super) fn keep(&mut self, node: &Node, doubt: Option<Box<Doubt>>) -> Result<()> {
        let Some(mut doubt) = doubt else { return Ok(()) };
        let settled_later = Error::Refused("it is kept until it is settled".to_owned());
        let error = std::mem::replace(&mut doubt.error, settled_later);
        // The fires wait from now on: a fire that begins meanwhile may have been acquired later.
        node.prefetch.unbegun().enter(prefetched(&doubt.acquisition.fired));
        self.open.push(*doubt);
        Err(error)
    }

    /// Asks the store about open doubts until one of them was an acquisition; returns it as if the
    /// answer had come now, with whether its fires wait for their times. None when no doubt is
    /// open.
    pub(super) fn settle_next(
        &mut self,
        node: &Node,
        queue: &CompletionQueue,
        owner: &Owner,
    ) -> Result<Option<(Acquisition, bool)>> {
        while let Some(mut doubt) = self.open.pop() {
            let before: BTreeSet<i64> = prefetched(&doubt.acquisition.fired).collect();
            let happened = match node.store.firing().settle_doubt(owner, &mut doubt) {
                Ok(happened) => happened,
                Err(error) => {
                    self.open.push(doubt);
                    return Err(error);
                }
            };
            let Doubt { acquisition, ended, recorded, precommits, .. } = doubt;
            lifecycle_log::settled(&node.instance, happened, acquisition.fired.len(), acquisition.reserved.len());
            let there: BTreeSet<i64> = prefetched(&acquisition.fired).collect();
            node.prefetch.unbegun().leave(before.difference(&there).copied());
            if happened {
                node.tell_completed(&ended, &recorded);
                return Ok(Some((acquisition, precommits)));
            }
            queue.give_back(node, owner, ended);
        }
        Ok(None)
    }

    /// Forgets open doubts: their rows belong to others by now, which their completions find out.
    pub(super) fn forget(&mut self, node: &Node, queue: &CompletionQueue, owner: &Owner) {
        for doubt in std::mem::take(&mut self.open) {
            node.prefetch.unbegun().leave(prefetched(&doubt.acquisition.fired));
            queue.give_back(node, owner, doubt.ended);
        }
        // A verdict has passed over fires that their jobs held.
        self.compare_at = Duration::ZERO;
    }

    /// Has the store treat fires of which nothing here knows as a peer would after this node's
    /// death. Only the acquirer makes fires, so nothing new can be taken for forgotten.
    pub(super) fn recover_forgotten(
        &mut self,
        node: &Node,
        owner: &Owner,
        known: impl FnOnce() -> BTreeSet<String>,
    ) -> Result<()> {
        self.is_interrupted |= node.uncertain.swap(false);
        if !self.is_interrupted {
            return Ok(());
        }
        let recovered = node.store.upkeep().recover_forgotten(owner, &known())?;
        self.is_interrupted = false;
        if !recovered.is_empty() {
            node.tell_forgotten(&recovered);
        }
        Ok(())
    }

    /// Compares the rows of this node with memory, after every lost connection and now and then: a
    /// store that has lost commits brings reservations and fires back that nothing here stands for,
    /// and their triggers would wait for ever. Rows that are unknown twice are recovered.
    ///
    /// Nothing new can be taken for unknown: only the acquirer makes fires, and what is known is
    /// gathered before the rows are read.
    pub(super) fn reconcile(
        &mut self,
        node: &Node,
        owner: &Owner,
        known: impl FnOnce() -> BTreeSet<String>,
    ) -> Result<()> {
        let (losses, now) = (node.store.losses(), node.clock.ticks());
        if losses == self.losses && now < self.compare_at {
            return Ok(());
        }
        let unknown = node.store.upkeep().unknown_fires(owner, &known())?;
        let twice: BTreeSet<String> = unknown.intersection(&self.unknown).cloned().collect();
        let mut again = AGAIN;
        if !twice.is_empty() {
            let recovered = node.store.upkeep().recover_unknown(owner, &twice)?;
            if !recovered.is_empty() {
                node.tell_forgotten(&recovered);
                node.services.acquirer.wake();
            } else if twice == unknown {
                // Jobs hold them in transactions of their own, which may last.
                again = self.again.saturating_mul(2).clamp(AGAIN, AGAIN_AT_LAST);
            }
        }
        let wait = match unknown.is_empty() {
            true => node.store.settings().job_store.checkin_interval.saturating_mul(INTERVALS),
            false => again,
        };
        (self.unknown, self.again) = (unknown, again);
        (self.losses, self.compare_at) = (losses, now.saturating_add(wait));
        Ok(())
    }

    /// The time at which unknown rows are compared again; none if there are none.
    pub(super) fn next_comparison(&self) -> Option<Duration> {
        (!self.unknown.is_empty()).then_some(self.compare_at)
    }
}
