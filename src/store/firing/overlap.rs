//! Overlap and catch-up: due triggers that may not fire by a policy of their own, and what they do
//! when the runs before them have ended.

use super::firable::Firable;
use super::following::delete_idle;
use super::skipped::skipped;
use super::{Acquisition, SkipReason, SkippedFires};
use crate::error::Result;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::fixed_delay::count_from_end;
use crate::rules::new_trigger::PauseState;
use crate::rules::overlap::{OverlapDecision, decide, may_wait};
use crate::rules::passing_over::{leave_out_old, pass_over};
use crate::store::calendars::Calendars;
use crate::store::row::{Advance, FiredSelection, Notification, Selection, TriggerRow, TriggerSelection};
use crate::store::schedule_row::{is_fixed_delay, stored_policies};
use crate::store::{Firing, Session};
use crate::trigger::{Overlap, Policies, Transition, Trigger, TriggerState};
use std::collections::BTreeSet;

/// The name under which a run is asked to stop when its trigger is due again.
const BY_NEXT_FIRE: &str = "the next fire of its trigger";

/// A due trigger that does not fire now.
pub(super) struct Deferred {
    pub(super) advance: Advance,
    job: JobKey,
    skipped: Option<SkippedFires>,
    /// As it was before, if it was too late to be made up for.
    misfired: Option<Trigger>,
    /// The runs before it are asked to stop.
    cancels: bool,
}

/// The move of a candidate instead of firing; none if it may fire, or is not due at `due_ms`.
pub(super) fn defer(firable: &Firable, now_ms: i64, due_ms: i64) -> Option<Deferred> {
    if firable.trigger.policies == Policies::default() {
        return None;
    }
    let first_ms = firable.trigger.next_ms?;
    let from = TriggerState::from_name(&firable.candidate.trigger.state).unwrap_or(TriggerState::Waiting);
    let calendar = firable.calendar.as_deref();
    let mut trigger = firable.trigger.clone();
    let moves_on = |trigger: &Trigger, times, reason| Deferred {
        advance: Advance::without_fire(trigger, (from, Some(first_ms)), TriggerState::Waiting),
        job: trigger.job_key.clone(),
        skipped: Some(skipped(trigger, first_ms, times, reason)),
        misfired: (reason == SkipReason::CatchUp).then(|| firable.trigger.clone()),
        cancels: false,
    };
    let old = leave_out_old(&mut trigger, calendar, now_ms);
    if old > 0 {
        return Some(moves_on(&trigger, old, SkipReason::CatchUp));
    }
    if first_ms > due_ms {
        return None;
    }
    match decide(trigger.policies.overlap, firable.candidate.trigger_is_executing) {
        OverlapDecision::Fires => None,
        OverlapDecision::IsSkipped => {
            let times = pass_over(&mut trigger, due_ms.saturating_add(1), calendar, now_ms);
            Some(moves_on(&trigger, times, SkipReason::Overlap))
        }
        OverlapDecision::Waits { cancels } => Some(Deferred {
            advance: Advance::without_fire(&trigger, (from, Some(first_ms)), TriggerState::Blocked),
            job: trigger.job_key.clone(),
            skipped: None,
            misfired: None,
            cancels,
        }),
    }
}

/// Says what became of triggers that did not fire, once that is written; those that have no time
/// left go.
pub(super) fn report(s: &mut dyn Session, deferred: Vec<Deferred>, acquisition: &mut Acquisition) -> Result<()> {
    let (mut cancelling, mut jobs) = (Vec::new(), Vec::new());
    for Deferred { advance, job, skipped, misfired, cancels } in deferred {
        match advance.state {
            TriggerState::Blocked => acquisition.waiting.push(advance.key.clone()),
            TriggerState::Complete => {
                acquisition.finalized.push(advance.key.clone());
                jobs.push(job.clone());
            }
            _ => {}
        }
        if cancels {
            cancelling.push((advance.key, job));
        }
        acquisition.skipped.extend(skipped);
        acquisition.misfired.extend(misfired);
    }
    if !acquisition.finalized.is_empty() {
        // Triggers that still run go when they have ended.
        s.delete_finished_triggers(&acquisition.finalized)?;
        delete_idle(s, &distinct(jobs.iter()))?;
    }
    if !cancelling.is_empty() {
        acquisition.cancelled =
            s.fired(FiredSelection::ExecutingOfTriggers(&cancelling))?.into_iter().map(|f| f.fire_id).collect();
        if s.request_cancels(&acquisition.cancelled, BY_NEXT_FIRE)? > 0 {
            s.notify(Notification::Cancel)?;
        }
    }
    Ok(())
}

