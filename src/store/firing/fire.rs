//! Fire: triggers whose time has come begin to execute.

use super::acquire::fenced;
use super::ahead::{left_ahead, may_go};
use super::doubt::is_there;
use super::fire_ids::FireIds;
use super::overlap::{Passed, pass, skipped};
use super::spread::Tick;
use super::{Acquisition, FireBundle, Recovering, Rerun, Reservation, SkipReason, SkippedFires};
use crate::calendar::Calendar;
use crate::error::Result;
use crate::job::JobDetail;
use crate::key::{CONTINUED_GROUP, INTERRUPTED_GROUP, RETRY_GROUP, TriggerKey};
use crate::rules::firing::{self, AfterFire};
use crate::rules::strategy::is_tick;
use crate::store::calendars::Calendars;
use crate::store::row::{Advance, AheadFire, Candidate, FiredRow, FiredState, Selection};
use crate::store::schedule_row::counts;
use crate::store::transaction::overtaken;
use crate::store::upkeep::recovery_keys;
use crate::store::{JobStore, Owner, Session, TxMode};
use crate::trigger::{Transition, Trigger, TriggerState};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl JobStore {
    /// Fires reserved triggers. Those that were paused, changed or taken away meanwhile are given back and missing in
    /// the answer.
    ///
    /// A reservation stands if its fired row is there and its trigger is still acquired with the same next fire time
    /// (H2). The fired row gets a new id, since a fence must be drawn when the fire begins, not when it was reserved.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered under this incarnation.
    pub fn fire(&self, owner: &Owner, reservations: &[Reservation]) -> Result<Vec<FireBundle>> {
        let brought = self.fire_these(owner, reservations, false)?;
        match brought.doubt {
            Some(doubt) => Err(doubt.error),
            None => Ok(brought.fired),
        }
    }

    /// As [`JobStore::fire`], and says which of them were left out, or wait, by the policies of their triggers. One whose time
    /// is to come has that as its fire time: whoever fires it so early begins its job then.
    ///
    /// If it cannot be found out what became of it, what was fired is the answer's
    /// [`doubt`](Acquisition::doubt).
    ///
    /// # Errors
    /// As [`JobStore::fire`].
    pub fn fire_reserved(&self, owner: &Owner, reservations: &[Reservation]) -> Result<Acquisition> {
        self.fire_these(owner, reservations, true)
    }

    fn fire_these(&self, owner: &Owner, reservations: &[Reservation], leads: bool) -> Result<Acquisition> {
        if reservations.is_empty() {
            return Ok(Acquisition::default());
        }
        let told = self.retrying_or_doubt(
            "fire triggers",
            TxMode::BesideClaims,
            |s| self.fire_in(s, owner, reservations, leads),
            // If nothing was fired, what was given back is given back again.
            &mut |s, brought| Ok(is_there(s, brought)?.unwrap_or(false)),
        )?;
        Ok(Acquisition::told(told, leads))
    }

    fn fire_in(
        &self,
        s: &mut dyn Session,
        owner: &Owner,
        reservations: &[Reservation],
        leads: bool,
    ) -> Result<Acquisition> {
        let now_ms = s.now_ms()?;
        let first_fence = s.draw_fences(Some(owner), reservations.len())?.ok_or_else(|| fenced(owner))?;
        let ids: Vec<_> = reservations.iter().map(|r| r.fire_id.clone()).collect();
        let held: BTreeSet<String> = s.existing_fired(&ids)?.into_iter().map(|(id, _)| id).collect();
        let keys: Vec<_> = reservations.iter().map(|r| r.trigger.clone()).collect();
        let mut candidates: BTreeMap<TriggerKey, Candidate> =
            s.candidates(&keys)?.into_iter().map(|c| (c.trigger.key.clone(), c)).collect();
        let mut calendars = Calendars::default();
        self.read_calendars(s, &mut calendars, candidates.values().filter_map(|c| c.trigger.calendar.as_deref()))?;

        let beside_quartz = self.is_beside_quartz();
        // What a node of Quartz has reserved after us (it resumed or replaced the trigger) is its to fire.
        let foreign: BTreeSet<TriggerKey> = match beside_quartz {
            true => s.foreign_reservations(&keys)?.into_iter().collect(),
            false => BTreeSet::new(),
        };
        // A job may have been replaced by one of a type that this node does not have.
        let reader = self.reader();
        let mut firing = Firing { leads, ..Firing::new(owner, now_ms, beside_quartz) };
        let mut gate = self.gate(s, &owner.instance, now_ms)?;
        // One whose time is to come begins at it.
        let is_ahead = |reservation: &Reservation| leads && reservation.scheduled_ms > now_ms;
        let mut begun = Vec::new();
        let mut given_back = Vec::new();
        let mut yielded = Vec::new();
        for (fence, reservation) in (first_fence..).zip(reservations) {
            let candidate = candidates.remove(&reservation.trigger).filter(|c| {
                held.contains(&reservation.fire_id)
                    && !foreign.contains(&reservation.trigger)
                    && c.trigger.state == TriggerState::Acquired.name()
                    && reader.has(&c.job.job_type)
                    && c.trigger.next_ms == Some(reservation.scheduled_ms)
            });
            let startable = candidate.filter(|c| firing.may_start(c));
            let firable = startable.and_then(|candidate| self.firable(candidate, &calendars).ok());
            let admitted = firable.filter(|firable| {
                // Its job may have become one that runs on several nodes.
                !is_tick(&firable.job, &firable.trigger.key)
                    && gate.admits(&firable.job, firable.candidate.job.policy.as_deref(), reservation.scheduled_ms)
            });
            match admitted {
                Some(firable) => match pass(&firable, now_ms, now_ms.max(reservation.scheduled_ms)) {
                    Some(passed) => {
                        firing.pass(passed);
                        yielded.push(reservation.fire_id.clone());
                    }
                    None => {
                        gate.begins(firable.job.key.group());
                        firing.fire(firable, fence, is_ahead(reservation));
                        begun.push(reservation.fire_id.clone());
                    }
                },
                None if held.contains(&reservation.fire_id) => match foreign.contains(&reservation.trigger) {
                    false => given_back.push(reservation),
                    true => yielded.push(reservation.fire_id.clone()),
                },
                None => {}
            }
        }

        give_back(s, &given_back)?;
        if !yielded.is_empty() {
            s.delete_fired(&yielded)?;
        }
        firing.write_triggers(s)?;
        let rows: Vec<_> = begun.into_iter().zip(firing.take_rows()).collect();
        if s.begin_executing(&rows)? != rows.len() {
            return Err(overtaken("fire triggers"));
        }
        let overtaken = ids.len() - held.len();
        let mut brought = Acquisition { now_ms, overtaken, ..Acquisition::default() };
        firing.tell_passed(s, &mut brought)?;
        brought.fired = firing.into_bundles();
        self.read_versions(s, brought.fired.iter_mut().map(|bundle| &mut bundle.job))?;
        Ok(brought)
    }
}

