//! Acquisition: which of the due triggers form this batch.

use crate::key::{JobKey, TriggerKey};
use crate::rules::prefetch::{Place, Room};
use crate::store::row::{Candidate, TriggerRow};
use crate::trigger::TriggerOrder;
use std::cmp::{Ordering, Reverse};
use std::collections::BTreeSet;

/// The order of two due triggers; among equals by group and name, so that every node and
/// database agrees.
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
    room: Room,
    quarantined: &'a BTreeSet<TriggerKey>,
    one_at_a_time: BTreeSet<JobKey>,
}

impl<'a> Batch<'a> {
    pub(crate) fn new(room: Room, quarantined: &'a BTreeSet<TriggerKey>) -> Self {
        Self { room, quarantined, one_at_a_time: BTreeSet::new() }
    }

    /// True if nothing more fits.
    pub(crate) fn is_full(&self) -> bool {
        self.room.size() == 0
    }

    /// For whom `candidate` joins the batch, if it may; else whether it is only that there is no
    /// room for a job that may be long.
    ///
    /// A job that disallows concurrent execution is left alone while a fire of it executes
    /// anywhere, also if its trigger claims to be waiting: a Java peer may have released it too
    /// early (H4).
    pub(crate) fn takes(&mut self, candidate: &Candidate, is_short: bool) -> Result<Place, Left> {
        if candidate.trigger.next_ms.is_none() || self.quarantined.contains(&candidate.trigger.key) {
            return Err(Left::ForGood);
        }
        if self.is_full() {
            // Behind jobs that may all be long nothing waits, though there would be room.
            return Err(if self.room.ahead > 0 { Left::ForAWorker } else { Left::ForGood });
        }
        let job = &candidate.job;
        if job.nonconcurrent && (candidate.job_is_executing || self.one_at_a_time.contains(&job.key)) {
            return Err(Left::ForGood);
        }
        let place = self.room.take(is_short).ok_or(Left::ForAWorker)?;
        if job.nonconcurrent {
            self.one_at_a_time.insert(job.key.clone());
        }
        Ok(place)
    }
}

/// Why a candidate is not in the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nobody's free worker would change that.
    ForGood,
    /// The trigger is taken for a free worker only.
    ForAWorker,
}
