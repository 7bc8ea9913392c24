//! Acquire: take due triggers, fire what is due now, reserve what is due soon.

use super::claim::Again;
use super::doubt::is_there;
use super::fire::{Firable, Firing};
use super::overlap::{Passed, pass};
use super::{AcquireRequest, Acquisition, Reservation};
use crate::error::{Error, Result};
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::acquisition::{Batch, Left, order};
use crate::rules::ahead::Room;
use crate::rules::failover::millis;
use crate::rules::strategy::is_tick;
use crate::settings::PollingStrategy;
use crate::store::calendars::Calendars;
use crate::store::placement::Gate;
use crate::store::row::{Candidate, DueQuery, FiredRow, FiredState, LeftAlone, Look, Selection};
use crate::store::transaction::overtaken;
use crate::store::{JobStore, Owner, Session, TxMode};
use crate::trigger::{Overlap, Policies, Transition, Trigger};
use std::collections::BTreeSet;
use std::time::Duration;

impl AcquireRequest<'_> {
    fn room(&self) -> Room {
        self.ahead.map_or(Room::of_workers(self.max), |ahead| Room {
            free: ahead.free.min(self.max),
            ahead: self.max.saturating_sub(ahead.free),
            quick: ahead.quick,
        })
    }

    /// Whether the fire may wait for a worker: it begins soon, nobody waits for its end, and as
    /// long as it has not begun it can be taken back.
    fn may_wait(&self, firable: &Firable) -> bool {
        let is_short = || self.ahead.is_some_and(|ahead| ahead.short.contains(&firable.job.job_type));
        !firable.job.disallow_concurrent_execution && firable.trigger.policies == Policies::default() && is_short()
    }
}

/// How many pages of candidates one acquisition looks through before it is content with what it has.
const MAX_PAGES: usize = 20;

