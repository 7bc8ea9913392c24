//! Unfire: a fire that has not begun is taken back, as if its trigger had never been taken.

use super::FireBundle;
use super::acquire::fenced;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey, distinct};
use crate::rules::firing::{Restored, restore};
use crate::store::row::{Advance, News, Selection, TriggerRow};
use crate::store::schedule_row::counts;
use crate::store::transaction::overtaken;
use crate::store::{ALL_GROUPS_PAUSED, Begin, JobStore, Lock, Owner, Session};
use crate::trigger::{Transition, Trigger, TriggerState};
use std::collections::{BTreeMap, BTreeSet};

/// What became of a fire that was to be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfired {
    /// Its trigger is due for it again, or was deleted or replaced, and needs no fire.
    Done,
    /// Its trigger has fired or was reserved since: the fire stands.
    Stands,
    /// The fire belongs to another node by now.
    Gone,
}

impl JobStore {
    /// Takes fires back that have not begun: their triggers are due again for the same times, under
    /// their own keys, for whoever has a free worker, and the history has nothing of it. The answer
    /// is in the order of `fires`.
    ///
    /// # Errors
    /// [`Error::Fenced`](crate::Error::Fenced) if `owner` is not registered under this incarnation;
    /// what the database reports after the bounded retries. Nothing is taken back then.
    pub fn unfire(&self, owner: &Owner, fires: &[&FireBundle]) -> Result<Vec<Unfired>> {
        if fires.is_empty() {
            return Ok(Vec::new());
        }
        self.retrying(
            "take fires back",
            Begin::Locking(Lock::TriggerAccess),
            |s| self.unfire_in(s, owner, fires),
            &mut |s, answer: &Vec<Unfired>| {
                let done = fires.iter().zip(answer).filter(|(_, one)| **one == Unfired::Done);
                let ids: Vec<_> = done.map(|(fire, _)| fire.fire_id.clone()).collect();
                Ok(s.existing_fired(&ids)?.is_empty() && s.draw_fences(Some(owner), 0)?.is_some())
            },
        )
    }

    fn unfire_in(&self, s: &mut dyn Session, owner: &Owner, fires: &[&FireBundle]) -> Result<Vec<Unfired>> {
        s.draw_fences(Some(owner), 0)?.ok_or_else(|| fenced(owner))?;
        let ids: Vec<_> = fires.iter().map(|fire| fire.fire_id.clone()).collect();
        let held: BTreeSet<String> = s.existing_fired(&ids)?.into_iter().map(|(id, _)| id).collect();
        let keys: Vec<TriggerKey> = distinct(fires.iter().map(|fire| &fire.trigger.key));
        let rows: BTreeMap<TriggerKey, TriggerRow> =
            s.triggers(&keys)?.into_iter().map(|row| (row.key.clone(), row)).collect();
        let jobs: Vec<JobKey> = distinct(fires.iter().map(|fire| &fire.job.key));
        let jobs: BTreeSet<JobKey> = s.existing_jobs(&jobs)?.into_iter().collect();
        let paused_groups = s.paused_groups()?;
        let free = |key: &TriggerKey| match paused_groups.iter().any(|g| g == key.group() || g == ALL_GROUPS_PAUSED) {
            true => TriggerState::Paused,
            false => TriggerState::Waiting,
        };

        let (mut answer, mut over) = (Vec::with_capacity(fires.len()), Vec::new());
        let (mut advances, mut inserted, mut ended) = (Vec::new(), Vec::new(), Vec::new());
        for fire in fires {
            if !held.contains(&fire.fire_id) {
                answer.push(Unfired::Gone);
                continue;
            }
            let before = before_fire(fire);
            let row = rows.get(&fire.trigger.key);
            let state = row.and_then(|row| TriggerState::from_name(&row.state));
            let seen = row.map(|row| (state, row.next_ms, row.previous_ms));
            let after = (fire.trigger.next_ms, fire.trigger.previous_ms);
            let is_missed = fire.removed && jobs.contains(&fire.job.key);
            match restore(seen, after, is_missed, fire.job.disallow_concurrent_execution) {
                Restored::Never => {
                    answer.push(Unfired::Stands);
                    continue;
                }
                Restored::Over => ended.push(*fire),
                Restored::Inserted => inserted.push(self.trigger_row(&before, free(&before.key))?),
                Restored::InPlace(from, to) => advances.push(Advance {
                    expected_state: from,
                    expected_next_ms: fire.trigger.next_ms,
                    state: to.unwrap_or_else(|| free(&before.key)),
                    next_ms: before.next_ms,
                    previous_ms: before.previous_ms,
                    start_ms: before.start_ms,
                    counts: counts(&before.schedule),
                    key: before.key,
                }),
            }
            over.push(fire.fire_id.clone());
            answer.push(Unfired::Done);
        }

        if !over.is_empty() {
            s.delete_fired(&over)?;
            s.delete_beats(&over)?;
        }
        if !advances.is_empty() && s.advance(&advances)? != advances.len() {
            return Err(overtaken("take fires back"));
        }
        if !inserted.is_empty() {
            s.insert_triggers(&inserted)?;
        }
        let blocked: Vec<JobKey> =
            distinct(fires.iter().filter(|f| f.job.disallow_concurrent_execution).map(|f| &f.job.key));
        if !blocked.is_empty() {
            s.change_states(Selection::Jobs(&blocked), Transition::Unblock.moves(), true)?;
        }
        if !ended.is_empty() {
            s.delete_finished_triggers(&distinct(ended.iter().map(|fire| &fire.trigger.key)))?;
            s.delete_idle_jobs(&distinct(ended.iter().map(|fire| &fire.job.key)))?;
        }
        // Who has a free worker may take them.
        s.announce(News::Change)?;
        Ok(answer)
    }
}

/// The trigger of a fire as it was before it.
fn before_fire(fire: &FireBundle) -> Trigger {
    let mut trigger = fire.trigger.clone();
    trigger.unfire(fire.scheduled_ms, fire.previous_ms);
    trigger
}
