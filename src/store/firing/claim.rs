//! Claim: due triggers that are looked for without the lock, and taken under it or by locking their rows.

use super::acquire::fenced;
use super::doubt::is_there;
use super::fire::{Firable, Firing};
use super::{AcquireRequest, Acquisition};
use crate::error::Result;
use crate::key::{RERUN_GROUPS, TriggerKey};
use crate::rules::strategy::is_tick;
use crate::store::{JobStore, Owner, Session, TxMode};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

/// One transaction in so many that could share the lock does not. A stream of those that share it could keep those waiting
/// who want it alone: who takes it in turn queues behind them, and the stream ends.
const TURN: u32 = 16;

/// A trigger that was seen to be due, without the lock.
struct Seen {
    key: TriggerKey,
    /// None of one that could not be read: it may have been torn, and is named under the lock.
    next_ms: Option<i64>,
    /// Whether locking its row is all that it takes to fire it now.
    is_plain: bool,
}

/// Triggers that were seen, and are looked at again under the lock.
pub(super) struct Again<'a> {
    seen: Vec<&'a Seen>,
    /// Whether others may claim them meanwhile.
    beside_claims: bool,
}

impl Again<'_> {
    /// Those that nobody can take any more.
    pub(super) fn keys(&self, s: &mut dyn Session) -> Result<Vec<TriggerKey>> {
        if !self.beside_claims {
            return Ok(self.seen.iter().map(|one| one.key.clone()).collect());
        }
        let unread = self.seen.iter().filter(|one| one.next_ms.is_none()).map(|one| one.key.clone());
        let mut keys = s.hold_waiting(&expected(&self.seen))?;
        keys.extend(unread);
        Ok(keys)
    }
}

fn expected(seen: &[&Seen]) -> Vec<(TriggerKey, i64)> {
    seen.iter().filter_map(|one| Some((one.key.clone(), one.next_ms?))).collect()
}

impl JobStore {
    /// Takes due triggers that were looked for without the lock; plain ones by `claims`, the others under it.
    pub(super) fn fetch(&self, owner: &Owner, request: &AcquireRequest<'_>, claims: bool) -> Result<Acquisition> {
        let (now_ms, seen, unreserved_ms, withheld) = self.look_for_claims(request)?;
        let mut brought = Acquisition { now_ms, unreserved_ms, ..Acquisition::default() };
        if seen.is_empty() {
            return Ok(Acquisition { withheld, ..brought });
        }
        let is_in_turn = claims && self.is_in_turn();
        let (plain, others): (Vec<&Seen>, Vec<&Seen>) =
            seen.iter().partition(|one| claims && one.is_plain && !is_in_turn);
        if !plain.is_empty() {
            brought = Acquisition { unreserved_ms, ..self.claim(owner, request, &plain)? };
        }
        if !others.is_empty() && brought.doubt.is_none() {
            match self.take(owner, request, Some(&Again { seen: others, beside_claims: claims })) {
                Ok(more) => brought.add(more),
                // What a node has claimed that was declared dead since is its successor's.
                Err(error) if brought.fired.is_empty() || error.is_fenced() => return Err(error),
                // What has begun must run; the next look finds the others again.
                Err(error) => {
                    log::debug!("acquired a part only error={error}");
                    brought.is_in_doubt = true;
                }
            }
        }
        let place: BTreeMap<&TriggerKey, usize> = seen.iter().enumerate().map(|(at, one)| (&one.key, at)).collect();
        brought.fired.sort_by_key(|bundle| place.get(&bundle.trigger.key).copied());
        let taken = brought.fired.len()
            + brought.reserved.len()
            + brought.skipped.len()
            + brought.waiting.len()
            + brought.spread;
        brought.withheld = withheld;
        brought.overtaken = seen.len().saturating_sub(taken + brought.unreadable.len());
        Ok(brought)
    }

    /// Whether it is the turn of those who want the lock alone, and this transaction is to queue for it as well.
    pub(super) fn is_in_turn(&self) -> bool {
        self.claims.fetch_add(1, Ordering::Relaxed) % TURN == TURN - 1
    }

