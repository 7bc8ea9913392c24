//! `FireBatch`: what a batch of fires writes, collected so that each table is written once.

use super::firable::{DueTick, Firable};
use super::fire_ids::FireIds;
use super::overlap::{Deferred, report};
use super::prefetch::{may_go, prefetched_fire};
use super::skipped::skipped;
use super::{Acquisition, FireBundle, Recovering, Rerun, SkipReason, SkippedFires};
use crate::epoch::moment;
use crate::error::{Error, Result};
use crate::job::traceparent_of;
use crate::key::{RECOVERY_GROUP, TriggerKey};
use crate::rules::firing::{self, AfterFire};
use crate::rules::recovery::recovery_keys;
use crate::rules::strategy::is_rerun;
use crate::store::database::{EndingTrigger, EndingTriggers};
use crate::store::row::{
    Advance, Candidate, FiredRow, FiredState, PrefetchedFire, ReservationSelection, Selection, StoredOptionsRow,
};
use crate::store::{Firing, Owner, Session};
use crate::trigger::{Schedule, Transition, Trigger, TriggerState};
use std::collections::BTreeSet;

/// Collects what a batch of fires writes, so that each table is written once.
pub(super) struct FireBatch<'a> {
    pub(super) owner: &'a Owner,
    pub(super) ids: FireIds,
    now_ms: i64,
    /// Jobs begin at the times of their triggers, where those are still to come.
    pub(super) precommits: bool,
    /// A trigger that is done keeps its row until its job has ended.
    keeps_rows: bool,
    /// True if the fires are prefetched.
    pub(super) leaves_batch: bool,
    /// True if dead one-shots are revived, whether or not their jobs request recovery.
    revives: bool,
    pub(super) bundles: Vec<FireBundle>,
    pub(super) rows: Vec<FiredRow>,
    advances: Vec<Advance>,
    ending: EndingTriggers,
    gone_with_options: Vec<TriggerKey>,
    deferred: Vec<Deferred>,
    skipped: Vec<SkippedFires>,
    prefetched: Vec<PrefetchedFire>,
    one_at_a_time: BTreeSet<crate::JobKey>,
}

impl Firing<'_> {
    /// A batch of the owner's fires, by the settings and by what the node knows.
    pub(super) fn batch<'a>(&self, owner: &'a Owner, now_ms: i64) -> FireBatch<'a> {
        let mut batch = FireBatch::new(owner, now_ms, self.node.is_beside_quartz());
        batch.revives = self.store.settings.recovery.revive_one_shots;
        batch
    }
}

impl<'a> FireBatch<'a> {
    /// `keeps_rows`: a node of Quartz that recovers a fire removes the job of a one-shot only if
    /// the trigger's row is there to be removed; without it the job would stay for ever.
    fn new(owner: &'a Owner, now_ms: i64, keeps_rows: bool) -> Self {
        Self {
            owner,
            ids: FireIds::of(owner),
            now_ms,
            precommits: false,
            keeps_rows,
            leaves_batch: false,
            revives: false,
            bundles: Vec::new(),
            rows: Vec::new(),
            advances: Vec::new(),
            ending: EndingTriggers::new(),
            gone_with_options: Vec::new(),
            deferred: Vec::new(),
            skipped: Vec::new(),
            prefetched: Vec::new(),
            one_at_a_time: BTreeSet::new(),
        }
    }

    /// Makes room for so many fires: vectors that grow would copy them over and over.
    pub(super) fn expect(&mut self, fires: usize) {
        self.bundles.reserve(fires);
        self.rows.reserve(fires);
    }

    /// The job is free, in the store and in this batch.
    pub(super) fn may_start(&self, candidate: &Candidate) -> bool {
        !candidate.job.nonconcurrent
            || (!candidate.job_is_executing && !self.one_at_a_time.contains(&candidate.job.key))
    }

    /// Notes a trigger that moves on, or waits, without a fire.
    pub(super) fn defer(&mut self, deferred: Deferred) {
        self.advances.push(deferred.advance.clone());
        self.deferred.push(deferred);
    }

    /// Says what became of those that did not fire, once everything is written.
    pub(super) fn report_deferred(&mut self, s: &mut dyn Session, acquisition: &mut Acquisition) -> Result<()> {
        acquisition.skipped.append(&mut self.skipped);
        report(s, std::mem::take(&mut self.deferred), acquisition)
    }