/// True if it has been written that some triggers were passed over, as seen by the first of them;
/// none if there are none.
pub(super) fn is_written(s: &mut dyn Session, acquisition: &Acquisition) -> Result<Option<bool>> {
    if let Some(one) = acquisition.skipped.first() {
        // A tick that was fanned out passed over the times after its own.
        let first_ms = one.first_time.timestamp_millis();
        return Ok(Some(
            s.trigger(&one.trigger)?.is_none_or(|row| row.next_ms.is_none_or(|next_ms| next_ms > first_ms)),
        ));
    }
    match acquisition.waiting.first() {
        Some(key) => Ok(Some(s.trigger(key)?.is_some_and(|row| row.state == TriggerState::Blocked.name()))),
        None => Ok(None),
    }
}

/// The effects of the ends of runs on their triggers.
#[derive(Debug, Default)]
pub(in crate::store) struct PolicyEffects {
    pub(in crate::store) paused: Vec<TriggerKey>,
    pub(in crate::store) skipped: Vec<SkippedFires>,
    pub(in crate::store) let_go: Vec<TriggerKey>,
    /// Triggers that have no time left and are complete.
    pub(in crate::store) finalized: Vec<(TriggerKey, JobKey)>,
}

/// The runs that have ended, apart from the triggers themselves.
pub(in crate::store) struct EndedRuns<'a> {
    /// The jobs among them that run once at a time: whoever they blocked is let go for their sake,
    /// or will be.
    pub(in crate::store) one_at_a_time: &'a [JobKey],
    /// The triggers whose run has failed.
    pub(in crate::store) failed: &'a BTreeSet<&'a TriggerKey>,
}