/// Deletes the fired rows of reservations and sets their triggers free, as far as they are still acquired.
pub(super) fn give_back(s: &mut dyn Session, reservations: &[&Reservation]) -> Result<()> {
    if reservations.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = reservations.iter().map(|r| r.fire_id.clone()).collect();
    let deleted: BTreeSet<String> = s.delete_fired(&ids)?.into_iter().collect();
    // A reservation whose row is gone was recovered by a peer: its trigger is no longer ours to touch.
    let keys: Vec<_> =
        reservations.iter().filter(|r| deleted.contains(&r.fire_id)).map(|r| r.trigger.clone()).collect();
    if !keys.is_empty() {
        s.change_states(Selection::Triggers(&keys), Transition::Release.moves(), false)?;
    }
    Ok(())
}

/// A trigger that can be fired, and what that takes.
pub(super) struct Firable {
    pub(super) candidate: Candidate,
    pub(super) job: JobDetail,
    pub(super) trigger: Trigger,
    pub(super) calendar: Option<Arc<Calendar>>,
}

/// Collects what a batch of fires writes, so that each table is written once.
pub(super) struct Firing<'a> {
    owner: &'a Owner,
    pub(super) ids: FireIds,
    now_ms: i64,
    /// Whether jobs begin at the times of their triggers, where those are still to come.
    leads: bool,
    /// Whether a trigger that is done keeps its row until its job has ended.
    keeps_rows: bool,
    /// Whether the fires are a batch that is taken ahead.
    leaves_batch: bool,
    bundles: Vec<FireBundle>,
    rows: Vec<FiredRow>,
    advances: Vec<Advance>,
    gone: BTreeMap<TriggerState, Vec<TriggerKey>>,
    gone_with_options: Vec<TriggerKey>,
    passed: Vec<Passed>,
    skipped: Vec<SkippedFires>,
    ahead: Vec<AheadFire>,
    one_at_a_time: BTreeSet<crate::JobKey>,
}

impl<'a> Firing<'a> {
    /// `keeps_rows`: a node of Quartz that recovers a fire removes the job of a one-shot only if the trigger's row is
    /// there to be removed; without it the job would stay for ever.
    pub(super) fn new(owner: &'a Owner, now_ms: i64, keeps_rows: bool) -> Self {
        Self {
            owner,
            ids: FireIds::of(owner),
            now_ms,
            leads: false,
            keeps_rows,
            leaves_batch: false,
            bundles: Vec::new(),
            rows: Vec::new(),
            advances: Vec::new(),
            gone: BTreeMap::new(),
            gone_with_options: Vec::new(),
            passed: Vec::new(),
            skipped: Vec::new(),
            ahead: Vec::new(),
            one_at_a_time: BTreeSet::new(),
        }
    }

