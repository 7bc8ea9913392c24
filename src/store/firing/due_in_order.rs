//! `DueInOrder`: the due triggers of a backlog in order of priority, found once for many
//! acquisitions.
//!
//! No index has that order. A search puts all that is due in order for the few that one acquisition
//! takes, under the lock, and a backlog is taken by the few: in the recovery mode as many as there
//! are free workers. With a backlog the keys are therefore found without the lock, and each
//! acquisition chooses from the first of them.

use super::{AcquireRequest, Acquisition};
use crate::error::Result;
use crate::hash::HashSet;
use crate::key::TriggerKey;
use crate::store::Firing;
use crate::store::row::DueQuery;
use crate::trigger::TriggerOrder;
use std::collections::VecDeque;
use std::time::Duration;

/// The number of keys that are found at a time.
const MOST_IN_ORDER: usize = 10_000;

/// For how long the order counts: more important triggers that come to be due meanwhile wait so
/// long.
const ORDERED_FOR: Duration = Duration::from_secs(5);

/// One acquisition chooses from so many times as many as it can take: other nodes may have taken
/// the first.
const CHOICE: usize = 4;

/// The keys that are left of those that were found.
#[derive(Debug, Default)]
pub(in crate::store) struct DueInOrder {
    keys: VecDeque<TriggerKey>,
    /// The clock's ticks when they were looked for.
    found: Option<Duration>,
    /// There were more of them than one acquisition chooses from.
    was_long: bool,
    /// The last search under the lock brought as many as were asked for.
    is_backlog: bool,
}

impl DueInOrder {
    /// True if the keys are to be looked for.
    fn is_wanted(&self, now: Duration) -> bool {
        self.keys.is_empty() && self.is_backlog && (self.was_long || self.is_old(now))
    }

    fn is_old(&self, now: Duration) -> bool {
        self.found.is_none_or(|found| now.saturating_sub(found) >= ORDERED_FOR)
    }
}

impl Firing<'_> {
    /// The order of due triggers now.
    pub(super) fn trigger_order(&self) -> TriggerOrder {
        self.node.trigger_order(self.store.settings.job_store.trigger_order)
    }

    /// The keys from which an acquisition is to choose; none if it is to search.
    pub(super) fn first_in_order(&self, request: &AcquireRequest<'_>) -> Result<Option<Vec<TriggerKey>>> {
        let now = self.store.clock.ticks();
        let choice = request.max.max(1).saturating_mul(CHOICE);
        let mut order = std::mem::take(&mut *self.node.due_in_order.lock());
        if self.trigger_order() != TriggerOrder::PriorityThenTime {
            return Ok(None);
        }
        if order.is_old(now) {
            order.keys.clear();
        }
        if order.is_wanted(now) {
            order.found = Some(now);
            order.keys = self.find_in_order(request)?.into();
            order.was_long = order.keys.len() > choice;
            if !order.was_long {
                // The search is as good.
                order.keys.clear();
            }
        }
        let first: Vec<TriggerKey> = order.keys.iter().take(choice).cloned().collect();
        *self.node.due_in_order.lock() = order;
        Ok(Some(first).filter(|keys| !keys.is_empty()))
    }

    fn find_in_order(&self, request: &AcquireRequest<'_>) -> Result<Vec<TriggerKey>> {
        self.store.glance("put due triggers in order", |s| {
            let now_ms = self.note_time(s.now_ms()?);
            let admission = self.node.admission_filter(s, "", now_ms)?;
            if admission.is_shut {
                return Ok(Vec::new());
            }
            s.due_keys(&DueQuery {
                no_later_than_ms: now_ms.saturating_add(request.fire_ahead_ms),
                misfired_before_ms: self.store.misfired_before(now_ms),
                job_types: request.job_types,
                versions: &self.node.types.read().reader().versions,
                excluded: &admission.excluded,
                among: None,
                order: self.trigger_order(),
                now_ms,
                limit: MOST_IN_ORDER,
                offset: 0,
            })
        })
    }

    /// Notes what an acquisition has brought that chose from these keys, or searched. Of keys that
    /// were not enough the others are taken, or cannot be: the next are for the next acquisition.
    pub(super) fn note_taken(&self, keys: Option<&[TriggerKey]>, max: usize, acquisition: &mut Acquisition) {
        if acquisition.doubt.is_some() {
            return;
        }
        let mut order = self.node.due_in_order.lock();
        let taken = acquisition.fired.len() + acquisition.reserved.len();
        let Some(keys) = keys else {
            order.is_backlog = taken >= max;
            return;
        };
        let fired = acquisition.fired.iter().map(|fire| &fire.trigger.key);
        let taken_keys: HashSet<&TriggerKey> =
            fired.chain(acquisition.reserved.iter().map(|held| &held.trigger)).collect();
        let is_done = taken < max && acquisition.withheld == 0;
        let last = keys.iter().rposition(|key| taken_keys.contains(key)).map_or(0, |last| last + 1);
        let done = if is_done { keys.len() } else { last };
        let done = done.min(order.keys.len());
        order.keys.drain(..done);
        if is_done {
            acquisition.overtaken = acquisition.overtaken.max(max - taken);
        }
    }
}
