//! `Reservations`: the triggers that the acquirer has reserved, until they are fired or released.

use crate::error::Result;
use crate::rules::store_time::StoreTime;
use crate::scheduler::node::Node;
use crate::store::Reservation;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A reserved trigger is fired in the store at most so long before its time, and handed to a worker
/// at its time: its job begins in time whatever the transaction takes. The first of a transaction
/// is fired half as long before, so that the transaction fires many.
const PRECOMMIT_LEAD: Duration = Duration::from_millis(20);

/// The triggers that the acquirer has reserved.
pub(super) struct Reservations {
    node: Arc<Node>,
    /// Earliest first.
    pub(super) held: Vec<Reservation>,
    /// To be released as soon as the store can be reached.
    unwanted: Vec<Reservation>,
}

impl Reservations {
    pub(super) fn new(node: Arc<Node>) -> Self {
        Self { node, held: Vec::new(), unwanted: Vec::new() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// The fire ids of all that have a row: those that are held, and those that are to be released.
    pub(super) fn fire_ids(&self) -> impl Iterator<Item = String> {
        self.held.iter().chain(&self.unwanted).map(|held| held.fire_id.clone())
    }

    /// The number of reservations for jobs of other types than these.
    pub(super) fn count_beside(&self, short: &BTreeSet<String>) -> usize {
        self.held.iter().filter(|held| !short.contains(&*held.job_type)).count()
    }

    /// The time of the last, epoch milliseconds.
    pub(super) fn last_ms(&self) -> Option<i64> {
        self.held.last().map(|held| held.scheduled_ms)
    }

    /// True if one is for this time or an earlier one.
    pub(super) fn has_until(&self, ms: i64) -> bool {
        self.held.iter().any(|held| held.scheduled_ms <= ms)
    }

    pub(super) fn add(&mut self, reserved: Vec<Reservation>) {
        self.held.extend(reserved);
        self.held.sort_by_key(|held| held.scheduled_ms);
        self.show_count();
    }

    /// Has all of them released.
    pub(super) fn give_up(&mut self) {
        self.unwanted.append(&mut self.held);
        self.show_count();
    }

    /// Has those released that are for a later time than this.
    pub(super) fn give_up_after(&mut self, ms: i64) {
        let later = self.held.partition_point(|held| held.scheduled_ms <= ms);
        self.unwanted.extend(self.held.drain(later..));
        self.show_count();
    }

    /// Has those released that are not to be kept.
    pub(super) fn keep(&mut self, is_kept: impl FnMut(&Reservation) -> bool) {
        let (kept, excess): (Vec<_>, Vec<_>) = std::mem::take(&mut self.held).into_iter().partition(is_kept);
        self.held = kept;
        self.unwanted.extend(excess);
        self.show_count();
    }

    /// Drops those that were fired, or that others have taken: they have no row of a reservation.
    pub(super) fn drop_fires(&mut self, is_gone: impl Fn(&str) -> bool) {
        self.held.retain(|held| !is_gone(&held.fire_id));
        self.show_count();
    }

    /// Drops everything: the rows belong to others.
    pub(super) fn forget(&mut self) {
        self.held.clear();
        self.unwanted.clear();
        self.show_count();
    }

    /// Releases in the store what is to be released.
    pub(super) fn release_unwanted(&mut self) -> Result<()> {
        if !self.unwanted.is_empty() {
            self.node.store.firing().release(&self.unwanted)?;
            self.unwanted.clear();
        }
        Ok(())
    }

    /// The time at which the first is to be fired in the store, in ticks.
    pub(super) fn first_fired_at(&self, store_time: &StoreTime) -> Option<Duration> {
        self.held.iter().map(|held| fired_at(held, store_time, PRECOMMIT_LEAD / 2)).min()
    }

    /// All that may be fired in the store by now.
    pub(super) fn due(&self, store_time: &StoreTime, now: Duration) -> Vec<Reservation> {
        let is_due = |held: &&Reservation| fired_at(held, store_time, PRECOMMIT_LEAD) <= now;
        self.held.iter().filter(is_due).cloned().collect()
    }

    fn show_count(&self) {
        self.node.metrics.reserved.store(self.held.len(), Ordering::Relaxed);
    }
}

/// The time at which a reserved trigger is fired in the store, in ticks, if that may be so long
/// before its time.
fn fired_at(held: &Reservation, store_time: &StoreTime, lead: Duration) -> Duration {
    let due = store_time.ticks_at(held.scheduled_ms);
    if held.may_precommit { due.saturating_sub(lead) } else { due }
}
