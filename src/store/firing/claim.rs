//! Claim: due triggers are looked for without the lock, and taken by locking their rows.

use super::choosing::Pages;
use super::firable::Firable;
use super::{AcquireRequest, Acquisition};
use crate::error::Result;
use crate::hash::HashMap;
use crate::key::TriggerKey;
use crate::rules::strategy::{is_rerun, is_tick};
use crate::store::backlog::KeysInOrder;
use crate::store::row::TriggerSelection;
use crate::store::transaction::fenced;
use crate::store::{Firing, Owner, Session, TxMode};

/// A trigger that was seen to be due, without the lock.
pub(super) struct SeenTrigger {
    key: TriggerKey,
    /// None of one that could not be read: it may have been torn, and is named under the lock.
    next_ms: Option<i64>,
    /// True if a lock of the row is all that a fire needs now.
    is_claimable: bool,
}

/// The triggers that an acquisition chooses from.
#[derive(Clone, Copy)]
pub(super) enum Among<'a> {
    /// All due triggers.
    All,
    /// The due triggers of a backlog, in its order.
    InOrder(&'a [TriggerKey]),
    /// The triggers of these that nobody has taken.
    Seen(&'a [&'a SeenTrigger]),
}

impl<'a> Among<'a> {
    pub(super) fn of(backlog: Option<&'a KeysInOrder>) -> Self {
        backlog.map_or(Self::All, |keys| Self::InOrder(keys.as_slice()))
    }
}

/// The triggers, of those that were seen, that nobody else can take any more.
pub(super) fn still_free(s: &mut dyn Session, seen: &[&SeenTrigger]) -> Result<Vec<TriggerKey>> {
    let unread = seen.iter().filter(|one| one.next_ms.is_none()).map(|one| one.key.clone());
    let mut keys = s.trigger_keys(TriggerSelection::FreeWaiting(&expected(seen)))?;
    keys.extend(unread);
    Ok(keys)
}

fn expected(seen: &[&SeenTrigger]) -> Vec<(TriggerKey, i64)> {
    seen.iter().filter_map(|one| Some((one.key.clone(), one.next_ms?))).collect()
}