impl JobStore {
    /// The store's time, and the earliest time at which there is something to acquire; takes no lock.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn earliest_due(&self, job_types: &[String]) -> Result<(i64, Option<i64>)> {
        self.look(job_types).map(|look| (look.now_ms, look.earliest_ms))
    }

    /// What a node looks at again and again: whether something is due, and whether others have changed something. One
    /// statement, without a lock and without a transaction; more only where something keeps nodes from work.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn look(&self, job_types: &[String]) -> Result<Look> {
        self.look_within(None, "", job_types)
    }

    /// The same, of what is due within `horizon` from now: so it need not go through what is due later and cannot run here.
    /// What others have reserved is what `instance` has not.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn look_within(&self, horizon: Option<Duration>, instance: &str, job_types: &[String]) -> Result<Look> {
        let horizon_ms = horizon.map(millis);
        let threshold_ms = millis(self.settings.misfire_threshold);
        self.glance("look for due triggers", |s| {
            let versions = &self.reader().versions;
            if self.is_open() {
                return s.look(instance, horizon_ms, threshold_ms, job_types, versions, &LeftAlone::default());
            }
            let now_ms = s.now_ms()?;
            let gate = self.gate(s, "", now_ms)?;
            let look = s.look(instance, horizon_ms, threshold_ms, job_types, versions, gate.left())?;
            Ok(if gate.is_shut() { Look { earliest_ms: None, reserved_ms: None, ..look } } else { look })
        })
    }

    /// Those of these reservations that are there no longer: their triggers were paused, replaced or deleted.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn lost_reservations(&self, reservations: &[Reservation]) -> Result<BTreeSet<String>> {
        let ids: Vec<String> = reservations.iter().map(|reservation| reservation.fire_id.clone()).collect();
        let held = self.glance("look after reservations", |s| s.existing_fired(&ids))?;
        let held: BTreeSet<String> = held.into_iter().map(|(id, _)| id).collect();
        Ok(ids.into_iter().filter(|id| !held.contains(id)).collect())
    }

    /// Takes due triggers: those due now are fired, those due within the look-ahead are reserved.
    ///
    /// One transaction under `TRIGGER_ACCESS`, unless the [`PollingStrategy`] is another than the
    /// default. It draws its fences only if `owner` is still registered, so that a node that was
    /// declared dead cannot take anything. If the commit's answer is lost, the fired rows tell; if
    /// they cannot be asked for, what was taken is the answer's [`doubt`](Acquisition::doubt).
    ///
    /// # Errors
    /// [`Error::Fenced`] if `owner` is not registered under this incarnation: it was declared dead.
    pub fn acquire(&self, owner: &Owner, request: &AcquireRequest<'_>) -> Result<Acquisition> {
        // If the database does not say what it can do, the lock is right on any of them.
        match self.polling_strategy().unwrap_or_default() {
            PollingStrategy::Lock => self.take(owner, request, None),
            PollingStrategy::Fetch => self.fetch(owner, request, false),
            PollingStrategy::LockAndFetch => self.fetch(owner, request, true),
        }
    }

    /// Takes due triggers under the lock; of those that were seen before, if that was looked for.
    pub(super) fn take(
        &self,
        owner: &Owner,
        request: &AcquireRequest<'_>,
        seen: Option<&Again<'_>>,
    ) -> Result<Acquisition> {
        let told = self.retrying_or_doubt(
            "acquire triggers",
            TxMode::BesideClaims,
            |s| self.acquire_in(s, owner, request, seen),
            &mut |s, brought| Ok(is_there(s, brought)?.unwrap_or(true)),
        )?;
        Ok(Acquisition::told(told, false))
    }

    pub(super) fn acquire_in(
        &self,
        s: &mut dyn Session,
        owner: &Owner,
        request: &AcquireRequest<'_>,
        seen: Option<&Again<'_>>,
    ) -> Result<Acquisition> {
        let now_ms = s.now_ms()?;
        let mut acquisition = Acquisition { now_ms, ..Acquisition::default() };
        let mut gate = self.gate(s, &owner.instance, now_ms)?;
        if gate.is_shut() {
            return Ok(acquisition);
        }
        let among = seen.map(|again| again.keys(s)).transpose()?;
        let (chosen, passed) = self.choose(s, &mut gate, now_ms, request, among.as_deref(), &mut acquisition)?;
        let (ticks, chosen) = ticks_of(chosen);
        let mut taken = self.leave_unreserved(s, chosen, now_ms + request.fire_ahead_ms, &mut acquisition)?;
        self.read_versions(s, taken.iter_mut().map(|firable| &mut firable.job))?;
        if taken.is_empty() && passed.is_empty() && ticks.is_empty() {
            return Ok(acquisition);
        }
        let first_fence = s.draw_fences(Some(owner), taken.len())?.ok_or_else(|| fenced(owner))?;

        let firing = Firing::new(owner, now_ms, self.is_beside_quartz());
        let mut firing = firing.leaving_batch(request.ahead.is_some());
        passed.into_iter().for_each(|passed| firing.pass(passed));
        let spread = self.decide_parts(s, &mut firing, ticks, now_ms, &mut acquisition.unreadable)?;
        let mut reserved = Vec::new();
        firing.expect(taken.len());
        for (fence, firable) in (first_fence..).zip(taken) {
            let scheduled_ms = firable.trigger.next_ms.unwrap_or(now_ms);
            // Whether a run is in its way is asked at its own time, and not ahead of it.
            let may_meet = firable.candidate.trigger_is_executing && firable.trigger.overlap() != Overlap::AllowAll;
            let in_time = may_meet && scheduled_ms > now_ms;
            if scheduled_ms <= now_ms + request.fire_ahead_ms && !in_time {
                firing.fire(firable, fence, request.ahead.is_some());
            } else {
                let may_lead =
                    firable.trigger.policies == Policies::default() && !firable.job.disallow_concurrent_execution;
                let Trigger { key, priority, .. } = firable.trigger;
                let (fire_id, job_type) = (firing.ids.with(fence), firable.job.job_type);
                reserved.push((Reservation { fire_id, trigger: key, job_type, scheduled_ms, may_lead }, priority));
            }
        }

        let keys: Vec<_> = reserved.iter().map(|(r, _)| r.trigger.clone()).collect();
        if !keys.is_empty()
            && s.change_states(Selection::Triggers(&keys), Transition::Acquire.moves(), false)? != keys.len()
        {
            return Err(overtaken("reserve triggers"));
        }
        let mut rows = firing.take_rows();
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
        firing.write(s, rows)?;
        spread.write(s, &mut acquisition)?;
        firing.tell_passed(s, &mut acquisition)?;

        acquisition.fired = firing.into_bundles();
        acquisition.reserved = reserved.into_iter().map(|(r, _)| r).collect();
        Ok(acquisition)
    }

    /// Takes out what may not be reserved: triggers that a node of Quartz has reserved as well.
    ///
    /// Such a trigger was paused and resumed, or replaced, after that node took it. It finds out only when it would fire
    /// it, and only by the trigger's state: were it `ACQUIRED` again by then, whoever did it, it would fire it, twice or
    /// by the schedule it has no longer (H2). Fired when it is due, it never is.
    fn leave_unreserved(
        &self,
        s: &mut dyn Session,
        mut chosen: Vec<Firable>,
        due_ms: i64,
        acquisition: &mut Acquisition,
    ) -> Result<Vec<Firable>> {
        let later = |one: &Firable| one.trigger.next_ms.is_some_and(|next_ms| next_ms > due_ms);
        if !self.is_beside_quartz() || !chosen.iter().any(later) {
            return Ok(chosen);
        }
        let keys: Vec<_> = chosen.iter().filter(|one| later(one)).map(|one| one.trigger.key.clone()).collect();
        let held: BTreeSet<TriggerKey> = s.foreign_reservations(&keys)?.into_iter().collect();
        let left = |one: &Firable| later(one) && held.contains(&one.trigger.key);
        let earliest_ms = chosen.iter().filter(|one| left(one)).filter_map(|one| one.trigger.next_ms).min();
        acquisition.unreserved_ms = earliest_ms.into_iter().chain(acquisition.unreserved_ms).min();
        chosen.retain(|one| !left(one));
        Ok(chosen)
    }

    /// Reads candidates page by page until the batch is full: a page may hold nothing but triggers of one job that may
    /// run only once at a time, or triggers that nobody can read. What is due and may not fire by a policy of its own is
    /// passed over.
    pub(super) fn choose(
        &self,
        s: &mut dyn Session,
        gate: &mut Gate<'_>,
        now_ms: i64,
        request: &AcquireRequest<'_>,
        among: Option<&[TriggerKey]>,
        acquisition: &mut Acquisition,
    ) -> Result<(Vec<Firable>, Vec<Passed>)> {
        let mut calendars = Calendars::default();
        let mut batch = Batch::new(request.room(), request.quarantined);
        let (mut taken, mut passed) = (Vec::new(), Vec::new());
        let limit = among.map_or(request.max, <[_]>::len).max(1);
        let reader = self.reader();
        let mut seen = 0;
        for page in 0..among.map_or(MAX_PAGES, |_| 1) {
            // What waits for a free worker is not to be read again and again.
            if batch.is_full() || acquisition.withheld > 0 {
                break;
            }
            let mut candidates = s.due(&DueQuery {
                among,
                order: self.trigger_order(),
                now_ms,
                no_later_than_ms: now_ms.saturating_add(request.look_ahead_ms.max(request.fire_ahead_ms)),
                misfired_before_ms: self.misfired_before(now_ms),
                job_types: request.job_types,
                versions: &reader.versions,
                left: gate.left(),
                limit,
                offset: seen - gate.hidden().min(seen),
            })?;
            let found = candidates.len();
            seen += found;
            // They are large: a vector that grows would copy them over and over.
            taken.reserve(found);
            if page > 0 {
                // Read one after the other, while others fire triggers and move them on: one may be in two pages.
                let earlier = taken.iter().map(|one: &Firable| &one.trigger.key);
                let earlier = earlier.chain(passed.iter().map(|one: &Passed| &one.advance.key));
                let earlier: BTreeSet<&TriggerKey> =
                    earlier.chain(acquisition.unreadable.iter().map(|(key, _)| key)).collect();
                candidates.retain(|candidate| !earlier.contains(&candidate.trigger.key));
            }
            // Among equals a database has an order of its own.
            candidates.sort_by(|a, b| order(self.trigger_order(), now_ms, &a.trigger, &b.trigger));
            let names = candidates.iter().filter_map(|candidate| candidate.trigger.calendar.as_deref());
            self.read_calendars(s, &mut calendars, names)?;
            for candidate in candidates {
                let key = candidate.trigger.key.clone();
                gate.sees(candidate.job.key.group());
                if !gate.admits_part(&key) {
                    continue;
                }
                match self.firable(candidate, &calendars) {
                    Ok(firable) => {
                        let due_ms = firable.trigger.next_ms.unwrap_or(now_ms);
                        let policy = firable.candidate.job.policy.as_deref();
                        if !gate.admits_tick(&firable.job, policy, &key) || !gate.admits(&firable.job, policy, due_ms) {
                            continue;
                        }
                        let group = firable.job.key.group();
                        let is_unreserved = gate.is_limited(group) || is_tick(&firable.job, &key);
                        if due_ms > now_ms.saturating_add(request.fire_ahead_ms) && is_unreserved {
                            acquisition.unreserved_ms =
                                acquisition.unreserved_ms.map_or(Some(due_ms), |ms| Some(ms.min(due_ms)));
                        } else if let Some(one) = pass(&firable, now_ms, now_ms) {
                            passed.push(one);
                        } else {
                            match batch.takes(&firable.candidate, request.may_wait(&firable)) {
                                Ok(_) => {
                                    gate.begins(group);
                                    taken.push(firable);
                                }
                                Err(Left::ForAWorker) => acquisition.withheld += 1,
                                Err(Left::ForGood) => {}
                            }
                        }
                    }
                    Err(error) if request.quarantined.contains(&key) => drop(error),
                    Err(error) => acquisition.unreadable.push((key, error.to_string())),
                }
            }
            if found < limit {
                break;
            }
        }
        Ok((taken, passed))
    }

    /// Reads of which versions the data of these jobs are, as far as that makes a difference here. Most nodes have no type
    /// with versions, and ask nothing.
    pub(super) fn read_versions<'a>(
        &self,
        s: &mut dyn Session,
        jobs: impl Iterator<Item = &'a mut JobDetail>,
    ) -> Result<()> {
        let reader = self.reader();
        let versioned: Vec<&mut JobDetail> = jobs.filter(|job| reader.versions.contains_key(&job.job_type)).collect();
        if versioned.is_empty() {
            return Ok(());
        }
        let keys: Vec<JobKey> = distinct(versioned.iter().map(|job| &job.key));
        let noted = s.job_versions(&keys)?;
        for job in versioned {
            job.version = self.noted_version(job, &noted);
        }
        Ok(())
    }

    /// Everything that a fire of the candidate needs; its calendar must be at hand.
    pub(super) fn firable(&self, candidate: Candidate, calendars: &Calendars) -> Result<Firable> {
        Ok(Firable {
            job: self.job_detail(&candidate.job)?,
            trigger: self.trigger_value(&candidate.trigger)?,
            calendar: calendars.needed_by(&candidate.trigger)?,
            candidate,
        })
    }

    pub(in crate::store) fn misfired_before(&self, now_ms: i64) -> i64 {
        now_ms.saturating_sub(i64::try_from(self.settings.misfire_threshold.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Those that are ticks of jobs that run on several nodes, and the others. Mostly there are none, and what is moved is large.
fn ticks_of(chosen: Vec<Firable>) -> (Vec<Firable>, Vec<Firable>) {
    let is_one = |one: &Firable| is_tick(&one.job, &one.trigger.key);
    match chosen.iter().any(is_one) {
        true => chosen.into_iter().partition(is_one),
        false => (Vec::new(), chosen),
    }
}

pub(in crate::store) fn fenced(owner: &Owner) -> Error {
    Error::Fenced {
        subject: format!("instance `{}`", owner.instance),
        reason: "it is not registered under its incarnation: another node declared it dead, or took its name"
            .to_owned(),
    }
}
