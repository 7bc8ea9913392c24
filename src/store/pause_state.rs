//! Reading what decides the state of a new trigger: paused groups and executing fires.

use super::Session;
use crate::error::Result;
use crate::key::JobKey;
use crate::rules::new_trigger::PauseState;
use std::collections::BTreeSet;

impl PauseState {
    /// The state for triggers of these jobs.
    pub(super) fn read<'a>(s: &mut dyn Session, jobs: impl IntoIterator<Item = &'a JobKey>) -> Result<Self> {
        let jobs: BTreeSet<&JobKey> = jobs.into_iter().collect();
        let jobs: Vec<JobKey> = jobs.into_iter().cloned().collect();
        let paused_groups = s.paused_groups()?;
        let executing = if jobs.is_empty() { Vec::new() } else { s.executing_jobs(&jobs)? };
        Ok(Self::new(paused_groups, executing))
    }
}
