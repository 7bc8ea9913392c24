//! Prefetched fires: noted in the store as they begin, and taken back if they have not begun.

use super::FireBundle;
use super::fire_ids::fence_of;
use super::following::delete_idle;
use crate::epoch::millis;
use crate::error::Result;
use crate::hash::HashMap;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::begun::BeginMark;
use crate::rules::firing::{self, Restored, restore};
use crate::rules::new_trigger::{PauseState, state_of_new};
use crate::store::row::{
    Advance, Counts, FiredRow, FiredSelection, GoneTrigger, HistoryQuery, HistoryRow, PrefetchedFire, PrefetchedRow,
    ScheduleRow, Selection, TriggerRow, TriggerSelection,
};
use crate::store::stop_orders::StopOrders;
use crate::store::transaction::fenced;
use crate::store::{Firing, Owner, Session, TxMode};
use crate::trigger::{Transition, Trigger, TriggerState};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// Data of a trigger beyond so many bytes stay in its row, which is kept then.
const MOST_DATA: usize = 1024;

/// The outcome for a fire that was to be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfired {
    /// The trigger is due for it again, or was deleted or replaced, and needs no fire.
    Done,
    /// The trigger has fired or was reserved since: the fire stands.
    Stands,
    /// The fire belongs to another node by now.
    Gone,
}

/// A fire that no worker has begun, and what its trigger was before it.
pub(in crate::store) struct UnbegunFire {
    pub(in crate::store) fire_id: String,
    fence: i64,
    job: JobKey,
    /// The job runs once at a time.
    is_alone: bool,
    /// The trigger as it is to be again; where it is to go on from is `next_after_ms`.
    before: Advance,
    next_after_ms: Option<i64>,
    /// The trigger's row before it, if that went with the fire.
    gone: Option<TriggerRow>,
}

