//! Choosing: the candidates of an acquisition are read page by page and judged one by one, until
//! the batch is full.

use super::firable::Firable;
use super::overlap::{Deferred, defer};
use super::{AcquireRequest, Acquisition};
use crate::error::Result;
use crate::hash::HashMap;
use crate::key::TriggerKey;
use crate::rules::acquisition::{Batch, Left, order};
use crate::rules::prefetch::Room;
use crate::rules::strategy::is_tick;
use crate::store::calendars::Calendars;
use crate::store::placement::AdmissionFilter;
use crate::store::row::{Candidate, CandidateSelection, DueQuery};
use crate::store::{Firing, Session};
use crate::trigger::{Policies, TriggerOrder};
use std::collections::BTreeSet;

/// The number of pages of candidates that one acquisition reads at most.
const MAX_PAGES: usize = 20;

/// The candidates that are read page by page.
#[derive(Clone, Copy)]
pub(super) enum Pages<'a> {
    /// The triggers that a search finds.
    Search,
    /// The due triggers of these, in one page.
    Keys(&'a [TriggerKey]),
    /// The due triggers of these, which are in order and may be many.
    InOrder(&'a [TriggerKey]),
}

impl<'a> Pages<'a> {
    /// The keys of the next page, behind so many; none for a search.
    fn keys(self, passed: usize, max: usize) -> Option<&'a [TriggerKey]> {
        let (keys, size) = match self {
            Self::Search => return None,
            Self::Keys(keys) => (keys, keys.len()),
            // Other nodes may have taken the first.
            Self::InOrder(keys) => (keys, max.max(1).saturating_mul(2)),
        };
        let left = keys.get(passed..).unwrap_or_default();
        Some(left.get(..size).unwrap_or(left))
    }
}

impl AcquireRequest<'_> {
    fn room(&self) -> Room {
        self.prefetch.map_or(Room::of_workers(self.max), |prefetch| Room {
            free: prefetch.free.min(self.max),
            ahead: self.max.saturating_sub(prefetch.free),
            quick: prefetch.quick,
        })
    }

    /// The fire may wait for a worker: it begins soon, nobody waits for its end, and as
    /// long as it has not begun it can be taken back.
    fn may_wait(&self, firable: &Firable) -> bool {
        let is_short = || self.prefetch.is_some_and(|prefetch| prefetch.short.contains(firable.job.job_type()));
        !firable.job.disallow_concurrent_execution && firable.trigger.policies == Policies::default() && is_short()
    }
}

/// An acquisition that is being chosen.
struct Choice<'a, 'f> {
    firing: Firing<'a>,
    order: TriggerOrder,
    now_ms: i64,
    request: &'a AcquireRequest<'a>,
    admission: &'a mut AdmissionFilter<'f>,
    /// The report of what is neither taken nor deferred.
    acquisition: &'a mut Acquisition,
    calendars: Calendars,
    batch: Batch<'a>,
    taken: Vec<Firable>,
    deferred: Vec<Deferred>,
    /// The first trigger that waits for a free worker.
    withheld: Option<TriggerKey>,
}

impl Firing<'_> {
    /// Reads candidates page by page until the batch is full: a page may hold nothing but triggers
    /// of one job that may run only once at a time, or triggers that nobody can read. Due triggers
    /// that a policy of their own keeps from firing are deferred.
    pub(super) fn choose(
        &self,
        s: &mut dyn Session,
        admission: &mut AdmissionFilter<'_>,
        now_ms: i64,
        request: &AcquireRequest<'_>,
        pages: Pages<'_>,
        acquisition: &mut Acquisition,
    ) -> Result<(Vec<Firable>, Vec<Deferred>)> {
        let mut choice = Choice {
            firing: *self,
            order: self.trigger_order(),
            now_ms,
            request,
            admission,
            acquisition,
            calendars: Calendars::default(),
            batch: Batch::new(request.room(), request.quarantined),
            taken: Vec::new(),
            deferred: Vec::new(),
            withheld: None,
        };
        let mut seen = 0;
        for page in 0..MAX_PAGES {
            // Triggers that wait for a free worker are not to be read again and again.
            if choice.batch.is_full() || choice.acquisition.withheld > 0 {
                break;
            }
            let among = pages.keys(choice.acquisition.passed, request.max);
            if among.is_some_and(<[_]>::is_empty) {
                break;
            }
            let limit = among.map_or(request.max, <[_]>::len).max(1);
            let query = DueQuery {
                among,
                order: choice.order,
                now_ms,
                no_later_than_ms: now_ms.saturating_add(request.look_ahead_ms.max(request.fire_ahead_ms)),
                misfired_before_ms: self.store.misfired_before(now_ms),
                job_types: request.job_types,
                versions: &self.node.types.read().reader().versions,
                excluded: &choice.admission.excluded,
                limit,
                offset: if among.is_some() { 0 } else { seen - choice.admission.hidden.min(seen) },
            };
            let mut candidates = s.candidates(CandidateSelection::Due(query))?;
            let found = candidates.len();
            seen += found;
            // Candidates are large: a vector that grows would copy them over and over.
            choice.taken.reserve(found);
            if page > 0 {
                choice.leave_out_earlier(&mut candidates);
            }
            match (pages, among) {
                (Pages::InOrder(_), Some(keys)) => in_order_of(keys, &mut candidates),
                // Among equals a database has an order of its own.
                _ => candidates.sort_by(|a, b| order(choice.order, now_ms, &a.trigger, &b.trigger)),
            }
            let names = candidates.iter().filter_map(|candidate| candidate.trigger.calendar.as_deref());
            self.store.read_calendars(s, &mut choice.calendars, names)?;
            candidates.into_iter().for_each(|candidate| choice.consider(candidate));
            match among {
                Some(keys) => choice.acquisition.passed += choice.passed(keys),
                None if found < limit => break,
                None => {}
            }
        }
        if matches!(pages, Pages::InOrder(_)) {
            let Choice { order: of, taken, .. } = &mut choice;
            taken.sort_by(|a, b| order(*of, now_ms, &a.candidate.trigger, &b.candidate.trigger));
        }
        Ok((choice.taken, choice.deferred))
    }
}