    /// Whether it is of a batch that is taken ahead.
    pub(super) fn leaving_batch(self, leaves_batch: bool) -> Self {
        Self { leaves_batch, ..self }
    }

    /// So many fires are to come: vectors that grow would copy them over and over.
    pub(super) fn expect(&mut self, fires: usize) {
        self.bundles.reserve(fires);
        self.rows.reserve(fires);
    }

    /// Whether the job is free, in the store and in this batch.
    pub(super) fn may_start(&self, candidate: &Candidate) -> bool {
        !candidate.job.nonconcurrent
            || (!candidate.job_is_executing && !self.one_at_a_time.contains(&candidate.job.key))
    }

    /// Notes a trigger that moves on, or waits, without a fire.
    pub(super) fn pass(&mut self, passed: Passed) {
        self.advances.push(passed.advance.clone());
        self.passed.push(passed);
    }

    /// Says what became of those that did not fire, once everything is written.
    pub(super) fn tell_passed(&mut self, s: &mut dyn Session, brought: &mut Acquisition) -> Result<()> {
        brought.skipped.append(&mut self.skipped);
        super::overlap::tell(s, std::mem::take(&mut self.passed), brought)
    }

    /// Notes a fire. One that is taken `ahead` begins later, and leaves what its trigger was.
    pub(super) fn fire(&mut self, firable: Firable, fence: i64, ahead: bool) {
        let Firable { candidate, job, mut trigger, calendar } = firable;
        let scheduled_ms = trigger.next_ms.unwrap_or(self.now_ms);
        let fired_ms = if self.leads { self.now_ms.max(scheduled_ms) } else { self.now_ms };
        let previous_ms = trigger.previous_ms;
        let mut removed = false;
        let from = TriggerState::from_name(&candidate.trigger.state).unwrap_or(TriggerState::Waiting);
        // The recovery row goes with the trigger's, and says where the checkpoint is.
        // Who declares a fire failed has nothing but its rows to try it again with.
        let is_retried = job.policy().retry_policy().is_some();
        // Recovery reads the trigger's data from its row, or from what a batch leaves.
        let is_recovered = job.requests_recovery && !(self.leaves_batch && job.policy().is_default());
        let is_needed = is_recovered || is_retried || candidate.recovery.is_some();
        let keeps_row = self.keeps_rows || is_needed || ahead && !may_go(&candidate.trigger);
        let (after, left_out) = firing::fire(&mut trigger, &job, calendar.as_deref(), keeps_row, fired_ms);
        if let Some((first_ms, times)) = left_out {
            self.skipped.push(skipped(&trigger, first_ms, times, SkipReason::Overlap));
        }
        match after {
            AfterFire::Goes => {
                removed = true;
                if candidate.trigger.options.is_some() {
                    self.gone_with_options.push(trigger.key.clone());
                }
                self.gone.entry(from).or_default().push(trigger.key.clone());
            }
            AfterFire::Stays(state) => self.advances.push(Advance {
                key: trigger.key.clone(),
                expected_state: from,
                expected_next_ms: Some(scheduled_ms),
                state,
                next_ms: trigger.next_ms,
                previous_ms: trigger.previous_ms,
                start_ms: trigger.start_ms,
                counts: counts(&trigger.schedule).filter(|_| trigger.next_ms.is_some()),
            }),
        }
        if job.disallow_concurrent_execution {
            self.one_at_a_time.insert(job.key.clone());
        }
        if ahead {
            self.ahead.push(left_ahead(&candidate.trigger, fence, trigger.next_ms, removed));
        }
        let fire_id = self.ids.with(fence);
        self.rows.push(FiredRow {
            fire_id: fire_id.clone(),
            trigger: trigger.key.clone(),
            instance: self.owner.instance.clone(),
            fired_ms,
            scheduled_ms,
            priority: trigger.priority,
            state: FiredState::Executing,
            job: Some(job.key.clone()),
            nonconcurrent: job.disallow_concurrent_execution,
            requests_recovery: job.requests_recovery,
        });
        let recovering = recovering(&candidate, &trigger);
        self.bundles.push(FireBundle {
            fire_id,
            fence,
            removed,
            ahead,
            followed: candidate.job_is_followed,
            rerun: Rerun::of(&candidate, recovering.as_ref()),
            recovering,
            job,
            trigger,
            calendar,
            scheduled_ms,
            fired_ms,
            previous_ms,
        });
    }