impl Firing<'_> {
    /// Notes that prefetched fires begin: nobody gives them back from now on. One statement that
    /// commits by itself does it.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` was declared dead: they must not begin.
    /// The error of the database that is left after the bounded retries: then nobody can say
    /// whether it is noted, and the next mark says it anew.
    pub fn note_begun(&self, owner: &Owner, mark: &BeginMark) -> Result<()> {
        let begin =
            if self.store.database.prefers_single_statement() { TxMode::SingleStatement } else { TxMode::OwnRows };
        // A lost statement may come late: it does nothing after a later mark, and the same
        // again after this one.
        let noted = self.store.at_least_once("note what begins", begin, |s| s.note_begun(owner, mark))?;
        if noted { Ok(()) } else { Err(fenced(owner)) }
    }

    /// Forgets the fires that `owner` has prefetched in batches that end before this fence: all of
    /// them have ended.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries; then the next time forgets
    /// it.
    pub fn forget_ended_batches(&self, owner: &Owner, before: i64) -> Result<()> {
        self.store.at_most_once("forget prefetched fires", TxMode::OwnRows, |s| {
            s.rows::<PrefetchedRow>().with("instance", &owner.instance).below("last_fence", before).delete().map(drop)
        })
    }

    /// Gives the triggers of these fires the fires back, as far as they have not gone on since, and
    /// deletes their fired rows. The answer is in the order of `fires`.
    pub(in crate::store) fn restore_all(&self, s: &mut dyn Session, fires: &[UnbegunFire]) -> Result<Vec<Unfired>> {
        let keys: Vec<TriggerKey> = distinct(fires.iter().map(UnbegunFire::trigger));
        let mut rows: BTreeMap<TriggerKey, TriggerRow> =
            s.triggers(TriggerSelection::Keys(&keys))?.into_iter().map(|row| (row.key.clone(), row)).collect();
        let jobs: Vec<JobKey> = distinct(fires.iter().map(|fire| &fire.job));
        let jobs: BTreeSet<JobKey> = s.existing_jobs(&jobs)?.into_iter().collect();
        let pauses = PauseState::read(s, [])?;
        // Fires come as early as the settings allow.
        let ahead_ms = millis(self.store.settings.scheduler.batch_time_window);
        let now_ms = self.node.time_that_came(s.now_ms()?, self.store.clock.ticks()).saturating_add(ahead_ms);
        let free = |key: &TriggerKey| state_of_new(pauses.is_paused(key.group()), false);

        let mut unfired: HashMap<i64, Unfired> = HashMap::default();
        let mut advances: BTreeMap<TriggerKey, Advance> = BTreeMap::new();
        let mut inserted: BTreeSet<TriggerKey> = BTreeSet::new();
        let mut ended = Vec::new();
        // The last first: of two fires of one trigger it is the one that left the row as it is.
        let mut ordered: Vec<&UnbegunFire> = fires.iter().collect();
        ordered.sort_by_key(|fire| Reverse(fire.fence));
        for fire in ordered {
            let key = fire.trigger();
            let seen = rows.get(key).map(|row| (TriggerState::from_name(&row.state), row.next_ms, row.previous_ms));
            let went_on = seen.is_none() && fire.gone.is_none() && self.has_gone_on(s, fire)?;
            match restore(seen, fire.as_seen(jobs.contains(&fire.job), went_on), now_ms) {
                Restored::Never => {
                    unfired.insert(fire.fence, Unfired::Stands);
                    continue;
                }
                Restored::Over => ended.push(fire),
                Restored::Inserted => {
                    let row = fire.gone.clone().map(|row| TriggerRow { state: free(key).name().to_owned(), ..row });
                    rows.extend(row.map(|row| (key.clone(), row)));
                    inserted.insert(key.clone());
                }
                Restored::InPlace(from, to) => {
                    let state = to.unwrap_or_else(|| free(key));
                    if let Some(row) = rows.get_mut(key) {
                        fire.rewind(row, state);
                    }
                    if !inserted.contains(key) {
                        let since = advances.remove(key);
                        let (expected_state, expected_next_ms) = since
                            .map_or((from, fire.next_after_ms), |since| (since.expected_state, since.expected_next_ms));
                        let advance = Advance { expected_state, expected_next_ms, state, ..fire.before.clone() };
                        advances.insert(key.clone(), advance);
                    }
                }
            }
            unfired.insert(fire.fence, Unfired::Done);
        }
        let unfired = |fire: &UnbegunFire| unfired.get(&fire.fence).copied().unwrap_or(Unfired::Stands);
        let done = fires.iter().filter(|fire| unfired(fire) == Unfired::Done);
        let over: Vec<String> = done.map(|fire| fire.fire_id.clone()).collect();
        if !over.is_empty() {
            s.delete_fired(&over, Vec::new())?;
            s.delete_heartbeats(&over)?;
        }
        let advances: Vec<Advance> = advances.into_values().collect();
        s.advance_all(&advances, "take fires back")?;
        let inserted: Vec<TriggerRow> = inserted.iter().filter_map(|key| rows.remove(key)).collect();
        if !inserted.is_empty() {
            s.insert_triggers(&inserted)?;
        }
        let blocked: Vec<JobKey> = distinct(fires.iter().filter(|fire| fire.is_alone).map(|fire| &fire.job));
        if !blocked.is_empty() {
            s.change_states(Selection::Jobs(&blocked), Transition::Unblock.moves(), true)?;
        }
        if !ended.is_empty() {
            s.delete_finished_triggers(&distinct(ended.iter().map(|fire| fire.trigger())))?;
            delete_idle(s, &distinct(ended.iter().map(|fire| &fire.job)))?;
        }
        Ok(fires.iter().map(unfired).collect())
    }

    /// True if a later fire of the trigger runs or has ended, whatever the clock says by now: a
    /// node that has started since somebody set the clock back knows no later time.
    fn has_gone_on(&self, s: &mut dyn Session, fire: &UnbegunFire) -> Result<bool> {
        /// The fires of one trigger end in about the order of their times.
        const NEWEST: usize = 10;
        let newest = HistoryQuery::new().trigger(fire.trigger().clone()).limit(NEWEST);
        let ended: Vec<HistoryRow> = s.history(&newest)?;
        let of_trigger = (fire.trigger().clone(), fire.job.clone());
        let running = s.fired(FiredSelection::ExecutingOfTriggers(std::slice::from_ref(&of_trigger)))?;
        let mut times = ended.iter().map(|row| row.scheduled_ms).chain(running.iter().map(|row| row.scheduled_ms));
        Ok(times.any(|scheduled_ms| Some(scheduled_ms) > fire.before.next_ms))
    }
}

/// The rows of the triggers that went with these fires, as far as they were left.
pub(in crate::store) fn gone_rows(executing: &[FiredRow], left: &HashMap<i64, PrefetchedFire>) -> Vec<TriggerRow> {
    let of_fire = |fire: &FiredRow| {
        let prefetched = fence_of(&fire.fire_id).and_then(|fence| left.get(&fence))?;
        UnbegunFire::of_row(fire, prefetched.clone())?.gone
    };
    executing.iter().filter_map(of_fire).collect()
}

