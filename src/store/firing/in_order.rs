//! Acquisitions from a backlog in order of priority.

use super::{AcquireRequest, Acquisition, Completion, FireBundle};
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::Firing;
use crate::store::backlog::{KeysInOrder, MOST_KEYS};
use crate::store::row::{DueQuery, TriggerSelection};
use crate::trigger::TriggerOrder;

impl Firing<'_> {
    /// The order of due triggers now.
    pub(super) fn trigger_order(&self) -> TriggerOrder {
        self.node.trigger_order(self.store.settings.job_store.trigger_order)
    }

    /// The keys from which an acquisition is to choose, in their order; none if it is to search.
    pub(super) fn backlog(&self, request: &AcquireRequest<'_>) -> Result<Option<KeysInOrder>> {
        let mut backlog = std::mem::take(&mut *self.node.backlog.lock());
        if self.trigger_order() != TriggerOrder::PriorityThenTime {
            return Ok(None);
        }
        let began = self.store.clock.ticks();
        if backlog.is_wanted(began) {
            let keys = self.find_in_order(request)?;
            backlog.fill(keys, (began, self.store.clock.ticks()), request.max);
        }
        let keys = backlog.keys();
        *self.node.backlog.lock() = backlog;
        Ok(keys)
    }

    fn find_in_order(&self, request: &AcquireRequest<'_>) -> Result<Vec<TriggerKey>> {
        self.store.glance("put due triggers in order", |s| {
            let now_ms = self.note_time(s.now_ms()?);
            let admission = self.node.admission_filter(s, "", now_ms)?;
            if admission.is_shut {
                return Ok(Vec::new());
            }
            s.trigger_keys(TriggerSelection::Due(&DueQuery {
                no_later_than_ms: now_ms.saturating_add(request.fire_ahead_ms),
                misfired_before_ms: self.store.misfired_before(now_ms),
                job_types: request.job_types,
                versions: &self.node.types.read().reader().versions,
                excluded: &admission.excluded,
                among: None,
                order: self.trigger_order(),
                now_ms,
                limit: MOST_KEYS,
                offset: 0,
            }))
        })
    }

    /// Notes what an acquisition has brought that chose from these keys, or searched.
    pub(super) fn note_acquired(&self, keys: Option<KeysInOrder>, max: usize, acquisition: &Acquisition) {
        if acquisition.doubt.is_some() || acquisition.is_in_doubt {
            return;
        }
        let Acquisition { fired, reserved, now_ms, .. } = acquisition;
        if keys.is_none() {
            return self.node.backlog.lock().note_search(fired.len() + reserved.len() >= max);
        }
        // Keys behind one that waits for a free worker are left where they are. Other triggers of
        // the same priority are earlier.
        let least = fired.iter().map(|fire| fire.trigger.priority).min();
        let is_again = |fire: &&FireBundle| {
            let is_due = fire.trigger.next_ms.is_some_and(|next_ms| next_ms <= *now_ms);
            acquisition.withheld == 0 && is_due && Some(fire.trigger.priority) > least
        };
        let again = fired.iter().filter(is_again).map(|fire| fire.trigger.key.clone()).collect();
        drop(keys);
        self.node.backlog.lock().pass(acquisition.passed, again);
    }

    /// Notes ends of fires: triggers of jobs that run once at a time, of limited groups, or with
    /// runs for which they wait may be due now that were not.
    pub(super) fn note_ends(&self, ended: &[Completion]) {
        let is_in_order = self.trigger_order() == TriggerOrder::PriorityThenTime;
        if is_in_order
            && ended
                .iter()
                .any(|end| end.nonconcurrent || end.may_be_waited_for || self.node.has_limit(end.job.group()))
        {
            self.node.backlog.lock().hurry(self.store.clock.ticks());
        }
    }
}
