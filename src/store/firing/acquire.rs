//! Acquire: take due triggers, fire what is due now, reserve what is due soon.

use super::choosing::Pages;
use super::claim::{Among, still_free};
use super::firable::Firable;
use super::{AcquireRequest, Acquisition, Reservation};
use crate::epoch::millis;
use crate::error::{Error, Result};
use crate::job::JobDetail;
use crate::key::{JobKey, distinct};
use crate::rules::strategy::is_tick;
use crate::settings::PollingStrategy;
use crate::store::calendars::Calendars;
use crate::store::row::{
    Candidate, Exclusions, FiredRow, FiredSelection, FiredState, InstanceSelection, PollResult, Selection,
};
use crate::store::transaction::fenced;
use crate::store::{Firing, Owner, Session, TxMode};
use crate::trigger::{Overlap, Policies, Transition, Trigger};
use std::collections::BTreeSet;
use std::time::Duration;

impl Firing<'_> {
    /// Notes a time of the store, and gives it back.
    pub(super) fn note_time(&self, now_ms: i64) -> i64 {
        self.node.note_time(now_ms, self.store.clock.ticks())
    }

    /// The poll of a node: what is due within `horizon` from now, and whether others have changed
    /// something. Without a horizon the poll goes through what is due later too. Reservations of
    /// others are those that `instance` has not. One statement, without a lock and without a
    /// transaction; more only where something keeps nodes from work.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn poll(&self, horizon: Option<Duration>, instance: &str, job_types: &[String]) -> Result<PollResult> {
        let horizon_ms = horizon.map(millis);
        let threshold_ms = millis(self.store.settings.job_store.misfire_threshold);
        self.store.glance("look for due triggers", |s| {
            let versions = &self.node.types.read().reader().versions;
            if self.node.is_open() {
                let poll = s.poll(instance, horizon_ms, threshold_ms, job_types, versions, &Exclusions::default())?;
                self.note_time(poll.now_ms);
                return Ok(poll);
            }
            let now_ms = self.note_time(s.now_ms()?);
            let admission = self.node.admission_filter(s, "", now_ms)?;
            let poll = s.poll(instance, horizon_ms, threshold_ms, job_types, versions, &admission.excluded)?;
            Ok(if admission.is_shut { PollResult { earliest_ms: None, reserved_ms: None, ..poll } } else { poll })
        })
    }

    /// The reservations of these that are there no longer: their triggers were paused, replaced or
    /// deleted.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn lost_reservations(&self, reservations: &[Reservation]) -> Result<BTreeSet<String>> {
        let ids: Vec<String> = reservations.iter().map(|reservation| reservation.fire_id.clone()).collect();
        let held = self.store.glance("look after reservations", |s| s.fired_ids(FiredSelection::Ids(&ids)))?;
        Ok(ids.into_iter().filter(|id| !held.contains(id)).collect())
    }

    /// Takes due triggers: those due now are fired, those due within the look-ahead are reserved.
    ///
    /// The acquisition is a transaction under `TRIGGER_ACCESS`, unless the [`PollingStrategy`] is
    /// another than the default. The transaction draws its fences only if `owner` is still
    /// registered, so that a node that was declared dead cannot take anything. If the commit's
    /// answer is lost, the fired rows tell; if they cannot be asked for, what was taken is the
    /// answer's [`doubt`](Acquisition::doubt).
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered under this incarnation:
    /// it was declared dead.
    pub fn acquire(&self, owner: &Owner, request: &AcquireRequest<'_>) -> Result<Acquisition> {
        // If the database does not say what it can do, the lock is right on any of them.
        if self.store.polling_strategy().unwrap_or_default() == PollingStrategy::LockAndFetch {
            return self.acquire_by_claims(owner, request);
        }
        let backlog = self.backlog(request)?;
        let acquisition = self.acquiring("acquire triggers", TxMode::BesideClaims, &mut |s| {
            self.acquire_in_session(s, owner, request, Among::of(backlog.as_ref()))
        })?;
        self.note_acquired(backlog, request.max, &acquisition);
        Ok(acquisition)
    }

    /// Acquires by one transaction; one that has taken nothing counts as committed.
    pub(super) fn acquiring(
        &self,
        purpose: &'static str,
        mode: TxMode,
        work: &mut dyn FnMut(&mut dyn Session) -> Result<Acquisition>,
    ) -> Result<Acquisition> {
        let happened: &mut dyn FnMut(&mut dyn Session, &Acquisition) -> Result<bool> =
            &mut |s, acquisition| Ok(self.is_there(s, acquisition)?.unwrap_or(true));
        Ok(Acquisition::of(self.store.retrying_or_doubt(purpose, mode, work, happened)?, false))
    }

    /// Takes due triggers under the lock.
    pub(super) fn acquire_in_session(
        &self,
        s: &mut dyn Session,
        owner: &Owner,
        request: &AcquireRequest<'_>,
        among: Among<'_>,
    ) -> Result<Acquisition> {
        let now_ms = self.note_time(s.now_ms()?);
        let mut acquisition = Acquisition { now_ms, ..Acquisition::default() };
        let mut admission = self.node.admission_filter(s, &owner.instance, now_ms)?;
        if admission.is_shut {
            return Ok(acquisition);
        }
        let free;
        let pages = match among {
            Among::All => Pages::Search,
            Among::InOrder(keys) => Pages::InOrder(keys),
            Among::Seen(seen) => {
                free = still_free(s, seen)?;
                Pages::Keys(&free)
            }
        };
        let (chosen, deferred) = self.choose(s, &mut admission, now_ms, request, pages, &mut acquisition)?;
        let (ticks, chosen) = ticks_of(chosen);
        let mut taken = self.leave_unreserved(chosen, now_ms, request.fire_ahead_ms, &mut acquisition);
        self.read_versions(s, taken.iter_mut().map(|firable| &mut firable.job))?;
        if taken.is_empty() && deferred.is_empty() && ticks.is_empty() {
            return Ok(acquisition);
        }
        let first_fence = s.draw_fences(Some(owner), taken.len())?.ok_or_else(|| fenced(owner))?;

        // Nobody takes over from the only node of a store that ends with its process: fires that it
        // has prefetched need no rows. Should a node join later, it takes these fires for begun.
        let outlives_process = self.store.database().outlives_process();
        let prefetches =
            request.prefetch.is_some() && (outlives_process || s.instances(InstanceSelection::All)?.len() > 1);
        let mut batch = self.batch(owner, now_ms);
        batch.leaves_batch = prefetches;
        deferred.into_iter().for_each(|deferred| batch.defer(deferred));
        let fan_out = self.decide_parts(s, &mut batch, ticks, now_ms, &mut acquisition.unreadable)?;
        let mut reserved = Vec::new();
        batch.expect(taken.len());
        for (fence, firable) in (first_fence..).zip(taken) {
            let scheduled_ms = firable.trigger.next_ms.unwrap_or(now_ms);
            // The trigger's time decides whether a run is in its way, and no moment before that
            // time.
            if fires_now(&firable, now_ms, request.fire_ahead_ms) {
                batch.add_fire(firable, fence, prefetches);
            } else {
                let may_precommit =
                    firable.trigger.policies == Policies::default() && !firable.job.disallow_concurrent_execution;
                let Trigger { key, priority, .. } = firable.trigger;
                let (fire_id, job_type) = (batch.ids.with(fence), firable.job.job_type);
                reserved.push((Reservation { fire_id, trigger: key, job_type, scheduled_ms, may_precommit }, priority));
            }
        }

        let keys: Vec<_> = reserved.iter().map(|(r, _)| r.trigger.clone()).collect();
        if !keys.is_empty()
            && s.change_states(Selection::Triggers(&keys), Transition::Acquire.moves(), false)? != keys.len()
        {
            return Err(Error::overtaken("reserve triggers"));
        }
        let mut rows = std::mem::take(&mut batch.rows);
        rows.extend(reserved.iter().map(|(r, priority)| FiredRow {
            fire_id: r.fire_id.clone(),
            trigger: r.trigger.clone(),
            instance: owner.instance.clone(),
            fired_ms: now_ms,
            scheduled_ms: r.scheduled_ms,
            priority: *priority,
            state: FiredState::Acquired,
            job: None,
            nonconcurrent: false,
            requests_recovery: false,
        }));
        batch.write(s, rows)?;
        fan_out.write(s, &mut acquisition)?;
        batch.report_deferred(s, &mut acquisition)?;

        acquisition.fired = batch.bundles;
        acquisition.reserved = reserved.into_iter().map(|(r, _)| r).collect();
        Ok(acquisition)
    }

    /// Takes out what is due later, beside nodes of Quartz, and within an hour after one.
    ///
    /// A node of Quartz may have reserved the trigger: before it was paused and resumed, or
    /// replaced, or before that node was declared dead. The node learns of the change only when it
    /// would fire the trigger, and only by the trigger's state. Were the trigger `ACQUIRED` again
    /// by then, whoever did it, that node would fire the trigger: twice, or by the schedule that it
    /// had, and would set the trigger back to it (H2). A trigger that is fired when it is due never
    /// is `ACQUIRED`.
    fn leave_unreserved(
        &self,
        mut chosen: Vec<Firable>,
        now_ms: i64,
        ahead_ms: i64,
        acquisition: &mut Acquisition,
    ) -> Vec<Firable> {
        if self.node.may_meet_quartz(self.store.clock.ticks()) {
            let later = |one: &Firable| one.trigger.next_ms.filter(|_| !fires_now(one, now_ms, ahead_ms));
            let earliest_ms = chosen.iter().filter_map(later).min();
            acquisition.unreserved_ms = earliest_ms.into_iter().chain(acquisition.unreserved_ms).min();
            chosen.retain(|one| later(one).is_none());
        }
        chosen
    }

    /// Reads of which versions the data of these jobs are, as far as that makes a difference here.
    /// Most nodes have no type with versions, and ask nothing.
    pub(super) fn read_versions<'a>(
        &self,
        s: &mut dyn Session,
        jobs: impl Iterator<Item = &'a mut JobDetail>,
    ) -> Result<()> {
        let reader = self.node.types.read().reader();
        let versioned: Vec<&mut JobDetail> = jobs.filter(|job| reader.versions.contains_key(job.job_type())).collect();
        if versioned.is_empty() {
            return Ok(());
        }
        let keys: Vec<JobKey> = distinct(versioned.iter().map(|job| &job.key));
        let noted = s.job_versions(&keys)?;
        for job in versioned {
            job.version = self.node.types.read().noted_version(job, &noted);
        }
        Ok(())
    }

    /// Everything that a fire of the candidate needs; its calendar must be at hand.
    pub(super) fn firable(&self, candidate: Candidate, calendars: &Calendars) -> Result<Firable> {
        let mut job = self.store.job_detail(&candidate.job)?;
        self.node.types.read().complete_policy(&mut job);
        Ok(Firable {
            job,
            trigger: self.store.trigger_value(&candidate.trigger)?,
            calendar: calendars.needed_by(&candidate.trigger)?,
            candidate,
        })
    }
}

/// True if the trigger fires, and is not reserved. The trigger's own time decides whether a run is
/// in the way, and no moment before.
fn fires_now(one: &Firable, now_ms: i64, ahead_ms: i64) -> bool {
    let may_meet = one.candidate.trigger_is_executing && one.trigger.overlap() != Overlap::AllowAll;
    let ahead_ms = if may_meet { 0 } else { ahead_ms };
    one.trigger.next_ms.is_none_or(|next_ms| next_ms <= now_ms + ahead_ms)
}

/// Ticks of jobs that run on several nodes, and the others. Mostly there are no ticks, and what is
/// moved is large.
fn ticks_of(chosen: Vec<Firable>) -> (Vec<Firable>, Vec<Firable>) {
    let is_one = |one: &Firable| is_tick(&one.job, &one.trigger.key);
    match chosen.iter().any(is_one) {
        true => chosen.into_iter().partition(is_one),
        false => (Vec::new(), chosen),
    }
}