impl Firing<'_> {
    /// The fires that an instance has prefetched, by their fences; nothing is read where none of
    /// the executing fires can be one.
    pub(in crate::store) fn prefetched_by(
        &self,
        s: &mut dyn Session,
        instance: &str,
        executing: &[FiredRow],
    ) -> Result<HashMap<i64, PrefetchedFire>> {
        if !executing.iter().any(|fire| fence_of(&fire.fire_id).is_some()) {
            return Ok(HashMap::default());
        }
        Ok(s.prefetched(instance)?.into_iter().map(|fire| (fire.fence, fire)).collect())
    }

    /// Puts the triggers back, as complete, that went with the fires which an instance has left:
    /// their recovery needs them, when their jobs hold them no longer.
    pub(in crate::store) fn restore_gone(&self, s: &mut dyn Session, instance: &str) -> Result<()> {
        let held = s.fired(FiredSelection::OfInstance(instance))?;
        let left = self.prefetched_by(s, instance, &held)?;
        // A trigger may have been stored anew under its key, and have gone with a fire again.
        let gone: BTreeMap<TriggerKey, TriggerRow> =
            gone_rows(&held, &left).into_iter().map(|row| (row.key.clone(), row)).collect();
        if gone.is_empty() {
            return Ok(());
        }
        let keys: Vec<TriggerKey> = gone.keys().cloned().collect();
        let stored: BTreeSet<TriggerKey> = s.trigger_keys(TriggerSelection::Keys(&keys))?.into_iter().collect();
        let jobs: BTreeSet<JobKey> =
            s.existing_jobs(&distinct(gone.values().map(|row| &row.job)))?.into_iter().collect();
        let is_missing = |row: &TriggerRow| !stored.contains(&row.key) && jobs.contains(&row.job);
        let state = TriggerState::Complete.name().to_owned();
        let complete =
            |row: TriggerRow| TriggerRow { state: state.clone(), previous_ms: row.next_ms, next_ms: None, ..row };
        s.insert_triggers(&gone.into_values().filter(is_missing).map(complete).collect::<Vec<_>>())
    }

    /// Takes back the prefetched fires that a node has not begun, since it is dead or has forgotten
    /// them: as if the node had never taken them. With `closes` the node can begin no more of them.
    ///
    /// Returns those that have begun or that somebody wanted to stop, and those whose triggers have
    /// gone on since: the work of these goes on in fires of its own, as if their jobs asked for
    /// recovery.
    pub(in crate::store) fn take_back_dead(
        &self,
        s: &mut dyn Session,
        instance: &str,
        executing: Vec<FiredRow>,
        left: &HashMap<i64, PrefetchedFire>,
        orders: &StopOrders,
        closes: bool,
    ) -> Result<(Vec<FiredRow>, Vec<FiredRow>)> {
        if left.is_empty() {
            return Ok((executing, Vec::new()));
        }
        let Some(mark) = s.begun(instance, closes)? else { return Ok((executing, Vec::new())) };
        let mut not_begun: HashMap<String, UnbegunFire> = HashMap::default();
        for fire in &executing {
            let is_wanted = !orders.has(&fire.fire_id);
            let waits = fence_of(&fire.fire_id).filter(|fence| is_wanted && !mark.has_begun(*fence));
            let fire = waits.and_then(|fence| UnbegunFire::of_row(fire, left.get(&fence)?.clone()));
            not_begun.extend(fire.map(|fire| (fire.fire_id.clone(), fire)));
        }
        let not_begun: Vec<UnbegunFire> = not_begun.into_values().collect();
        if not_begun.is_empty() {
            return Ok((executing, Vec::new()));
        }
        let unfired = self.restore_all(s, &not_begun)?;
        let told: HashMap<&String, Unfired> = not_begun.iter().map(|fire| &fire.fire_id).zip(unfired).collect();
        let (mut begun, mut going_on) = (Vec::new(), Vec::new());
        for fire in executing {
            match told.get(&fire.fire_id) {
                None => begun.push(fire),
                Some(Unfired::Stands) => going_on.push(FiredRow { requests_recovery: true, ..fire }),
                Some(Unfired::Done | Unfired::Gone) => {}
            }
        }
        Ok((begun, going_on))
    }
}

