//! Misfires: triggers that are too late get what their misfire instruction says.

use super::MisfirePass;
use crate::epoch::{millis, moment};
use crate::error::{Error, Result};
use crate::hash::HashSet;
use crate::key::TriggerKey;
use crate::rules::misfire;
use crate::rules::passing_over::leave_out_old;
use crate::store::calendars::Calendars;
use crate::store::firing::delete_idle;
use crate::store::row::{Advance, Notification, TriggerRow, TriggerSelection};
use crate::store::{Lock, Session, SkipReason, SkippedFires, TxMode, Upkeep};
use crate::trigger::{MisfireInstruction, Schedule, Trigger, TriggerOrder, TriggerState};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The number of late triggers that are put in order of priority at a time.
const MOST_IN_ORDER: usize = 10_000;

/// For how long what is due may stay as much as it is before more is brought all the same.
const PATIENCE: Duration = Duration::from_millis(500);

/// For how long that order counts at most: more important ones that come to be late meanwhile wait
/// so long. A trigger that was handled may be late again after the misfire threshold, so that the
/// order counts no longer than that either.
const ORDERED_FOR: Duration = Duration::from_secs(5);

/// The late triggers in order of priority, as they were found at one time; kept by the misfire
/// handler between its passes. No index has them in this order, and to sort a whole backlog for
/// every few of it takes longer than to work it off.
#[derive(Clone, Debug, Default)]
pub struct LateInOrder {
    keys: Arc<[TriggerKey]>,
    /// The number of keys that have been handled.
    done: usize,
    /// The clock's ticks when they were looked for.
    found: Duration,
    /// The triggers that were due at the last look, as far as they were read.
    due: Option<HashSet<TriggerKey>>,
    /// The clock's ticks when some of them were last seen to be gone, or when more became due.
    moved: Duration,
    /// The node had no free worker at the last look.
    is_busy: bool,
}

impl LateInOrder {
    /// Says whether the node has no free worker: then there is little sense in bringing more, for
    /// half of the misfire threshold.
    pub fn note_busy(&mut self, is_busy: bool) {
        self.is_busy = is_busy;
    }

    fn left(&self) -> &[TriggerKey] {
        self.keys.get(self.done..).unwrap_or(&[])
    }
}

