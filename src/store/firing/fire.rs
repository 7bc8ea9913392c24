//! Fire: triggers whose time has come begin to execute.

use super::acquire::fenced;
use super::{FireBundle, Recovering, Reservation};
use crate::error::Result;
use crate::job::JobDetail;
use crate::key::TriggerKey;
use crate::rules::firing::{self, AfterFire};
use crate::store::row::{Advance, Candidate, FiredRow, FiredState, Selection};
use crate::store::schedule_row::counts;
use crate::store::transaction::overtaken;
use crate::store::upkeep::recovery_keys;
use crate::store::{Begin, JobStore, Lock, Owner, Session};
use crate::trigger::{Transition, Trigger, TriggerState};
use std::collections::{BTreeMap, BTreeSet};

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
        if reservations.is_empty() {
            return Ok(Vec::new());
        }
        self.retrying(
            "fire triggers",
            Begin::Locking(Lock::TriggerAccess),
            |s| self.fire_in(s, owner, reservations),
            &mut |s, bundles| match bundles.first() {
                Some(bundle) => Ok(!s.existing_fired(std::slice::from_ref(&bundle.fire_id))?.is_empty()),
                // Nothing was fired; what was given back is given back again.
                None => Ok(false),
            },
        )
    }

    fn fire_in(&self, s: &mut dyn Session, owner: &Owner, reservations: &[Reservation]) -> Result<Vec<FireBundle>> {
        let now_ms = s.now_ms()?;
        let first_fence = s.draw_fences(Some(owner), reservations.len())?.ok_or_else(|| fenced(owner))?;
        let ids: Vec<_> = reservations.iter().map(|r| r.fire_id.clone()).collect();
        let held: BTreeSet<String> = s.existing_fired(&ids)?.into_iter().map(|(id, _)| id).collect();
        let keys: Vec<_> = reservations.iter().map(|r| r.trigger.clone()).collect();
        let mut candidates: BTreeMap<TriggerKey, Candidate> =
            s.candidates(&keys)?.into_iter().map(|c| (c.trigger.key.clone(), c)).collect();

        let mut firing = Firing::new(owner, now_ms);
        let mut begun = Vec::new();
        let mut given_back = Vec::new();
        for (fence, reservation) in (first_fence..).zip(reservations) {
            let candidate = candidates.remove(&reservation.trigger).filter(|c| {
                held.contains(&reservation.fire_id)
                    && c.trigger.state == TriggerState::Acquired.name()
                    && c.trigger.next_ms == Some(reservation.scheduled_ms)
            });
            let startable =
                candidate.filter(|c| firing.may_start(c)).and_then(|c| self.firable(&c).ok().map(|(j, t)| (c, j, t)));
            match startable {
                Some((candidate, job, mut trigger)) => {
                    firing.fire(&candidate, job, &mut trigger, fence);
                    begun.push(reservation.fire_id.clone());
                }
                None if held.contains(&reservation.fire_id) => given_back.push(reservation),
                None => {}
            }
        }

        give_back(s, &given_back)?;
        firing.write_triggers(s)?;
        let rows: Vec<_> = begun.into_iter().zip(firing.take_rows()).collect();
        if s.begin_executing(&rows)? != rows.len() {
            return Err(overtaken("fire triggers"));
        }
        Ok(firing.into_bundles())
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

/// `<hash of the instance>-<incarnation>-<fence>`: of bounded length, never used twice, and carrying its own fence.
pub(super) fn fire_id(owner: &Owner, fence: i64) -> String {
    // FNV-1a: for people who look for all fires of one instance, not for safety.
    let hash = owner.instance.bytes().fold(0x811c_9dc5_u32, |h, b| (h ^ u32::from(b)).wrapping_mul(0x0100_0193));
    format!("{hash:08x}-{}-{fence}", owner.incarnation)
}

/// Collects what a batch of fires writes, so that each table is written once.
pub(super) struct Firing<'a> {
    owner: &'a Owner,
    now_ms: i64,
    bundles: Vec<FireBundle>,
    rows: Vec<FiredRow>,
    advances: Vec<Advance>,
    gone: BTreeMap<TriggerState, Vec<TriggerKey>>,
    one_at_a_time: BTreeSet<crate::JobKey>,
}