    /// Notes a fire. A fire that is `prefetched` begins later, and leaves what its trigger was.
    pub(super) fn add_fire(&mut self, firable: Firable, fence: i64, prefetched: bool) {
        let Firable { candidate, job, mut trigger, calendar } = firable;
        let scheduled_ms = trigger.next_ms.unwrap_or(self.now_ms);
        let fired_ms = if self.precommits { self.now_ms.max(scheduled_ms) } else { self.now_ms };
        let previous_ms = trigger.previous_ms;
        let mut removed = false;
        let from = TriggerState::from_name(&candidate.trigger.state).unwrap_or(TriggerState::Waiting);
        // The recovery row goes with the trigger's, and says where the checkpoint is.
        // A program that declares a fire failed has nothing but its rows to try it again with.
        let is_retried = job.policy().retry_policy().is_some();
        // Recovery reads the trigger's data from its row, or from what a batch leaves.
        let is_recovered = (job.requests_recovery || self.revives) && !(self.leaves_batch && job.policy().is_default());
        // The trace of a run that dies is in the data of its trigger.
        let is_traced = traceparent_of(&trigger.data).is_some();
        let is_needed = is_recovered || is_retried || is_traced || candidate.recovery.is_some();
        let keeps_row = self.keeps_rows || is_needed || prefetched && !may_go(&candidate.trigger);
        let (after, left_out) = firing::advance_for_fire(&mut trigger, &job, calendar.as_deref(), keeps_row, fired_ms);
        if let Some((first_ms, times)) = left_out {
            self.skipped.push(skipped(&trigger, first_ms, times, SkipReason::Overlap));
        }
        match after {
            AfterFire::Goes => {
                removed = true;
                if candidate.trigger.options.is_some() {
                    self.gone_with_options.push(trigger.key.clone());
                }
                self.end(from, &trigger, scheduled_ms);
            }
            AfterFire::Stays(state) => {
                let advance = Advance::of(&trigger, (from, Some(scheduled_ms)), state);
                // The last fire is counted when it ends.
                let counts = advance.counts.filter(|_| trigger.next_ms.is_some());
                self.advances.push(Advance { counts, ..advance });
            }
        }
        if job.disallow_concurrent_execution {
            self.one_at_a_time.insert(job.key.clone());
        }
        if prefetched {
            self.prefetched.push(prefetched_fire(&candidate.trigger, fence, trigger.next_ms, removed));
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
            prefetched,
            followed: candidate.job_is_followed,
            spread_on: job.policy().is_spread().then(|| self.owner.instance.clone()),
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
    pub(super) fn fan_out(&mut self, firable: Firable) -> DueTick {
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
            self.end(from, &trigger, scheduled_ms);
        } else {
            self.advances.push(Advance::of(&trigger, (from, Some(scheduled_ms)), TriggerState::Waiting));
        }
        DueTick { trigger, job, scheduled_ms, is_last }
    }

    fn end(&mut self, from: TriggerState, trigger: &Trigger, scheduled_ms: i64) {
        let is_simple = matches!(trigger.schedule, Schedule::Simple(_));
        let ending = EndingTrigger { key: trigger.key.clone(), scheduled_ms, is_simple };
        self.ending.entry(from).or_default().push(ending);
    }

    /// Writes these rows of fires and reservations, and the triggers: those that stay move on,
    /// those that are done go, siblings of one-at-a-time jobs block.
    pub(super) fn write(&self, s: &mut dyn Session, rows: Vec<FiredRow>) -> Result<()> {
        s.advance_all(&self.advances, "fire triggers")?;
        let ending: usize = self.ending.values().map(Vec::len).sum();
        if s.insert_fired(rows, &self.ending)? != ending {
            return Err(Error::overtaken("fire triggers"));
        }
        s.insert_prefetched(&self.owner.instance, &self.prefetched)?;
        if !self.gone_with_options.is_empty() {
            s.rows::<StoredOptionsRow>().any_of(&["trigger"], &self.gone_with_options).delete()?;
        }
        if !self.one_at_a_time.is_empty() {
            let jobs: Vec<_> = self.one_at_a_time.iter().cloned().collect();
            if s.change_states(Selection::Jobs(&jobs), Transition::Block.moves(), false)? > 0 {
                // A reservation that stayed would be a second one once the run has ended.
                s.delete_reserved(ReservationSelection::BlockedOf(&jobs))?;
            }
        }
        Ok(())
    }
}

/// The fire that a recovery trigger, or a revived trigger, stands for, as its data keys say it,
/// which Java nodes write too, and our side row.
fn recovering(candidate: &Candidate, trigger: &Trigger) -> Option<Recovering> {
    let side = candidate.recovery.as_ref();
    let group = trigger.key.group();
    if group != RECOVERY_GROUP {
        // A trigger of its own, which was made due again in place; other reruns recover nothing.
        return side.filter(|_| !is_rerun(&trigger.key)).map(|side| Recovering {
            trigger: trigger.key.clone(),
            fire_time: moment(side.original_scheduled_ms),
            scheduled_fire_time: moment(side.original_scheduled_ms),
            root_fire_id: Some(side.root_fire_id.clone()),
            attempt: side.attempt,
        });
    }
    let text = |key| trigger.data.text(key);
    Some(Recovering {
        trigger: TriggerKey::new(text(recovery_keys::GROUP)?, text(recovery_keys::NAME)?),
        fire_time: moment(text(recovery_keys::FIRED_MS)?.parse().ok()?),
        scheduled_fire_time: moment(text(recovery_keys::SCHEDULED_MS)?.parse().ok()?),
        root_fire_id: side.map(|r| r.root_fire_id.clone()),
        attempt: side.map_or(1, |r| r.attempt),
    })
}