impl Upkeep<'_> {
    /// Applies the misfire instruction of at most `max_misfires_at_a_time` late triggers, in
    /// recovery mode of some more.
    ///
    /// Looks without the lock first: a store with nothing late costs one statement.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn handle_misfires(&self) -> Result<MisfirePass> {
        self.handle_misfires_of(&mut LateInOrder::default())
    }

    /// Handles the same for a caller that comes again and again: where the most important come
    /// first, in recovery mode above all, the late triggers are put in order once for many passes.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries.
    pub fn handle_misfires_of(&self, order: &mut LateInOrder) -> Result<MisfirePass> {
        if self.trigger_order() == TriggerOrder::PriorityThenTime {
            return self.handle_in_order(order);
        }
        *order = LateInOrder::default();
        let threshold_ms = millis(self.store.settings.job_store.misfire_threshold);
        if !self.store.glance("look for misfires", |s| s.is_any_misfired(threshold_ms))? {
            return Ok(MisfirePass::default());
        }
        // Triggers that were handled are no longer late: doing it again does no harm.
        self.store
            .at_least_once("handle misfires", TxMode::Exclusive(Lock::TriggerAccess), |s| self.handle_misfires_in(s))
    }

    fn handle_misfires_in(&self, s: &mut dyn Session) -> Result<MisfirePass> {
        let now_ms = s.now_ms()?;
        let before = self.store.misfired_before(now_ms);
        let wanted = self.most_misfires();
        let mut pass = MisfirePass::default();
        let mut late = Vec::new();
        let mut offset = 0;
        let mut calendars = Calendars::default();
        // Rows that cannot be read stay where they are, at the head of every page: look past them
        // (H12).
        while late.len() < wanted && pass.unreadable.len() < 1000 {
            let page = s.triggers(TriggerSelection::Misfired {
                before_ms: before,
                order: self.trigger_order(),
                limit: wanted + 1,
                offset,
            })?;
            let (found, room) = (page.len(), wanted - late.len());
            self.store.read_calendars(s, &mut calendars, page.iter().filter_map(|row| row.calendar.as_deref()))?;
            for row in page {
                match self.late_trigger(&row, &calendars) {
                    Ok(trigger) => late.push((row, trigger)),
                    Err(error) => pass.unreadable.push((row.key, error.to_string())),
                }
            }
            pass.more = found > wanted || late.len() > wanted;
            if found <= wanted || room == 0 {
                break;
            }
            offset += found;
        }
        late.truncate(wanted);
        self.finish_misfires(s, now_ms, late, &calendars, &mut pass)?;
        Ok(pass)
    }

    fn finish_misfires(
        &self,
        s: &mut dyn Session,
        now_ms: i64,
        late: Vec<(TriggerRow, Trigger)>,
        calendars: &Calendars,
        pass: &mut MisfirePass,
    ) -> Result<()> {
        self.apply_misfires(s, now_ms, late, calendars, TriggerState::Waiting, pass)?;
        if !pass.handled.is_empty() {
            s.notify(Notification::Change)?;
        }
        Ok(())
    }

    fn handle_in_order(&self, order: &mut LateInOrder) -> Result<MisfirePass> {
        let now = self.store.clock.ticks();
        if self.node.is_in_recovery_mode() && self.waits_for_workers(order, now)? {
            return Ok(MisfirePass { more: true, ..MisfirePass::default() });
        }
        if order.left().is_empty()
            || now.saturating_sub(order.found) >= ORDERED_FOR.min(self.store.settings.job_store.misfire_threshold)
        {
            let keys = self.store.glance("put misfires in order", |s| {
                let before_ms = s.now_ms().map(|now_ms| self.store.misfired_before(now_ms))?;
                s.trigger_keys(TriggerSelection::Misfired {
                    before_ms,
                    order: self.trigger_order(),
                    limit: MOST_IN_ORDER,
                    offset: 0,
                })
            })?;
            *order = LateInOrder { keys: keys.into(), done: 0, found: now, ..order.clone() };
        }
        if order.left().is_empty() {
            return Ok(MisfirePass::default());
        }
        let (mut pass, taken) =
            self.store.at_least_once("handle misfires", TxMode::Exclusive(Lock::TriggerAccess), |s| {
                self.handle_of_these(s, order.left())
            })?;
        order.done += taken;
        order.moved = now;
        // A full list of triggers that cannot be read would be found again by looking again at
        // once.
        let is_stuck = pass.handled.is_empty() && !pass.unreadable.is_empty();
        pass.more = !order.left().is_empty() || (order.keys.len() >= MOST_IN_ORDER && !is_stuck);
        Ok(pass)
    }

    /// True if enough is due already, and some of it goes: what is due and finds no worker is late
    /// again after the misfire threshold. Due triggers that stay may be some that nobody can run;
    /// they hold nothing up.
    fn waits_for_workers(&self, order: &mut LateInOrder, now: Duration) -> Result<bool> {
        let enough = self.late_at_a_time();
        let due = self.store.glance("read what is due", |s| {
            let now_ms = s.now_ms()?;
            let most = enough.saturating_mul(20);
            s.trigger_keys(TriggerSelection::Waiting(self.store.misfired_before(now_ms), now_ms, most))
        })?;
        let due: HashSet<TriggerKey> = due.into_iter().collect();
        let is_enough = due.len() >= enough;
        // More important triggers may have come to be late, and what is due is late again soon.
        let patience = if order.is_busy { self.store.settings.job_store.misfire_threshold / 2 } else { PATIENCE };
        let some_went = order.due.as_ref().map(|before| before.iter().any(|key| !due.contains(key)));
        order.due = Some(due);
        if some_went != Some(false) {
            order.moved = now;
        }
        Ok(some_went.is_some() && is_enough && now.saturating_sub(order.moved) < patience)
    }

    fn trigger_order(&self) -> TriggerOrder {
        self.node.trigger_order(self.store.settings.job_store.trigger_order)
    }

    /// The number of late triggers that are handled in one transaction.
    fn late_at_a_time(&self) -> usize {
        let usual = self.most_misfires();
        if self.node.is_in_recovery_mode() {
            usual.max(self.store.settings.recovery.batch.try_into().unwrap_or(1))
        } else {
            usual
        }
    }

    /// The number of late triggers in one transaction that the settings ask for.
    fn most_misfires(&self) -> usize {
        usize::try_from(self.store.settings.job_store.max_misfires_at_a_time).unwrap_or(usize::MAX).max(1)
    }

    /// Handles the first of these that are late still, as many as go into a transaction; also says
    /// how many have had their turn. Other nodes may have handled some since they were found, and
    /// other programs changed them.
    fn handle_of_these(&self, s: &mut dyn Session, keys: &[TriggerKey]) -> Result<(MisfirePass, usize)> {
        let now_ms = s.now_ms()?;
        let before_ms = self.store.misfired_before(now_ms);
        let wanted = self.late_at_a_time();
        let mut pass = MisfirePass::default();
        let mut calendars = Calendars::default();
        let mut late = Vec::new();
        let mut taken = 0;
        for some in keys.chunks(wanted) {
            if !late.is_empty() {
                break;
            }
            taken += some.len();
            let mut rows: BTreeMap<TriggerKey, TriggerRow> =
                s.triggers(TriggerSelection::Keys(some))?.into_iter().map(|row| (row.key.clone(), row)).collect();
            let rows: Vec<TriggerRow> =
                some.iter().filter_map(|key| rows.remove(key)).filter(|row| is_late(row, before_ms)).collect();
            self.store.read_calendars(s, &mut calendars, rows.iter().filter_map(|row| row.calendar.as_deref()))?;
            for row in rows {
                match self.late_trigger(&row, &calendars) {
                    Ok(trigger) => late.push((row, trigger)),
                    Err(error) => pass.unreadable.push((row.key, error.to_string())),
                }
            }
        }
        self.finish_misfires(s, now_ms, late, &calendars, &mut pass)?;
        Ok((pass, taken))
    }

    /// The trigger of a row to which its misfire instruction can be applied.
    pub(in crate::store) fn late_trigger(&self, row: &TriggerRow, calendars: &Calendars) -> Result<Trigger> {
        calendars.of(row)?;
        self.store.trigger_value(row)
    }

    /// Applies the misfire instruction to triggers of one state and moves them to `state`; those
    /// that will not fire again go, with their jobs if these are not durable and not running.
    pub(in crate::store) fn apply_misfires(
        &self,
        s: &mut dyn Session,
        now_ms: i64,
        late: Vec<(TriggerRow, Trigger)>,
        calendars: &Calendars,
        state: TriggerState,
        pass: &mut MisfirePass,
    ) -> Result<()> {
        let mut advances = Vec::new();
        let mut jobs = Vec::new();
        for (row, mut trigger) in late {
            let expected_next_ms = trigger.next_ms;
            let before = trigger.clone();
            let calendar = calendars.of(&row)?;
            let old = leave_out_old(&mut trigger, calendar.as_deref(), now_ms);
            if let (1.., Some(first_ms)) = (old, expected_next_ms) {
                pass.skipped.push(SkippedFires {
                    trigger: trigger.key.clone(),
                    job: trigger.job_key.clone(),
                    first_time: moment(first_ms),
                    times: old,
                    reason: SkipReason::CatchUp,
                });
            }
            // A time that is young enough to be made up for is late all the same, if it is later
            // than the threshold.
            if misfire::is_misfired(&trigger, now_ms, now_ms - self.store.misfired_before(now_ms)) || old == 0 {
                misfire::apply(&mut trigger, calendar.as_deref(), now_ms);
            }
            if trigger.next_ms.is_none() {
                pass.finalized.push(trigger.key.clone());
                jobs.push(trigger.job_key.clone());
            }
            let from = TriggerState::from_name(&row.state).unwrap_or(TriggerState::Waiting);
            let moves_options = row.options.is_some() && trigger.start_ms != row.start_ms;
            advances
                .push(Advance { moves_options, ..Advance::without_fire(&trigger, (from, expected_next_ms), state) });
            pass.handled.push(before);
        }
        if s.advance(&advances)? != advances.len() {
            return Err(Error::overtaken("handle misfires"));
        }
        if !pass.finalized.is_empty() {
            // Quartz leaves these rows for ever (its issue 586).
            s.delete_finished_triggers(&pass.finalized)?;
            delete_idle(s, &jobs)?;
        }
        self.store.history().record_misfired(s, &pass.handled, now_ms)
    }
}

/// The misfire handler is to handle it, as [`TriggerSelection::Misfired`] has it.
fn is_late(row: &TriggerRow, before_ms: i64) -> bool {
    row.state == TriggerState::Waiting.name()
        && Schedule::KINDS.contains(&row.kind.as_str())
        && row.misfire != MisfireInstruction::Ignore.code()
        && row.next_ms.is_some_and(|next_ms| next_ms < before_ms)
}