impl Firing<'_> {
    /// Does what the policies of triggers want when runs of theirs have ended; the fired rows are
    /// gone by now.
    ///
    /// A time that has come due while the run lasted is decided here, whether or not a node has
    /// seen it come: under `Skip` it is left out, under `BufferOne` it is let go. A trigger whose
    /// run has failed is paused if it asks for it.
    pub(in crate::store) fn apply_policies(
        &self,
        s: &mut dyn Session,
        rows: &[TriggerRow],
        ended: &EndedRuns<'_>,
    ) -> Result<PolicyEffects> {
        let with_policies = |row: &&TriggerRow| stored_policies(row).is_ok_and(|p| p != Policies::default());
        let rows: Vec<TriggerRow> = rows.iter().filter(with_policies).cloned().collect();
        let mut ends = PolicyEffects::default();
        if rows.is_empty() {
            return Ok(ends);
        }
        let calendars = self.store.calendars_of(s, &rows)?;
        let keys: Vec<(TriggerKey, JobKey)> = rows.iter().map(|row| (row.key.clone(), row.job.clone())).collect();
        let executing: BTreeSet<TriggerKey> =
            s.fired(FiredSelection::ExecutingOfTriggers(&keys))?.into_iter().map(|fire| fire.trigger).collect();
        let mut advances = Vec::new();
        for row in &rows {
            let Ok(policies) = stored_policies(row) else { continue };
            let runs = executing.contains(&row.key);
            if is_fixed_delay(row) && !runs {
                advances.extend(self.delay(s, row, &calendars, ended.one_at_a_time, &mut ends)?);
            } else if policies.overlap == Overlap::Skip {
                advances.extend(self.skip_what_came_due(s, row, &calendars, &mut ends)?);
            } else if may_wait(policies.overlap) && !runs {
                advances.extend(self.let_go(s, row, policies, ended.one_at_a_time, &mut ends)?);
            }
        }
        s.advance_all(&advances, "end runs")?;
        for row in rows.iter().filter(|row| ended.failed.contains(&row.key) && !is_suspended(row)) {
            let pauses = stored_policies(row).is_ok_and(|policies| policies.pause_on_failure);
            let key = std::slice::from_ref(&row.key);
            if pauses {
                s.delete_reservations(key)?;
                if s.change_states(Selection::Triggers(key), Transition::Pause.moves(), false)? > 0 {
                    ends.paused.push(row.key.clone());
                }
            }
        }
        Ok(ends)
    }

    /// Lets fires go that have come to wait for runs which are over, if nothing else of their
    /// triggers runs. Returns the triggers.
    pub(super) fn let_waiting_go(
        &self,
        s: &mut dyn Session,
        keys: &[TriggerKey],
        one_at_a_time: &[JobKey],
    ) -> Result<Vec<TriggerKey>> {
        let mut ends = PolicyEffects::default();
        if keys.is_empty() {
            return Ok(ends.let_go);
        }
        let mut rows = s.triggers(TriggerSelection::Keys(keys))?;
        let may_have_waited = [TriggerState::Blocked, TriggerState::PausedBlocked, TriggerState::Waiting];
        rows.retain(|row| may_have_waited.iter().any(|of| row.state == of.name()));
        let of: Vec<(TriggerKey, JobKey)> = rows.iter().map(|row| (row.key.clone(), row.job.clone())).collect();
        let executing = s.fired(FiredSelection::ExecutingOfTriggers(&of))?;
        let mut advances = Vec::new();
        for row in rows.iter().filter(|row| executing.iter().all(|fire| fire.trigger != row.key)) {
            let policies = stored_policies(row).unwrap_or_default();
            if may_wait(policies.overlap) {
                advances.extend(self.let_go(s, row, policies, one_at_a_time, &mut ends)?);
            }
        }
        s.advance_all(&advances, "end runs")?;
        Ok(ends.let_go)
    }

    /// A time that came due while the run lasted is left out, as if a node had seen it then.
    fn skip_what_came_due(
        &self,
        s: &mut dyn Session,
        row: &TriggerRow,
        calendars: &Calendars,
        ends: &mut PolicyEffects,
    ) -> Result<Option<Advance>> {
        use TriggerState::{Acquired, Blocked, Waiting};
        let now_ms = s.now_ms()?;
        let Some(first_ms) = row.next_ms.filter(|next_ms| *next_ms <= now_ms && !is_suspended(row)) else {
            return Ok(None);
        };
        let Some(from @ (Waiting | Acquired | Blocked)) = TriggerState::from_name(&row.state) else { return Ok(None) };
        // A row that cannot be read is named when somebody tries to fire it.
        let (Ok(mut trigger), Ok(calendar)) = (self.store.trigger_value(row), calendars.of(row)) else {
            return Ok(None);
        };
        if from == Acquired {
            s.delete_reservations(std::slice::from_ref(&row.key))?;
        }
        let times = pass_over(&mut trigger, now_ms.saturating_add(1), calendar.as_deref(), now_ms);
        ends.skipped.push(skipped(&trigger, first_ms, times, SkipReason::Overlap));
        let to = if from == Blocked { Blocked } else { Waiting };
        let advance = Advance::without_fire(&trigger, (from, Some(first_ms)), to);
        if trigger.next_ms.is_none() {
            ends.finalized.push((row.key.clone(), row.job.clone()));
        }
        Ok(Some(advance))
    }

    /// A trigger with a fixed delay waits from now on. A row that cannot be read is named when
    /// somebody tries to fire it.
    fn delay(
        &self,
        s: &mut dyn Session,
        row: &TriggerRow,
        calendars: &Calendars,
        one_at_a_time: &[JobKey],
        ends: &mut PolicyEffects,
    ) -> Result<Option<Advance>> {
        let (Ok(mut trigger), Ok(calendar)) = (self.store.trigger_value(row), calendars.of(row)) else {
            return Ok(None);
        };
        let Some(from) = TriggerState::from_name(&row.state) else { return Ok(None) };
        let is_blocked = is_blocked_by_job(s, row, one_at_a_time)?;
        let now_ms = s.now_ms()?;
        let Some(to) = count_from_end(&mut trigger, calendar.as_deref(), from, is_blocked, now_ms) else {
            return Ok(None);
        };
        if trigger.next_ms.is_none() {
            ends.finalized.push((row.key.clone(), row.job.clone()));
        } else if from == TriggerState::Blocked {
            // Nodes that saw no time of the trigger while it was blocked may sleep for long.
            ends.let_go.push(row.key.clone());
        }
        Ok(Some(Advance::without_fire(&trigger, (from, row.next_ms), to)))
    }

    /// A fire that has waited may begin. A fire that has waited for long is no misfire, but due
    /// now.
    fn let_go(
        &self,
        s: &mut dyn Session,
        row: &TriggerRow,
        policies: Policies,
        one_at_a_time: &[JobKey],
        ends: &mut PolicyEffects,
    ) -> Result<Option<Advance>> {
        use TriggerState::{Blocked, Paused, PausedBlocked, Waiting};
        let Some(from) = TriggerState::from_name(&row.state) else { return Ok(None) };
        let is_blocked_by_job = is_blocked_by_job(s, row, one_at_a_time)?;
        let to = match from {
            Blocked | PausedBlocked if is_blocked_by_job => return Ok(None),
            Blocked | Waiting => Waiting,
            PausedBlocked => Paused,
            _ => return Ok(None),
        };
        let now_ms = s.now_ms()?;
        let oldest_ms =
            self.store.misfired_before(now_ms).max(now_ms.saturating_sub(policies.catch_up_ms.unwrap_or(i64::MAX)));
        let is_old = to == Waiting && !is_suspended(row) && row.next_ms.is_some_and(|next_ms| next_ms < oldest_ms);
        if from == to && !is_old {
            return Ok(None);
        }
        if from == Blocked {
            ends.let_go.push(row.key.clone());
        }
        Ok(Some(Advance::of_row(row, from, to, if is_old { Some(now_ms) } else { row.next_ms })))
    }
}

/// True if a trigger is blocked by runs of its job, apart from its own. The triggers of jobs that
/// have ended are unblocked with the others of the job.
fn is_blocked_by_job(s: &mut dyn Session, row: &TriggerRow, one_at_a_time: &[JobKey]) -> Result<bool> {
    Ok(one_at_a_time.contains(&row.job) || PauseState::read(s, [&row.job])?.is_blocked(&row.job))
}

/// The policies of a trigger have no effect at the moment.
fn is_suspended(row: &TriggerRow) -> bool {
    row.options.as_ref().is_some_and(|options| options.beside_quartz)
}
