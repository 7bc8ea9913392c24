//! Fire: triggers whose time has come begin to execute.

use super::firable::Firable;
use super::fire_batch::FireBatch;
use super::overlap::defer;
use super::{Acquisition, Reservation};
use crate::error::{Error, Result};
use crate::hash::HashMap;
use crate::key::TriggerKey;
use crate::rules::firing::{Missed, is_still_reserved, missed};
use crate::rules::strategy::is_tick;
use crate::store::calendars::Calendars;
use crate::store::placement::AdmissionFilter;
use crate::store::row::{Candidate, CandidateSelection, FiredSelection, Selection};
use crate::store::transaction::fenced;
use crate::store::{Firing, Owner, Session, TxMode};
use crate::trigger::Transition;
use std::collections::BTreeSet;

impl Firing<'_> {
    /// Fires reserved triggers. Triggers that were paused, changed or taken away meanwhile are
    /// given back and missing in the answer; it says which were left out, or wait, by the policies
    /// of their triggers. A fire whose time is to come has that as its fire time: whoever fires so
    /// early begins the job then.
    ///
    /// A reservation stands if its fired row is there and its trigger is still acquired with the
    /// same next fire time (H2). The fired row gets a new id, since a fence must be drawn when the
    /// fire begins, not when it was reserved.
    ///
    /// If it cannot be found out what became of it, what was fired is the answer's
    /// [`doubt`](Acquisition::doubt).
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered under this incarnation.
    pub fn fire(&self, owner: &Owner, reservations: &[Reservation]) -> Result<Acquisition> {
        if reservations.is_empty() {
            return Ok(Acquisition::default());
        }
        let outcome = self.store.retrying_or_doubt(
            "fire triggers",
            TxMode::BesideClaims,
            &mut |s| self.fire_in_session(s, owner, reservations),
            // If nothing was fired, what was given back is given back again.
            &mut |s, acquisition| Ok(self.is_there(s, acquisition)?.unwrap_or(false)),
        )?;
        Ok(Acquisition::of(outcome, true))
    }

    fn fire_in_session(&self, s: &mut dyn Session, owner: &Owner, reservations: &[Reservation]) -> Result<Acquisition> {
        let now_ms = self.note_time(s.now_ms()?);
        let first_fence = s.draw_fences(Some(owner), reservations.len())?.ok_or_else(|| fenced(owner))?;
        let mut reserved = self.read_reserved(s, reservations)?;
        let mut batch = self.batch(owner, now_ms);
        batch.precommits = true;
        let mut admission = self.node.admission_filter(s, &owner.instance, now_ms)?;
        let (mut begun, mut given_back, mut yielded) = (Vec::new(), Vec::new(), Vec::new());
        for (fence, reservation) in (first_fence..).zip(reservations) {
            let id = &reservation.fire_id;
            let Some(firable) = self.admit_reserved(&mut reserved, reservation, &batch, &mut admission) else {
                match missed(reserved.held.contains(id), reserved.foreign.contains(&reservation.trigger)) {
                    Some(Missed::GivenBack) => given_back.push(reservation),
                    Some(Missed::Yielded) => yielded.push(id.clone()),
                    None => {}
                }
                continue;
            };
            if let Some(deferred) = defer(&firable, now_ms, now_ms.max(reservation.scheduled_ms)) {
                batch.defer(deferred);
                yielded.push(id.clone());
            } else {
                admission.begins(firable.job.key.group());
                // A fire whose time is to come begins at it.
                batch.add_fire(firable, fence, reservation.scheduled_ms > now_ms);
                begun.push(id.clone());
            }
        }

        give_back(s, &given_back)?;
        if !yielded.is_empty() {
            s.delete_fired(&yielded, Vec::new())?;
        }
        // Reservations of triggers that are blocked are deleted: those that fire are none by then.
        let rows: Vec<_> = begun.into_iter().zip(std::mem::take(&mut batch.rows)).collect();
        if s.begin_executing(&rows)? != rows.len() {
            return Err(Error::overtaken("fire triggers"));
        }
        batch.write(s, Vec::new())?;
        let overtaken = reservations.len() - reserved.held.len();
        let mut acquisition = Acquisition { now_ms, overtaken, ..Acquisition::default() };
        batch.report_deferred(s, &mut acquisition)?;
        acquisition.fired = batch.bundles;
        self.read_versions(s, acquisition.fired.iter_mut().map(|bundle| &mut bundle.job))?;
        Ok(acquisition)
    }

    fn read_reserved(&self, s: &mut dyn Session, reservations: &[Reservation]) -> Result<Reserved> {
        let ids: Vec<_> = reservations.iter().map(|r| r.fire_id.clone()).collect();
        let held = s.fired_ids(FiredSelection::Ids(&ids))?;
        let keys: Vec<_> = reservations.iter().map(|r| r.trigger.clone()).collect();
        let candidates: HashMap<TriggerKey, Candidate> =
            s.candidates(CandidateSelection::Keys(&keys))?.into_iter().map(|c| (c.trigger.key.clone(), c)).collect();
        let mut calendars = Calendars::default();
        self.store.read_calendars(
            s,
            &mut calendars,
            candidates.values().filter_map(|c| c.trigger.calendar.as_deref()),
        )?;
        let foreign = match self.node.is_beside_quartz() {
            true => s.acquired_by_quartz(&keys)?,
            false => BTreeSet::new(),
        };
        Ok(Reserved { held, candidates, calendars, foreign })
    }

    /// The trigger of a reservation that stands and whose job may begin here; its calendar comes
    /// with it.
    fn admit_reserved(
        &self,
        reserved: &mut Reserved,
        reservation: &Reservation,
        batch: &FireBatch<'_>,
        admission: &mut AdmissionFilter<'_>,
    ) -> Option<Firable> {
        let candidate = reserved.candidates.remove(&reservation.trigger)?;
        let stands = reserved.held.contains(&reservation.fire_id)
            && !reserved.foreign.contains(&reservation.trigger)
            && is_still_reserved(&candidate.trigger, reservation.scheduled_ms);
        // A job may have been replaced by one of a type that this node does not have.
        if !stands || !self.node.types.read().reader().has(&candidate.job.job_type) || !batch.may_start(&candidate) {
            return None;
        }
        let firable = self.firable(candidate, &reserved.calendars).ok()?;
        // The job may have become one that runs on several nodes.
        let is_admitted = !is_tick(&firable.job, &firable.trigger.key)
            && admission.admits(&firable.job, firable.candidate.job.policy.as_deref(), reservation.scheduled_ms);
        is_admitted.then_some(firable)
    }
}

/// The rows of reservations whose time has come.
struct Reserved {
    /// The fired rows that are there.
    held: BTreeSet<String>,
    candidates: HashMap<TriggerKey, Candidate>,
    calendars: Calendars,
    /// Triggers that a node of Quartz has reserved after us: it resumed or replaced them, and they
    /// are its to fire.
    foreign: BTreeSet<TriggerKey>,
}

/// Deletes the fired rows of reservations and sets their triggers free, as far as they are still
/// acquired.
pub(super) fn give_back(s: &mut dyn Session, reservations: &[&Reservation]) -> Result<()> {
    if reservations.is_empty() {
        return Ok(());
    }
    let ids: Vec<_> = reservations.iter().map(|r| r.fire_id.clone()).collect();
    let deleted: BTreeSet<String> = s.delete_fired(&ids, Vec::new())?.into_iter().collect();
    // A reservation whose row is gone was recovered by a peer: its trigger is no longer ours to
    // touch.
    let keys: Vec<_> =
        reservations.iter().filter(|r| deleted.contains(&r.fire_id)).map(|r| r.trigger.clone()).collect();
    if !keys.is_empty() {
        s.change_states(Selection::Triggers(&keys), Transition::Release.moves(), false)?;
    }
    Ok(())
}