/// Puts each candidate, once, into the place of its key: what was considered before one of them is
/// then known by the keys.
fn in_order_of(keys: &[TriggerKey], candidates: &mut Vec<Candidate>) {
    let places: HashMap<&TriggerKey, usize> = keys.iter().enumerate().map(|(at, key)| (key, at)).collect();
    candidates.sort_by_key(|candidate| places.get(&candidate.trigger.key).copied());
    candidates.dedup_by(|a, b| a.trigger.key == b.trigger.key);
}

impl Choice<'_, '_> {
    /// Pages are read one after the other, while others fire triggers and move them on: a trigger
    /// may be in two pages.
    fn leave_out_earlier(&self, candidates: &mut Vec<Candidate>) {
        let earlier = self.taken.iter().map(|one| &one.trigger.key);
        let earlier = earlier.chain(self.deferred.iter().map(|one| &one.advance.key));
        let earlier: BTreeSet<&TriggerKey> =
            earlier.chain(self.acquisition.unreadable.iter().map(|(key, _)| key)).collect();
        candidates.retain(|candidate| !earlier.contains(&candidate.trigger.key));
    }

    /// The number of keys of a page, which are in order, that are done with: those up to the first
    /// that waits for a free worker, or up to the last that the batch has taken if it is full.
    fn passed(&self, page: &[TriggerKey]) -> usize {
        let place = |key: &TriggerKey| page.iter().position(|one| one == key);
        match (&self.withheld, self.taken.last()) {
            (Some(key), _) => place(key).unwrap_or(0),
            (None, Some(last)) if self.batch.is_full() => place(&last.trigger.key).map_or(page.len(), |last| last + 1),
            _ => page.len(),
        }
    }

    /// Takes, defers or leaves a trigger.
    fn consider(&mut self, candidate: Candidate) {
        let key = candidate.trigger.key.clone();
        self.admission.sees(candidate.job.key.group());
        if !self.admission.admits_part(&key) {
            return;
        }
        let firable = match self.firing.firable(candidate, &self.calendars) {
            Ok(firable) => firable,
            Err(error) => {
                if !self.request.quarantined.contains(&key) {
                    self.acquisition.unreadable.push((key, error.to_string()));
                }
                return;
            }
        };
        let due_ms = firable.trigger.next_ms.unwrap_or(self.now_ms);
        let policy = firable.candidate.job.policy.as_deref();
        let is_admitted = self.admission.admits_tick(&firable.job, policy, &firable.trigger.key)
            && self.admission.admits(&firable.job, policy, due_ms);
        if !is_admitted {
            return;
        }
        let group = firable.job.key.group();
        let is_unreserved = self.admission.is_limited(group) || is_tick(&firable.job, &firable.trigger.key);
        if is_unreserved && due_ms > self.now_ms.saturating_add(self.request.fire_ahead_ms) {
            self.acquisition.unreserved_ms = self.acquisition.unreserved_ms.into_iter().chain([due_ms]).min();
            return;
        }
        if let Some(deferred) = defer(&firable, self.now_ms, self.now_ms) {
            self.deferred.push(deferred);
            return;
        }
        match self.batch.takes(&firable.candidate, self.request.may_wait(&firable)) {
            Ok(_) => {
                self.admission.begins(group);
                self.taken.push(firable);
            }
            Err(Left::ForAWorker) => {
                self.acquisition.withheld += 1;
                self.withheld.get_or_insert(key);
            }
            Err(Left::ForGood) => {}
        }
    }
}
