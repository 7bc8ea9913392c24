//! Following: children run after a run of their parent; their triggers are stored in the
//! transaction that ends it.

use super::Completion;
use super::fire_ids::fence_of;
use crate::data_map::JobDataMap;
use crate::error::Result;
use crate::job::{FireOutcome, On, Parent};
use crate::key::{FOLLOWING_GROUP, JobKey, TriggerKey, distinct};
use crate::rules::continuation::{follows, is_for};
use crate::rules::new_trigger::{PauseState, state_of_new};
use crate::rules::one_shot::one_shot;
use crate::store::row::{ContinuationRow, ContinuationSelection, FiredRow, TriggerRow};
use crate::store::{Firing, Session};
use crate::trigger::{DEFAULT_PRIORITY, Trigger, TriggerState};
use std::collections::{BTreeMap, BTreeSet};

/// The number of characters of its parent's result a child sees: they are part of a trigger's data.
const MOST_PASSED_ON: usize = 1_000;

/// The number of triggers one statement stores.
const AT_A_TIME: usize = 1_000;

impl Firing<'_> {
    /// Stores the triggers of the children that follow these ends, whose rows are gone by now;
    /// returns their keys. Work that goes on in another fire has not ended.
    pub(super) fn follow_ends(&self, s: &mut dyn Session, recorded: &[&Completion]) -> Result<Vec<TriggerKey>> {
        let ended = recorded.iter().filter(|c| c.followed && c.rerun.is_none());
        let parent = |c: &&Completion| Parent {
            fire_id: c.fire_id.clone(),
            job: c.job.clone(),
            outcome: c.ending.outcome,
            result: c.ending.result.as_deref().map(|result| crate::error::storable(result, MOST_PASSED_ON)),
            traceparent: c.traceparent.clone(),
        };
        self.let_follow(s, &ended.map(parent).collect::<Vec<_>>())
    }

    /// Stores the same for those of these dead fires that are among `lost`: nobody runs their work
    /// again.
    pub(in crate::store) fn follow_lost(&self, s: &mut dyn Session, fires: &[FiredRow], lost: &[String]) -> Result<()> {
        let lost: BTreeSet<&String> = lost.iter().collect();
        let parent = |fire: &FiredRow| {
            let outcome = FireOutcome::Lost;
            let (fire_id, job) = (fire.fire_id.clone(), fire.job.clone()?);
            Some(Parent { fire_id, job, outcome, result: None, traceparent: None })
        };
        let parents = fires.iter().filter(|fire| lost.contains(&fire.fire_id)).filter_map(parent);
        self.let_follow(s, &parents.collect::<Vec<_>>()).map(drop)
    }

    fn let_follow(&self, s: &mut dyn Session, ended: &[Parent]) -> Result<Vec<TriggerKey>> {
        let parents: Vec<JobKey> = distinct(ended.iter().map(|parent| &parent.job));
        if parents.is_empty() {
            return Ok(Vec::new());
        }
        let rows = s.continuations(ContinuationSelection::ChildrenOf(&parents))?;
        let mut children: BTreeMap<&JobKey, Vec<&ContinuationRow>> = BTreeMap::new();
        for row in &rows {
            children.entry(&row.parent).or_default().push(row);
        }
        let mut released: Vec<(&Parent, &ContinuationRow)> = Vec::new();
        for parent in ended {
            let fence = fence_of(&parent.fire_id);
            let its = children.get(&parent.job).into_iter().flatten();
            released.extend(its.filter(|row| is_released(row, parent, fence)).map(|row| (parent, *row)));
        }
        if released.is_empty() {
            return Ok(Vec::new());
        }
        let now_ms = s.now_ms()?;
        let is_paused = PauseState::read(s, [])?.is_paused(FOLLOWING_GROUP);
        let mut triggers = Vec::with_capacity(released.len());
        for (parent, row) in released {
            // The child is blocked (QZ-74) comes with the row.
            let state = state_of_new(is_paused, row.child_is_blocked);
            triggers.push(self.following(parent, row, now_ms, state)?);
        }
        for some in triggers.chunks(AT_A_TIME) {
            s.insert_triggers(some)?;
        }
        Ok(triggers.into_iter().map(|row| row.key).collect())
    }

    /// The trigger of a child, with what the continuation passes on and what there is to say of the
    /// parent.
    ///
    /// As with a recovery (H12): data of nobody's keep no work from being done, and no run of the
    /// parent from ending.
    fn following(
        &self,
        parent: &Parent,
        row: &ContinuationRow,
        now_ms: i64,
        state: TriggerState,
    ) -> Result<TriggerRow> {
        let with = |data: JobDataMap| self.store.trigger_row(&trigger(parent, row, now_ms, data), state);
        let data = self.store.decode_data(row.data.as_deref());
        data.and_then(|data| with(data).map_err(|why| why.to_string())).or_else(|why| {
            log::warn!("following without the continuation's data parent={} child={} why={why}", row.parent, row.child);
            with(JobDataMap::new())
        })
    }
}

/// A one-shot, due now and never too late, of a name that no other run of the parent has and no
/// other child of it.
fn trigger(parent: &Parent, row: &ContinuationRow, now_ms: i64, mut data: JobDataMap) -> Trigger {
    parent.put_into(&mut data);
    let key = TriggerKey::new(FOLLOWING_GROUP, format!("follow_{}_{}", parent.fire_id, row.child_hash));
    one_shot(key, row.child.clone(), data, DEFAULT_PRIORITY, now_ms)
}

fn is_released(row: &ContinuationRow, parent: &Parent, fence: Option<i64>) -> bool {
    match row.on.parse::<On>() {
        Ok(on) => is_for(row.since_fence, fence) && follows(on, parent.outcome),
        Err(why) => {
            log::warn!("nobody knows when to follow parent={} child={} why={why}", row.parent, row.child);
            false
        }
    }
}
