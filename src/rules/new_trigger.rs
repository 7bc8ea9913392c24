//! `PauseState`: pauses and running fires, and the state in which they leave a new trigger.

use crate::hash::HashMap;
use crate::key::{JobKey, TriggerKey};
use crate::trigger::TriggerState;
use std::collections::BTreeSet;

/// The marker in `PAUSED_TRIGGER_GRPS` that pauses every group, also those to come.
pub const ALL_GROUPS_PAUSED: &str = "_$_ALL_GROUPS_PAUSED_$_";

/// The paused groups, and the jobs of which fires are executing: read once per transaction.
#[derive(Clone, Debug, Default)]
pub(crate) struct PauseState {
    paused_groups: BTreeSet<String>,
    /// Jobs with executing fires, each with whether one of these lets no other run beside it.
    executing: HashMap<JobKey, bool>,
}

impl PauseState {
    pub(crate) fn new(
        paused_groups: impl IntoIterator<Item = String>,
        executing: impl IntoIterator<Item = (JobKey, bool)>,
    ) -> Self {
        Self { paused_groups: paused_groups.into_iter().collect(), executing: executing.into_iter().collect() }
    }

    /// True if triggers of the group are paused, by its name or with all others.
    pub(crate) fn is_paused(&self, group: &str) -> bool {
        self.paused_groups.contains(group) || self.paused_groups.contains(ALL_GROUPS_PAUSED)
    }

    /// True if the group is paused only with all others: its next trigger makes it a paused group.
    pub(crate) fn is_paused_with_all(&self, group: &str) -> bool {
        self.paused_groups.contains(ALL_GROUPS_PAUSED) && !self.paused_groups.contains(group)
    }

    /// True if triggers of the job are blocked: a fire runs that lets no other run beside it.
    ///
    /// As in Quartz the fire says so, by the job that was stored when the fire began. The end of
    /// that fire unblocks the triggers. A job that has disallowed concurrent execution
    /// since then blocks nobody: acquisitions leave its triggers alone while it runs.
    pub(crate) fn is_blocked(&self, job: &JobKey) -> bool {
        self.executing.get(job).is_some_and(|alone| *alone)
    }

    /// True if a fire of the job runs.
    pub(crate) fn is_executing(&self, job: &JobKey) -> bool {
        self.executing.contains_key(job)
    }

    /// The state in which a trigger of the job begins, or begins anew.
    pub(crate) fn state_of_new(&self, trigger: &TriggerKey, job: &JobKey) -> TriggerState {
        state_of_new(self.is_paused(trigger.group()), self.is_blocked(job))
    }
}

/// The state of a trigger that only a pause or a running fire may keep from waiting.
pub(crate) fn state_of_new(is_paused: bool, is_blocked: bool) -> TriggerState {
    match (is_paused, is_blocked) {
        (true, true) => TriggerState::PausedBlocked,
        (true, false) => TriggerState::Paused,
        (false, true) => TriggerState::Blocked,
        (false, false) => TriggerState::Waiting,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use TriggerState::{Blocked, Paused, PausedBlocked, Waiting};

    /// The state of a trigger in group `g` of job `g.j`.
    fn state(paused: &[&str], executing: Option<bool>) -> TriggerState {
        let job = JobKey::new("g", "j");
        let executing = executing.map(|alone| (job.clone(), alone));
        let state = PauseState::new(paused.iter().map(|group| (*group).to_owned()), executing);
        state.state_of_new(&TriggerKey::new("g", "t"), &job)
    }

    #[test]
    fn pauses_and_running_fires_decide_the_state_of_a_new_trigger() {
        for (paused, free, blocked) in [
            (&[][..], Waiting, Blocked),
            (&["other"], Waiting, Blocked),
            (&["g"], Paused, PausedBlocked),
            (&[ALL_GROUPS_PAUSED], Paused, PausedBlocked),
        ] {
            // The executing fire of the job, if any: true if it lets no other run beside it.
            for (executing, expected) in [(None, free), (Some(false), free), (Some(true), blocked)] {
                assert_eq!(state(paused, executing), expected, "{paused:?} {executing:?}");
            }
        }
    }

    #[test]
    fn fires_of_other_jobs_block_nothing() {
        let state = PauseState::new([], [(JobKey::new("g", "other"), true)]);
        assert_eq!(state.state_of_new(&TriggerKey::new("g", "t"), &JobKey::new("g", "j")), Waiting);
    }
}
