//! Fired rows and fences in maps.

use super::MemorySession;
use crate::error::{FailureClass, Result};
use crate::key::{JobKey, TriggerKey};
use crate::store::database::{EndingTriggers, FiredRows, Owner, TriggerRows};
use crate::store::row::{
    EndRow, FenceRow, FiredRow, FiredSelection, FiredState, HistoryRow, RecoveryRow, ReservationSelection, Selection,
    TriggerRow,
};
use crate::trigger::TriggerState::{Blocked, PausedBlocked};
use std::collections::BTreeSet;
use std::sync::Arc;

impl MemorySession<'_> {
    /// Tells whether a transaction of somebody else holds a fired row. One session writes at a
    /// time: only tests have such transactions.
    fn is_held(&self, id: &str) -> bool {
        #[cfg(any(test, feature = "test-util"))]
        return self.database.held.has(id);
        #[cfg(not(any(test, feature = "test-util")))]
        return id.is_empty();
    }

    /// Waits for these rows, in vain if somebody holds one of them.
    pub(super) fn wait_for(&self, ids: &[impl AsRef<str>]) -> Result<()> {
        match ids.iter().find(|id| self.is_held(id.as_ref())) {
            None => Ok(()),
            Some(id) => Err(self.failure(format!("fire {} is held", id.as_ref()), FailureClass::LockWait)),
        }
    }

    /// The reservations of nodes of ours other than this one, earliest first.
    pub(super) fn reserved_by_others(&self, instance: &str) -> impl Iterator<Item = &FiredRow> {
        let ours = |name: &String| self.tables.instances.get(name).is_some_and(|row| row.incarnation.is_some());
        self.tables.fired.index.reserved().filter(move |row| row.instance != instance && ours(&row.instance))
    }
}

