//! Misfires: triggers that are too late get what their misfire instruction says.

use super::MisfirePass;
use crate::error::Result;
use crate::rules::misfire;
use crate::rules::passing_over::leave_out_old;
use crate::store::calendars::Calendars;
use crate::store::row::{Advance, News, TriggerRow};
use crate::store::schedule_row::counts;
use crate::store::transaction::overtaken;
use crate::store::{Begin, JobStore, Lock, Session, SkipReason, SkippedFires};
use crate::trigger::{Trigger, TriggerOrder, TriggerState};

impl JobStore {
    /// Applies the misfire instruction of at most `max_misfires_at_a_time` late triggers.
    ///
    /// Looks without the lock first: a store with nothing late costs two statements.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn handle_misfires(&self) -> Result<MisfirePass> {
        let late = self.glance("look for misfires", |s| {
            let before = s.now_ms().map(|now| self.misfired_before(now))?;
            Ok(!s.misfired(before, TriggerOrder::TimeThenPriority, 1, 0)?.is_empty())
        })?;
        if !late {
            return Ok(MisfirePass::default());
        }
        self.retrying(
            "handle misfires",
            Begin::Locking(Lock::TriggerAccess),
            |s| self.handle_misfires_in(s),
            // Triggers that were handled are no longer late: doing it again does no harm.
            &mut |_, _| Ok(false),
        )
    }

    fn handle_misfires_in(&self, s: &mut dyn Session) -> Result<MisfirePass> {
        let now_ms = s.now_ms()?;
        let before = self.misfired_before(now_ms);
        let wanted = self.settings.max_misfires_at_a_time.max(1);
        let mut pass = MisfirePass::default();
        let mut late = Vec::new();
        let mut offset = 0;
        let mut calendars = Calendars::default();
        // Rows that cannot be read stay where they are, at the head of every page: look past them (H12).
        while late.len() < wanted && pass.unreadable.len() < 1000 {
            let page = s.misfired(before, self.trigger_order(), wanted + 1, offset)?;
            let (found, room) = (page.len(), wanted - late.len());
            self.read_calendars(s, &mut calendars, page.iter().filter_map(|row| row.calendar.as_deref()))?;
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
        self.apply_misfires(s, now_ms, late, &calendars, TriggerState::Waiting, &mut pass)?;
        self.record_misfired(s, &pass.handled, now_ms)?;
        if !pass.handled.is_empty() {
            s.announce(News::Change)?;
        }
        Ok(pass)
    }

    /// The trigger of a row to which its misfire instruction can be applied.
    pub(in crate::store) fn late_trigger(&self, row: &TriggerRow, calendars: &Calendars) -> Result<Trigger> {
        calendars.of(row)?;
        self.trigger_value(row)
    }

    /// Applies the misfire instruction to triggers of one state and moves them to `state`; those that will not fire
    /// again go, with their jobs if these are not durable and not running.
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
        let mut moved = Vec::new();
        for (row, mut trigger) in late {
            let expected_next_ms = trigger.next_ms;
            let before = trigger.clone();
            let calendar = calendars.of(&row)?;
            let old = leave_out_old(&mut trigger, calendar.as_deref(), now_ms);
            if let (1.., Some(first_ms)) = (old, expected_next_ms) {
                pass.skipped.push(SkippedFires {
                    trigger: trigger.key.clone(),
                    job: trigger.job_key.clone(),
                    first_ms,
                    times: old,
                    reason: SkipReason::CatchUp,
                });
            }
            // What is young enough to be made up for is late all the same, if it is later than the threshold.
            if misfire::is_misfired(&trigger, now_ms, now_ms - self.misfired_before(now_ms)) || old == 0 {
                misfire::apply(&mut trigger, calendar.as_deref(), now_ms);
            }
            if row.options.is_some() && trigger.start_ms != row.start_ms {
                moved.push((trigger.key.clone(), trigger.start_ms));
            }
            if trigger.next_ms.is_none() {
                pass.finalized.push(trigger.key.clone());
                jobs.push(trigger.job_key.clone());
            }
            advances.push(Advance {
                key: trigger.key.clone(),
                expected_state: TriggerState::from_name(&row.state).unwrap_or(TriggerState::Waiting),
                expected_next_ms,
                state: if trigger.next_ms.is_none() { TriggerState::Complete } else { state },
                next_ms: trigger.next_ms,
                previous_ms: trigger.previous_ms,
                start_ms: trigger.start_ms,
                counts: counts(&trigger.schedule),
            });
            pass.handled.push(before);
        }
        if s.advance(&advances)? != advances.len() {
            return Err(overtaken("handle misfires"));
        }
        if !moved.is_empty() {
            s.move_options(&moved)?;
        }
        if !pass.finalized.is_empty() {
            // #586: Quartz leaves these rows for ever.
            s.delete_finished_triggers(&pass.finalized)?;
            s.delete_idle_jobs(&jobs)?;
        }
        Ok(())
    }
}