impl<'a> Firing<'a> {
    pub(super) fn new(owner: &'a Owner, now_ms: i64) -> Self {
        Self {
            owner,
            now_ms,
            bundles: Vec::new(),
            rows: Vec::new(),
            advances: Vec::new(),
            gone: BTreeMap::new(),
            one_at_a_time: BTreeSet::new(),
        }
    }

    /// Whether the job is free, in the store and in this batch.
    pub(super) fn may_start(&self, candidate: &Candidate) -> bool {
        !candidate.job.nonconcurrent
            || (!candidate.job_is_executing && !self.one_at_a_time.contains(&candidate.job.key))
    }

    pub(super) fn fire(&mut self, candidate: &Candidate, job: JobDetail, trigger: &mut Trigger, fence: i64) {
        let scheduled_ms = trigger.next_ms.unwrap_or(self.now_ms);
        let previous_ms = trigger.previous_ms;
        let from = TriggerState::from_name(&candidate.trigger.state).unwrap_or(TriggerState::Waiting);
        match firing::fire(trigger, &job, self.now_ms) {
            AfterFire::Goes => self.gone.entry(from).or_default().push(trigger.key.clone()),
            AfterFire::Stays(state) => self.advances.push(Advance {
                key: trigger.key.clone(),
                expected_state: from,
                expected_next_ms: scheduled_ms,
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
        let fire_id = fire_id(self.owner, fence);
        self.rows.push(FiredRow {
            fire_id: fire_id.clone(),
            trigger: trigger.key.clone(),
            instance: self.owner.instance.clone(),
            fired_ms: self.now_ms,
            scheduled_ms,
            priority: trigger.priority,
            state: FiredState::Executing,
            job: Some(job.key.clone()),
            nonconcurrent: job.disallow_concurrent_execution,
            requests_recovery: job.requests_recovery,
        });
        self.bundles.push(FireBundle {
            fire_id,
            fence,
            removed: trigger.next_ms.is_none() && !job.requests_recovery,
            recovering: recovering(candidate, trigger),
            job,
            trigger: trigger.clone(),
            scheduled_ms,
            fired_ms: self.now_ms,
            previous_ms,
        });
    }

    /// Writes the triggers: those that stay move on, those that are done go, siblings of one-at-a-time jobs block.
    pub(super) fn write_triggers(&self, s: &mut dyn Session) -> Result<()> {
        if !self.advances.is_empty() && s.advance(&self.advances)? != self.advances.len() {
            return Err(overtaken("fire triggers"));
        }
        for (from, keys) in &self.gone {
            if s.delete_triggers(keys, Some(*from))? != keys.len() {
                return Err(overtaken("fire triggers"));
            }
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

/// What a recovery trigger says of the fire it stands for: its data keys, which Java nodes write too, and our side row.
fn recovering(candidate: &Candidate, trigger: &Trigger) -> Option<Recovering> {
    if trigger.key.group() != crate::RECOVERY_GROUP {
        return None;
    }
    let text = |key| trigger.data.text(key);
    let side = candidate.recovery.as_ref();
    Some(Recovering {
        trigger: TriggerKey::new(text(recovery_keys::GROUP)?, text(recovery_keys::NAME)?),
        fired_ms: text(recovery_keys::FIRED_MS)?.parse().ok()?,
        scheduled_ms: text(recovery_keys::SCHEDULED_MS)?.parse().ok()?,
        root_fire_id: side.map(|r| r.root_fire_id.clone()),
        attempt: side.map_or(1, |r| r.attempt),
    })
}