    /// Notes a trigger whose fire is spread over several nodes: it moves on as if it fired.
    pub(super) fn spread(&mut self, firable: Firable) -> Tick {
        let Firable { candidate, job, mut trigger, calendar } = firable;
        let scheduled_ms = trigger.next_ms.unwrap_or(self.now_ms);
        let from = TriggerState::from_name(&candidate.trigger.state).unwrap_or(TriggerState::Waiting);
        if let Some((first_ms, times)) = firing::move_on(&mut trigger, calendar.as_deref(), self.now_ms) {
            self.skipped.push(skipped(&trigger, first_ms, times, SkipReason::Overlap));
        }
        let is_last = trigger.next_ms.is_none();
        if is_last {
            if candidate.trigger.options.is_some() {
                self.gone_with_options.push(trigger.key.clone());
            }
            self.gone.entry(from).or_default().push(trigger.key.clone());
        } else {
            self.advances.push(Advance {
                key: trigger.key.clone(),
                expected_state: from,
                expected_next_ms: Some(scheduled_ms),
                state: TriggerState::Waiting,
                next_ms: trigger.next_ms,
                previous_ms: trigger.previous_ms,
                start_ms: trigger.start_ms,
                counts: counts(&trigger.schedule),
            });
        }
        Tick { trigger, job, scheduled_ms, is_last }
    }

    /// Writes the triggers, and these rows of fires and reservations.
    pub(super) fn write(&self, s: &mut dyn Session, rows: Vec<FiredRow>) -> Result<()> {
        // Nearly always they come from one state.
        let Some((from, keys)) = self.gone.first_key_value().filter(|_| self.gone.len() == 1 && !rows.is_empty())
        else {
            self.write_triggers(s)?;
            return if rows.is_empty() { Ok(()) } else { s.insert_fired(rows) };
        };
        self.write_advances(s)?;
        if s.begin_last_fires(keys, *from, rows)? != keys.len() {
            return Err(overtaken("fire triggers"));
        }
        self.write_rest(s)
    }

    /// Writes the triggers: those that stay move on, those that are done go, siblings of one-at-a-time jobs block.
    pub(super) fn write_triggers(&self, s: &mut dyn Session) -> Result<()> {
        self.write_advances(s)?;
        for (from, keys) in &self.gone {
            if s.delete_triggers(keys, Some(*from))? != keys.len() {
                return Err(overtaken("fire triggers"));
            }
        }
        self.write_rest(s)
    }

    fn write_advances(&self, s: &mut dyn Session) -> Result<()> {
        if !self.advances.is_empty() && s.advance(&self.advances)? != self.advances.len() {
            return Err(overtaken("fire triggers"));
        }
        Ok(())
    }

    fn write_rest(&self, s: &mut dyn Session) -> Result<()> {
        if !self.ahead.is_empty() {
            s.insert_ahead(&self.owner.instance, &self.ahead)?;
        }
        if !self.gone_with_options.is_empty() {
            s.delete_options(&self.gone_with_options)?;
        }
        if !self.one_at_a_time.is_empty() {
            let jobs: Vec<_> = self.one_at_a_time.iter().cloned().collect();
            s.change_states(Selection::Jobs(&jobs), Transition::Block.moves(), false)?;
        }
        Ok(())
    }

    pub(super) fn take_rows(&mut self) -> Vec<FiredRow> {
        std::mem::take(&mut self.rows)
    }

    pub(super) fn into_bundles(self) -> Vec<FireBundle> {
        self.bundles
    }
}

/// What a recovery trigger, or one that was revived, says of the fire it stands for: its data keys, which Java nodes write
/// too, and our side row.
fn recovering(candidate: &Candidate, trigger: &Trigger) -> Option<Recovering> {
    let side = candidate.recovery.as_ref();
    if [RETRY_GROUP, INTERRUPTED_GROUP, CONTINUED_GROUP].contains(&trigger.key.group()) {
        return None;
    }
    if trigger.key.group() != crate::RECOVERY_GROUP {
        // One that was made due again in place.
        return side.map(|side| Recovering {
            trigger: trigger.key.clone(),
            fired_ms: side.original_scheduled_ms,
            scheduled_ms: side.original_scheduled_ms,
            root_fire_id: Some(side.root_fire_id.clone()),
            attempt: side.attempt,
        });
    }
    let text = |key| trigger.data.text(key);
    Some(Recovering {
        trigger: TriggerKey::new(text(recovery_keys::GROUP)?, text(recovery_keys::NAME)?),
        fired_ms: text(recovery_keys::FIRED_MS)?.parse().ok()?,
        scheduled_ms: text(recovery_keys::SCHEDULED_MS)?.parse().ok()?,
        root_fire_id: side.map(|r| r.root_fire_id.clone()),
        attempt: side.map_or(1, |r| r.attempt),
    })
}
