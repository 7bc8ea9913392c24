//! Acquisition: which of the due triggers form this batch.

use crate::key::{JobKey, TriggerKey};
use crate::store::row::{Candidate, TriggerRow};
use crate::trigger::TriggerOrder;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

/// Which of two due triggers comes first; among equals by group and name, so that every node and database agrees.
pub(crate) fn order(order: TriggerOrder, now_ms: i64, a: &TriggerRow, b: &TriggerRow) -> Ordering {
    let by_rule = match order {
        TriggerOrder::TimeThenPriority => (a.next_ms, Reverse(a.priority)).cmp(&(b.next_ms, Reverse(b.priority))),
        TriggerOrder::PriorityThenTime => {
            let rank = |t: &TriggerRow| (t.next_ms > Some(now_ms), Reverse(t.priority), t.next_ms);
            rank(a).cmp(&rank(b))
        }
    };
    by_rule.then_with(|| a.key.cmp(&b.key))
}

/// Picks candidates in order until the batch is full.
#[derive(Debug)]
pub(crate) struct Batch<'a> {
    room: usize,
    quarantined: &'a BTreeSet<TriggerKey>,
    one_at_a_time: BTreeSet<JobKey>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(room: usize, quarantined: &'a BTreeSet<TriggerKey>) -> Self {
        Self { room, quarantined, one_at_a_time: BTreeSet::new() }
    }

    /// Whether nothing more fits.
    pub(crate) fn is_full(&self) -> bool {
        self.room == 0
    }

    /// Whether `candidate` joins the batch.
    ///
    /// A job that disallows concurrent execution is left alone while a fire of it executes anywhere, also if its
    /// trigger claims to be waiting: a Java peer may have released it too early (H4).
    pub(crate) fn takes(&mut self, candidate: &Candidate) -> bool {
        if self.is_full() || candidate.trigger.next_ms.is_none() || self.quarantined.contains(&candidate.trigger.key) {
            return false;
        }
        if candidate.job.nonconcurrent
            && (candidate.job_is_executing || !self.one_at_a_time.insert(candidate.job.key.clone()))
        {
            return false;
        }
        self.room -= 1;
        true
    }
}
