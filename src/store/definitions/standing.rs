//! How things stand when a trigger is stored or resumed: which groups are paused, which jobs are running.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::FiredState;
use crate::store::{ALL_GROUPS_PAUSED, Session};
use crate::trigger::{Trigger, TriggerState};
use std::collections::BTreeSet;

/// Read once per transaction.
pub(super) struct Standing {
    pub paused_groups: BTreeSet<String>,
    pub pauses_all: bool,
    /// Jobs of which a fire is executing that lets no other run beside it.
    executing_alone: BTreeSet<JobKey>,
    executing: BTreeSet<JobKey>,
}

impl Standing {
    pub(super) fn read(s: &mut dyn Session) -> Result<Self> {
        let paused_groups: BTreeSet<String> = s.paused_groups()?.into_iter().collect();
        let fired: Vec<_> = s.all_fired()?.into_iter().filter(|f| f.state == FiredState::Executing).collect();
        Ok(Self {
            pauses_all: paused_groups.contains(ALL_GROUPS_PAUSED),
            paused_groups,
            executing_alone: fired.iter().filter(|f| f.nonconcurrent).filter_map(|f| f.job.clone()).collect(),
            executing: fired.into_iter().filter_map(|f| f.job).collect(),
        })
    }

    /// Whether triggers of the job must be blocked.
    pub(super) fn is_blocked(&self, job: &JobKey, nonconcurrent: bool) -> bool {
        self.executing_alone.contains(job) || (nonconcurrent && self.executing.contains(job))
    }
}

/// The state in which a new trigger begins.
pub(super) fn state_of_new(standing: &Standing, trigger: &Trigger, nonconcurrent: bool) -> TriggerState {
    let paused = standing.pauses_all || standing.paused_groups.contains(trigger.key.group());
    match (paused, standing.is_blocked(&trigger.job_key, nonconcurrent)) {
        (true, true) => TriggerState::PausedBlocked,
        (true, false) => TriggerState::Paused,
        (false, true) => TriggerState::Blocked,
        (false, false) => TriggerState::Waiting,
    }
}
