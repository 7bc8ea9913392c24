//! The questions that a session answers by its selections of fires, jobs and triggers.

use super::executions::IfThere;
use super::session::Session;
use crate::error::{Error, Result};
use crate::key::{JobKey, TriggerKey};
use crate::store::row::*;
use std::collections::BTreeSet;

impl dyn Session + '_ {
    /// The job of this key, with its data.
    pub fn job(&mut self, key: &JobKey) -> Result<Option<JobRow>> {
        Ok(self.jobs(JobSelection::Key(key))?.pop())
    }

    /// The trigger of this key, with its data.
    pub fn trigger(&mut self, key: &TriggerKey) -> Result<Option<TriggerRow>> {
        Ok(self.triggers(TriggerSelection::Keys(std::slice::from_ref(key)))?.pop())
    }

    /// The keys of these that jobs have.
    pub fn existing_jobs(&mut self, keys: &[JobKey]) -> Result<Vec<JobKey>> {
        Ok(self.jobs(JobSelection::Keys(keys))?.into_iter().map(|row| row.key).collect())
    }

    /// The ids of fired rows.
    pub fn fired_ids(&mut self, which: FiredSelection<'_>) -> Result<BTreeSet<String>> {
        Ok(self.fired(which)?.into_iter().map(|row| row.fire_id).collect())
    }

    /// Tells whether a fire is executing; nobody can end it before the transaction ends.
    pub fn hold_executing(&mut self, fire_id: &str) -> Result<bool> {
        Ok(self.fired(FiredSelection::Held(fire_id))?.iter().any(|row| row.state == FiredState::Executing))
    }

    /// The triggers of these that a node of Quartz has acquired.
    pub fn acquired_by_quartz(&mut self, triggers: &[TriggerKey]) -> Result<BTreeSet<TriggerKey>> {
        Ok(self.fired(FiredSelection::AcquiredByQuartz(triggers))?.into_iter().map(|row| row.trigger).collect())
    }

    /// Writes what fires changed of triggers; no statement if they changed none.
    ///
    /// # Errors
    /// [`Error::overtaken`], by the name of the operation, unless all triggers were as expected.
    pub fn advance_all(&mut self, advances: &[Advance], operation: &str) -> Result<()> {
        if !advances.is_empty() && self.advance(advances)? != advances.len() {
            return Err(Error::overtaken(operation));
        }
        Ok(())
    }

    /// Deletes the reservations that nodes of ours have of these triggers.
    pub fn delete_reservations(&mut self, triggers: &[TriggerKey]) -> Result<usize> {
        self.delete_reserved(ReservationSelection::Triggers(triggers))
    }

    /// Writes signs of life of those of these fires that are executing.
    pub fn put_heartbeats(&mut self, rows: &[HeartbeatRow]) -> Result<()> {
        let rows = self.written(rows)?;
        self.put_of_executing(HeartbeatRow::DEF, rows, IfThere::Replaced).map(drop)
    }

    /// Notes that these fires are to stop; returns how many of them are executing and were not
    /// noted before.
    pub fn request_cancels(&mut self, fire_ids: &[String], who: &str) -> Result<usize> {
        let order = |fire_id: &String| CancelRow { fire_id: fire_id.clone(), who: who.to_owned() };
        let rows = self.written(&fire_ids.iter().map(order).collect::<Vec<_>>())?;
        // Somebody else may ask for the same at the same time: that is no error.
        self.put_of_executing(CancelRow::DEF, rows, IfThere::Kept)
    }

    /// Deletes beats.
    pub fn delete_heartbeats(&mut self, fire_ids: &[String]) -> Result<()> {
        self.rows::<HeartbeatRow>().any_of(&["fire_id"], fire_ids).delete().map(drop)
    }

    /// The orders to stop for the fires of an instance.
    pub fn cancels_for(&mut self, instance: &str) -> Result<Vec<CancelRow>> {
        let mut orders: Vec<CancelRow> = self.rows().list()?;
        if orders.is_empty() {
            return Ok(orders);
        }
        let ids: Vec<String> = orders.iter().map(|order| order.fire_id.clone()).collect();
        let fires = self.fired(FiredSelection::Ids(&ids))?;
        orders.retain(|order| fires.iter().any(|fire| fire.fire_id == order.fire_id && fire.instance == instance));
        Ok(orders)
    }

    /// Sets the last fence to this one, if it is smaller.
    pub fn raise_fence(&mut self, to: i64) -> Result<()> {
        self.rows::<FenceRow>().below("fence", to).set("fence", &to).map(drop)
    }

    /// Rows of the history, the newest first; without those of an outcome that only a later version
    /// knows.
    pub fn history<T: Table>(&mut self, query: &HistoryQuery) -> Result<Vec<T>> {
        let rows = self.select_history(T::DEF, query)?;
        Ok(rows.into_iter().filter_map(|cells| T::from_cells(cells).ok()).collect())
    }

    /// Deletes all jobs, triggers, calendars and paused groups of the scheduler.
    pub fn clear(&mut self) -> Result<()> {
        let reserved: Vec<TriggerKey> =
            self.fired(FiredSelection::Acquired)?.into_iter().map(|row| row.trigger).collect();
        self.delete_reservations(&reserved)?;
        let triggers = self.trigger_keys(TriggerSelection::All)?;
        self.delete_triggers(&triggers, None)?;
        let jobs: Vec<JobKey> = self.jobs(JobSelection::All)?.into_iter().map(|row| row.key).collect();
        self.delete_jobs(&jobs)?;
        self.rows::<ParkedRow>().delete()?;
        self.rows::<CalendarRow>().delete()?;
        self.rows::<PausedGroupRow>().delete().map(drop)
    }
}