impl Firing<'_> {
    /// Takes due triggers that were looked for without the lock: claimable ones by claims, the
    /// others under the lock.
    pub(super) fn acquire_by_claims(&self, owner: &Owner, request: &AcquireRequest<'_>) -> Result<Acquisition> {
        let backlog = self.backlog(request)?;
        let (seen, found) = self.find_claims(request, backlog.as_ref())?;
        let Acquisition { now_ms, unreserved_ms, withheld, passed, .. } = found;
        let mut acquisition = Acquisition { now_ms, unreserved_ms, ..Acquisition::default() };
        if seen.is_empty() {
            (acquisition.withheld, acquisition.passed) = (withheld, passed);
            self.note_acquired(backlog, request.max, &acquisition);
            return Ok(acquisition);
        }
        let must_queue = self.node.must_queue();
        let (claimable, others): (Vec<&SeenTrigger>, Vec<&SeenTrigger>) =
            seen.iter().partition(|one| one.is_claimable && !must_queue);
        if !claimable.is_empty() {
            acquisition = Acquisition { unreserved_ms, ..self.claim(owner, request, &claimable)? };
        }
        if !others.is_empty() && acquisition.doubt.is_none() {
            let more = self.acquiring("acquire triggers", TxMode::BesideClaims, &mut |s| {
                self.acquire_in_session(s, owner, request, Among::Seen(&others))
            });
            match more {
                Ok(more) => acquisition.add(more),
                // A claim of a node that was declared dead since is its successor's.
                Err(error) if acquisition.fired.is_empty() || error.is_fenced() => return Err(error),
                // Fires that have begun must run; the next poll finds the others again.
                Err(error) => {
                    log::debug!("acquired a part only error={error}");
                    acquisition.is_in_doubt = true;
                }
            }
        }
        let place: HashMap<&TriggerKey, usize> = seen.iter().enumerate().map(|(at, one)| (&one.key, at)).collect();
        acquisition.fired.sort_by_key(|bundle| place.get(&bundle.trigger.key).copied());
        let taken = acquisition.fired.len()
            + acquisition.reserved.len()
            + acquisition.skipped.len()
            + acquisition.waiting.len()
            + acquisition.fanned_out;
        acquisition.withheld = withheld;
        acquisition.overtaken = seen.len().saturating_sub(taken + acquisition.unreadable.len());
        acquisition.passed = passed;
        self.note_acquired(backlog, request.max, &acquisition);
        Ok(acquisition)
    }

    /// The due triggers, as one acquisition would take them, seen without the lock; with what the
    /// acquisition would report besides.
    fn find_claims(
        &self,
        request: &AcquireRequest<'_>,
        backlog: Option<&KeysInOrder>,
    ) -> Result<(Vec<SeenTrigger>, Acquisition)> {
        self.store.read("look for due triggers", |s| {
            let now_ms = self.note_time(s.now_ms()?);
            let mut found = Acquisition { now_ms, ..Acquisition::default() };
            let mut admission = self.node.admission_filter(s, "", now_ms)?;
            if admission.is_shut {
                return Ok((Vec::new(), found));
            }
            let pages = backlog.map_or(Pages::Search, |keys| Pages::InOrder(keys.as_slice()));
            let (taken, deferred) = self.choose(s, &mut admission, now_ms, request, pages, &mut found)?;
            let due_ms = now_ms.saturating_add(request.fire_ahead_ms);
            let mut seen: Vec<SeenTrigger> = taken
                .into_iter()
                .map(|one| SeenTrigger {
                    is_claimable: self.is_claimable(&one)
                        && one.trigger.next_ms.is_some_and(|next_ms| next_ms <= due_ms),
                    next_ms: one.trigger.next_ms,
                    key: one.trigger.key,
                })
                .collect();
            let other = |key, next_ms| SeenTrigger { key, next_ms, is_claimable: false };
            seen.extend(deferred.into_iter().map(|one| other(one.advance.key, one.advance.expected_next_ms)));
            seen.extend(found.unreadable.iter().map(|(key, _)| other(key.clone(), None)));
            Ok((seen, found))
        })
    }

    /// A fire of the trigger touches nothing but its own rows, and depends on nothing that another
    /// fire may change at the same time.
    fn is_claimable(&self, firable: &Firable) -> bool {
        let (trigger, job) = (&firable.candidate.trigger, &firable.candidate.job);
        // Runs of a limited group are counted under the lock.
        !job.nonconcurrent
            && !self.node.has_limit(job.key.group())
            && !job.update_data
            && !is_tick(&firable.job, &trigger.key)
            && trigger.options.is_none()
            // The fence would be drawn before it is seen whether the continuation is older.
            && !firable.candidate.job_is_followed
            && firable.candidate.recovery.is_none()
            && !is_rerun(&trigger.key)
            && !self.node.types.read().reader().versions.contains_key(&*job.job_type)
    }

    /// Fires claimable triggers, as far as nobody else holds their rows.
    ///
    /// The fences are drawn by a transaction of their own, after the triggers were seen: the row
    /// from which they come would else be the queue that a claim is to avoid. The fences are larger
    /// than those of every earlier fire of these triggers all the same, since a trigger that was
    /// fired after it was seen has another next fire time, and is not taken.
    fn claim(&self, owner: &Owner, request: &AcquireRequest<'_>, seen: &[&SeenTrigger]) -> Result<Acquisition> {
        // Fences that a lost try has drawn are left out.
        let first_fence = self.store.at_least_once("draw fences", TxMode::OwnRows, |s| {
            s.draw_fences(Some(owner), seen.len())?.ok_or_else(|| fenced(owner))
        })?;
        self.acquiring("claim triggers", TxMode::Claiming, &mut |s| {
            self.claim_in_session(s, owner, request, seen, first_fence)
        })
    }

    fn claim_in_session(
        &self,
        s: &mut dyn Session,
        owner: &Owner,
        request: &AcquireRequest<'_>,
        seen: &[&SeenTrigger],
        first_fence: i64,
    ) -> Result<Acquisition> {
        // A peer that would declare this node dead waits for this transaction, and then sees its
        // fires.
        if s.draw_fences(Some(owner), 0)?.is_none() {
            return Err(fenced(owner));
        }
        let now_ms = self.note_time(s.now_ms()?);
        let mut acquisition = Acquisition { now_ms, ..Acquisition::default() };
        let mut admission = self.node.admission_filter(s, &owner.instance, now_ms)?;
        if admission.is_shut {
            return Ok(acquisition);
        }
        let held = s.trigger_keys(TriggerSelection::FreeWaiting(&expected(seen)))?;
        if held.is_empty() {
            return Ok(acquisition);
        }
        // The candidates are read again, now that nobody can change them. A trigger that has
        // changed in between is left to the next look.
        let (chosen, _) =
            self.choose(s, &mut admission, now_ms, request, Pages::Keys(&held), &mut Acquisition::default())?;
        let due_ms = now_ms.saturating_add(request.fire_ahead_ms);
        let is_due = |one: &Firable| one.trigger.next_ms.is_some_and(|next_ms| next_ms <= due_ms);
        let mut batch = self.batch(owner, now_ms);
        batch.leaves_batch = request.prefetch.is_some();
        let claimable = chosen.into_iter().filter(|one| is_due(one) && self.is_claimable(one));
        (first_fence..)
            .zip(claimable)
            .for_each(|(fence, firable)| batch.add_fire(firable, fence, request.prefetch.is_some()));
        let rows = std::mem::take(&mut batch.rows);
        batch.write(s, rows)?;
        batch.report_deferred(s, &mut acquisition)?;
        acquisition.fired = batch.bundles;
        Ok(acquisition)
    }
}

impl Acquisition {
    /// Adds what another transaction has taken.
    fn add(&mut self, more: Acquisition) {
        self.now_ms = more.now_ms;
        self.fired.extend(more.fired);
        self.reserved.extend(more.reserved);
        self.unreadable.extend(more.unreadable);
        self.parked.extend(more.parked);
        self.unreserved_ms = self.unreserved_ms.into_iter().chain(more.unreserved_ms).min();
        self.skipped.extend(more.skipped);
        self.misfired.extend(more.misfired);
        self.waiting.extend(more.waiting);
        self.cancelled.extend(more.cancelled);
        self.fanned_out += more.fanned_out;
        self.doubt = self.doubt.take().or(more.doubt);
        self.finalized.extend(more.finalized);
    }
}
