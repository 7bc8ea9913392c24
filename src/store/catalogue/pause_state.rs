//! `PauseState`: which groups are paused and which jobs are running when triggers are stored or
//! resumed.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::{ALL_GROUPS_PAUSED, Session};
use crate::trigger::{Trigger, TriggerState};
use std::collections::{BTreeMap, BTreeSet};

/// The pauses and the executing jobs, read once per transaction.
pub(super) struct PauseState {
    pub paused_groups: BTreeSet<String>,
    pub pauses_all: bool,
    /// Jobs with an executing fire, each with whether one of its fires lets no other run beside it.
    executing: BTreeMap<JobKey, bool>,
}

impl PauseState {
    /// Reads the state for triggers of these jobs.
    pub(super) fn read<'a>(s: &mut dyn Session, jobs: impl IntoIterator<Item = &'a JobKey>) -> Result<Self> {
        let jobs: BTreeSet<&JobKey> = jobs.into_iter().collect();
        let jobs: Vec<JobKey> = jobs.into_iter().cloned().collect();
        let paused_groups: BTreeSet<String> = s.paused_groups()?.into_iter().collect();
        Ok(Self {
            pauses_all: paused_groups.contains(ALL_GROUPS_PAUSED),
            paused_groups,
            executing: s.executing_jobs(&jobs)?.into_iter().collect(),
        })
    }

    /// Whether triggers of the job must be blocked.
    pub(super) fn is_blocked(&self, job: &JobKey, nonconcurrent: bool) -> bool {
        self.executing.get(job).is_some_and(|alone| *alone || nonconcurrent)
    }
}

/// The state in which a new trigger begins.
pub(super) fn state_of_new(pauses: &PauseState, trigger: &Trigger, nonconcurrent: bool) -> TriggerState {
    let paused = pauses.pauses_all || pauses.paused_groups.contains(trigger.key.group());
    match (paused, pauses.is_blocked(&trigger.job_key, nonconcurrent)) {
        (true, true) => TriggerState::PausedBlocked,
        (true, false) => TriggerState::Paused,
        (false, true) => TriggerState::Blocked,
        (false, false) => TriggerState::Waiting,
    }
}