impl FiredRows for MemorySession<'_> {
    fn fired(&mut self, which: FiredSelection<'_>) -> Result<Vec<FiredRow>> {
        self.reads()?;
        let (fires, index) = (&self.tables.fired, &self.tables.fired.index);
        let mut rows: Vec<&FiredRow> = match which {
            FiredSelection::All => fires.values().collect(),
            FiredSelection::Behind(fired_ms, id, _) => {
                fires.values().filter(|fire| (fire.fired_ms, fire.fire_id.as_str()) > (fired_ms, id)).collect()
            }
            FiredSelection::Ids(ids) => ids.iter().filter_map(|id| fires.get(id.as_str())).collect(),
            FiredSelection::FreeIds(ids) => {
                ids.iter().filter(|id| !self.is_held(id)).filter_map(|id| fires.get(id.as_str())).collect()
            }
            FiredSelection::Held(id) => {
                self.wait_for(std::slice::from_ref(&id))?;
                fires.get(id).into_iter().collect()
            }
            FiredSelection::OfInstance(name) => fires.values().filter(|fire| fire.instance == name).collect(),
            FiredSelection::FreeOfInstance(name, _) => {
                fires.values().filter(|fire| fire.instance == name && !self.is_held(&fire.fire_id)).collect()
            }
            FiredSelection::Acquired => index.reserved().collect(),
            FiredSelection::AcquiredByQuartz(triggers) => {
                let ours = self.our_instances();
                let is_foreign = |f: &&FiredRow| f.state == FiredState::Acquired && !ours.contains(&f.instance);
                self.of_triggers(triggers).filter(is_foreign).collect()
            }
            FiredSelection::Overdue { instance, before_ms, limit } => {
                self.reserved_by_others(instance).take_while(|row| row.scheduled_ms < before_ms).take(limit).collect()
            }
            FiredSelection::ExecutingOfTriggers(triggers) => {
                triggers.iter().flat_map(|(trigger, job)| index.executing_of(trigger, job)).collect()
            }
            FiredSelection::ExecutingOfJob(job) => {
                let is_its = |f: &&FiredRow| f.state == FiredState::Executing && f.job.as_ref() == Some(job);
                fires.values().filter(is_its).collect()
            }
        };
        match which {
            FiredSelection::All | FiredSelection::Behind(..) => rows.sort_by_key(|row| (row.fired_ms, &row.fire_id)),
            FiredSelection::OfInstance(_) | FiredSelection::FreeOfInstance(..) => {
                rows.sort_by_key(|row| (row.scheduled_ms, &row.fire_id));
            }
            _ => {}
        }
        if let FiredSelection::FreeOfInstance(_, limit) | FiredSelection::Behind(.., limit) = which {
            rows.truncate(limit);
        }
        Ok(rows.into_iter().cloned().collect())
    }

    fn insert_fired(&mut self, rows: Vec<FiredRow>, ending: &EndingTriggers) -> Result<usize> {
        self.changes()?;
        let mut ended = 0;
        for (state, triggers) in ending {
            let keys: Vec<TriggerKey> = triggers.iter().map(|ending| ending.key.clone()).collect();
            ended += self.delete_triggers(&keys, Some(*state))?;
        }
        for row in rows {
            if self.tables.fired.get(row.fire_id.as_str()).is_some() {
                return Err(self.duplicate("fire", &row.fire_id));
            }
            self.tables.fired.put(row.fire_id.as_str().into(), row);
        }
        Ok(ended)
    }

    fn begin_executing(&mut self, rows: &[(String, FiredRow)]) -> Result<usize> {
        self.changes()?;
        let mut begun = 0;
        for (old, row) in rows {
            if self.tables.fired.get(old.as_str()).is_some_and(|f| f.state == FiredState::Acquired) {
                self.tables.fired.remove(old.as_str());
                self.tables.fired.put(row.fire_id.as_str().into(), row.clone());
                begun += 1;
            }
        }
        Ok(begun)
    }

    fn delete_fired(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        self.changes()?;
        self.wait_for(ids)?;
        let mut ends = ends.into_iter().peekable();
        let mut there = Vec::with_capacity(ids.len());
        for id in ids {
            let end = ends.next_if(|end| end.fire_id == *id);
            let Some((key, fired)) = self.tables.fired.remove(id.as_str()) else { continue };
            if let Some(end) = end {
                self.tables.history.put(Arc::clone(key), HistoryRow::of(Arc::unwrap_or_clone(fired), end));
            }
            there.push(id.clone());
        }
        debug_assert!(ends.next().is_none(), "an end of no fire that was asked for, or in another order");
        Ok(there)
    }

    fn delete_reserved(&mut self, which: ReservationSelection<'_>) -> Result<usize> {
        let is_blocked = |t: &&TriggerRow| [Blocked.name(), PausedBlocked.name()].contains(&t.state.as_str());
        let triggers: Vec<TriggerKey> = match which {
            ReservationSelection::Triggers(keys) => keys.to_vec(),
            ReservationSelection::BlockedOf(jobs) => {
                let of_jobs = self.selected(Selection::Jobs(jobs)).into_iter();
                of_jobs.filter(is_blocked).map(|t| t.key.clone()).collect()
            }
        };
        self.changes()?;
        let ours = self.our_instances();
        let reserved = |f: &&FiredRow| f.state == FiredState::Acquired && ours.contains(&f.instance);
        let ids: BTreeSet<String> = self.of_triggers(&triggers).filter(reserved).map(|f| f.fire_id.clone()).collect();
        Ok(ids.iter().filter(|id| self.tables.fired.remove(id.as_str()).is_some()).count())
    }

    fn executing_jobs(&mut self, jobs: &[JobKey]) -> Result<Vec<(JobKey, bool)>> {
        self.reads()?;
        let index = &self.tables.fired.index;
        let is_executing = |job: &&JobKey| index.is_executing(job) && self.tables.jobs.get(*job).is_some();
        Ok(jobs.iter().filter(is_executing).map(|job| (job.clone(), index.is_executing_alone(job))).collect())
    }

    fn draw_fences(&mut self, owner: Option<&Owner>, count: usize) -> Result<Option<i64>> {
        self.reads()?;
        let registered = |owner: &Owner| {
            let row = self.tables.instances.get(&owner.instance);
            row.is_some_and(|i| i.incarnation.as_ref() == Some(&owner.incarnation))
        };
        if !owner.is_none_or(registered) {
            return Ok(None);
        }
        let last = self.tables.last_fence();
        if count == 0 {
            return Ok(Some(last));
        }
        let fences = &self.database.fences;
        fences.are_behind(last, fences.largest());
        let last = last.max(fences.largest());
        self.tables.put_row(&FenceRow { fence: last.saturating_add(i64::try_from(count).unwrap_or(i64::MAX)) });
        Ok(Some(last + 1))
    }
}

impl MemorySession<'_> {
    /// The recovery that a trigger stands for, the first if somebody wrote more.
    pub(super) fn recovery_of(&self, trigger: &TriggerKey) -> Option<RecoveryRow> {
        self.tables.row_with("trigger", trigger)
    }

    /// Forgets what a trigger stands for.
    pub(super) fn forget_recoveries(&mut self, trigger: &TriggerKey) {
        self.tables.delete_with::<RecoveryRow>("trigger", trigger);
    }

    /// The fired rows of these triggers, more than once for a trigger that is named so.
    fn of_triggers<'s>(&'s self, triggers: &'s [TriggerKey]) -> impl Iterator<Item = &'s FiredRow> {
        triggers.iter().flat_map(|key| self.tables.fired.index.of_trigger(key))
    }

    fn our_instances(&self) -> BTreeSet<String> {
        let ours = self.tables.instances.values().filter(|i| i.incarnation.is_some());
        ours.map(|i| i.name.clone()).collect()
    }
}
