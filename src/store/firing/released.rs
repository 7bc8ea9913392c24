//! Released children: their triggers are stored, one for each.

use crate::data_map::JobDataMap;
use crate::error::Result;
use crate::job::Parent;
use crate::key::{FOLLOWING_GROUP, TriggerKey};
use crate::rules::new_trigger::{PauseState, state_of_new};
use crate::rules::one_shot::one_shot;
use crate::store::row::{ContinuationRow, TriggerRow};
use crate::store::{Firing, Session};
use crate::trigger::{DEFAULT_PRIORITY, Trigger, TriggerState};

/// The number of triggers one statement stores.
const AT_A_TIME: usize = 1_000;

/// A child that is to run after an end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Released<'a> {
    pub(super) parent: &'a Parent,
    /// The word for the end in the name of the child's trigger: no other end has it.
    pub(super) origin: &'a str,
    pub(super) row: &'a ContinuationRow,
}

impl Firing<'_> {
    /// Stores the triggers of these children; returns their keys.
    pub(super) fn store_released(&self, s: &mut dyn Session, released: &[Released<'_>]) -> Result<Vec<TriggerKey>> {
        if released.is_empty() {
            return Ok(Vec::new());
        }
        let now_ms = s.now_ms()?;
        let is_paused = PauseState::read(s, [])?.is_paused(FOLLOWING_GROUP);
        let mut triggers = Vec::with_capacity(released.len());
        for one in released {
            // The child is blocked (QZ-74) comes with the row.
            let state = state_of_new(is_paused, one.row.child_is_blocked);
            triggers.push(self.following(*one, now_ms, state)?);
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
    fn following(&self, released: Released<'_>, now_ms: i64, state: TriggerState) -> Result<TriggerRow> {
        let row = released.row;
        let with = |data: JobDataMap| self.store.trigger_row(&trigger(released, now_ms, data), state);
        let data = self.store.decode_data(row.data.as_deref());
        data.and_then(|data| with(data).map_err(|why| why.to_string())).or_else(|why| {
            log::warn!("following without the continuation's data parent={} child={} why={why}", row.parent, row.child);
            with(JobDataMap::new())
        })
    }
}

/// A one-shot, due now and never too late, of a name that no other end of the parent has and no
/// other child of it.
fn trigger(released: Released<'_>, now_ms: i64, mut data: JobDataMap) -> Trigger {
    let Released { parent, origin, row } = released;
    parent.put_into(&mut data);
    let key = TriggerKey::new(FOLLOWING_GROUP, format!("follow_{origin}_{}", row.child_hash));
    one_shot(key, row.child.clone(), data, DEFAULT_PRIORITY, now_ms)
}