    /// What is due, as one acquisition would take it, seen without the lock; with the store's time, and the earliest time of
    /// what is not reserved, and how many wait for a free worker.
    fn look_for_claims(&self, request: &AcquireRequest<'_>) -> Result<(i64, Vec<Seen>, Option<i64>, usize)> {
        self.read("look for due triggers", |s| {
            let now_ms = s.now_ms()?;
            let mut found = Acquisition::default();
            let mut gate = self.gate(s, "", now_ms)?;
            if gate.is_shut() {
                return Ok((now_ms, Vec::new(), None, 0));
            }
            let (taken, passed) = self.choose(s, &mut gate, now_ms, request, None, &mut found)?;
            let due_ms = now_ms.saturating_add(request.fire_ahead_ms);
            let mut seen: Vec<Seen> = taken
                .into_iter()
                .map(|one| Seen {
                    is_plain: self.is_plain(&one) && one.trigger.next_ms.is_some_and(|next_ms| next_ms <= due_ms),
                    next_ms: one.trigger.next_ms,
                    key: one.trigger.key,
                })
                .collect();
            let other = |key, next_ms| Seen { key, next_ms, is_plain: false };
            seen.extend(passed.into_iter().map(|one| other(one.advance.key, one.advance.expected_next_ms)));
            seen.extend(found.unreadable.into_iter().map(|(key, _)| other(key, None)));
            Ok((now_ms, seen, found.unreserved_ms, found.withheld))
        })
    }

    /// Whether a fire of the trigger touches nothing but its own rows, and depends on nothing that another fire may change
    /// at the same time.
    fn is_plain(&self, firable: &Firable) -> bool {
        let (trigger, job) = (&firable.candidate.trigger, &firable.candidate.job);
        // Runs of a limited group are counted under the lock.
        !job.nonconcurrent
            && !self.has_limit(job.key.group())
            && !job.update_data
            && !is_tick(&firable.job, &trigger.key)
            && trigger.options.is_none()
            // Its fence would be drawn before it is seen whether the continuation is older.
            && !firable.candidate.job_is_followed
            && firable.candidate.recovery.is_none()
            && !RERUN_GROUPS.contains(&trigger.key.group())
            && !self.reader().versions.contains_key(&job.job_type)
    }

    /// Fires plain triggers, as far as nobody else holds their rows.
    ///
    /// The fences are drawn by a transaction of its own, after the triggers were seen: the row they come from would else be
    /// the queue that a claim is to avoid. They are larger than those of every earlier fire of these triggers all the same,
    /// since a trigger that was fired after it was seen has another next fire time, and is not taken.
    fn claim(&self, owner: &Owner, request: &AcquireRequest<'_>, seen: &[&Seen]) -> Result<Acquisition> {
        let first_fence = self.retrying(
            "draw fences",
            TxMode::OwnRows,
            |s| s.draw_fences(Some(owner), seen.len())?.ok_or_else(|| fenced(owner)),
            &mut |_, _| Ok(false), // those that were drawn are left out
        )?;
        let told = self.retrying_or_doubt(
            "claim triggers",
            TxMode::Claiming,
            |s| self.claim_in(s, owner, request, seen, first_fence),
            &mut |s, brought| Ok(is_there(s, brought)?.unwrap_or(true)),
        )?;
        Ok(Acquisition::told(told, false))
    }

    fn claim_in(
        &self,
        s: &mut dyn Session,
        owner: &Owner,
        request: &AcquireRequest<'_>,
        seen: &[&Seen],
        first_fence: i64,
    ) -> Result<Acquisition> {
        // Whoever would declare this node dead waits for this transaction, and then sees its fires.
        if s.draw_fences(Some(owner), 0)?.is_none() {
            return Err(fenced(owner));
        }
        let now_ms = s.now_ms()?;
        let mut brought = Acquisition { now_ms, ..Acquisition::default() };
        let mut gate = self.gate(s, &owner.instance, now_ms)?;
        if gate.is_shut() {
            return Ok(brought);
        }
        let held = s.hold_waiting(&expected(seen))?;
        if held.is_empty() {
            return Ok(brought);
        }
        // Read again, now that nobody can change it. What has changed in between is left to the next look.
        let (chosen, _) = self.choose(s, &mut gate, now_ms, request, Some(&held), &mut Acquisition::default())?;
        let due_ms = now_ms.saturating_add(request.fire_ahead_ms);
        let is_due = |one: &Firable| one.trigger.next_ms.is_some_and(|next_ms| next_ms <= due_ms);
        let firing = Firing::new(owner, now_ms, self.is_beside_quartz());
        let mut firing = firing.leaving_batch(request.ahead.is_some());
        let plain = chosen.into_iter().filter(|one| is_due(one) && self.is_plain(one));
        (first_fence..).zip(plain).for_each(|(fence, firable)| firing.fire(firable, fence, request.ahead.is_some()));
        let rows = firing.take_rows();
        firing.write(s, rows)?;
        firing.tell_passed(s, &mut brought)?;
        brought.fired = firing.into_bundles();
        Ok(brought)
    }
}

impl Acquisition {
    /// Puts what another transaction brought to this.
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
        self.spread += more.spread;
        self.doubt = self.doubt.take().or(more.doubt);
        self.finalized.extend(more.finalized);
    }
}