impl UnbegunFire {
    /// A fire of this node; `row` makes the row of a trigger.
    pub(super) fn of_bundle(fire: &FireBundle, row: impl FnOnce(&Trigger) -> Result<TriggerRow>) -> Result<Self> {
        let mut before = fire.trigger.clone();
        before.unfire(fire.scheduled_ms, fire.previous_ms);
        Ok(Self {
            fire_id: fire.fire_id.clone(),
            fence: fire.fence,
            job: fire.job.key.clone(),
            is_alone: fire.job.disallow_concurrent_execution,
            next_after_ms: fire.trigger.next_ms,
            gone: if fire.removed { Some(row(&before)?) } else { None },
            before: Advance::of(&before, (TriggerState::Waiting, fire.trigger.next_ms), TriggerState::Waiting),
        })
    }

    /// A fire of a node that died.
    pub(in crate::store) fn of_row(fire: &FiredRow, prefetched: PrefetchedFire) -> Option<Self> {
        let job = fire.job.clone()?;
        let before = Advance {
            key: fire.trigger.clone(),
            expected_state: TriggerState::Waiting,
            expected_next_ms: prefetched.next_after_ms,
            state: TriggerState::Waiting,
            next_ms: Some(fire.scheduled_ms),
            previous_ms: prefetched.previous_ms,
            start_ms: prefetched.start_ms,
            counts: prefetched.counts,
            moves_options: false,
        };
        Some(Self {
            fire_id: fire.fire_id.clone(),
            fence: prefetched.fence,
            is_alone: fire.nonconcurrent,
            next_after_ms: prefetched.next_after_ms,
            gone: prefetched.gone.and_then(|gone| gone_row(gone, &before, &job, fire.priority)),
            job,
            before,
        })
    }

    fn trigger(&self) -> &TriggerKey {
        &self.before.key
    }

    fn as_seen(&self, has_job: bool, went_on: bool) -> firing::FireToRestore {
        firing::FireToRestore {
            after: (self.next_after_ms, self.before.next_ms),
            took_row: self.gone.is_some(),
            has_job,
            is_alone: self.is_alone,
            went_on,
        }
    }

    /// Makes of the row that this fire has left what it was before.
    fn rewind(&self, row: &mut TriggerRow, state: TriggerState) {
        row.state = state.name().to_owned();
        (row.next_ms, row.previous_ms, row.start_ms) =
            (self.before.next_ms, self.before.previous_ms, self.before.start_ms);
        row.schedule.set_counts(self.before.counts.clone());
    }
}

/// The row of a simple trigger that went with a fire.
fn gone_row(gone: GoneTrigger, before: &Advance, job: &JobKey, priority: i32) -> Option<TriggerRow> {
    let Some(Counts::Simple { repeat_count, times_triggered }) = before.counts else { return None };
    Some(TriggerRow {
        key: before.key.clone(),
        job: job.clone(),
        description: gone.description,
        next_ms: before.next_ms,
        previous_ms: before.previous_ms,
        priority,
        state: before.state.name().to_owned(),
        kind: "SIMPLE".to_owned(),
        start_ms: before.start_ms,
        end_ms: gone.end_ms,
        calendar: gone.calendar,
        misfire: gone.misfire,
        data: gone.data,
        schedule: ScheduleRow::Simple { repeat_count, interval_ms: gone.interval_ms, times_triggered },
        options: None,
    })
}

/// Tells whether the row of a trigger may go with a prefetched fire: what is needed to store the
/// row again is little.
pub(super) fn may_go(row: &TriggerRow) -> bool {
    matches!(row.schedule, ScheduleRow::Simple { .. })
        && row.options.is_none()
        && row.data.as_ref().is_none_or(|data| data.len() <= MOST_DATA)
}

/// A prefetched fire of the trigger of this row, which leaves the trigger this next fire time or
/// takes the row with it.
pub(super) fn prefetched_fire(row: &TriggerRow, fence: i64, next_after_ms: Option<i64>, goes: bool) -> PrefetchedFire {
    let gone = |interval_ms| GoneTrigger {
        description: row.description.clone(),
        end_ms: row.end_ms,
        calendar: row.calendar.clone(),
        misfire: row.misfire,
        data: row.data.clone(),
        interval_ms,
    };
    let interval_ms = match &row.schedule {
        ScheduleRow::Simple { interval_ms, .. } => *interval_ms,
        _ => 0,
    };
    PrefetchedFire {
        fence,
        start_ms: row.start_ms,
        previous_ms: row.previous_ms,
        next_after_ms,
        counts: row.schedule.counts(),
        gone: goes.then(|| gone(interval_ms)),
    }
}
