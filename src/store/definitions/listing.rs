//! Looking at what is stored.

use super::TriggerSummary;
use crate::error::Result;
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::store::JobStore;
use crate::trigger::{Trigger, TriggerState};

impl JobStore {
    /// The job of this key, with its data.
    pub fn job(&self, key: &JobKey) -> Result<Option<JobDetail>> {
        let _ = key;
        todo!()
    }

    /// The trigger of this key, with its data.
    pub fn trigger(&self, key: &TriggerKey) -> Result<Option<Trigger>> {
        let _ = key;
        todo!()
    }

    /// The state of a trigger.
    pub fn trigger_state(&self, key: &TriggerKey) -> Result<Option<TriggerState>> {
        let _ = key;
        todo!()
    }

    /// The jobs of the matching groups, without their data.
    pub fn jobs(&self, groups: &GroupMatcher) -> Result<Vec<JobDetail>> {
        let _ = groups;
        todo!()
    }

    /// The triggers of the matching groups.
    pub fn trigger_summaries(&self, groups: &GroupMatcher) -> Result<Vec<TriggerSummary>> {
        let _ = groups;
        todo!()
    }

    /// The triggers of a job, with their data.
    pub fn triggers_of_job(&self, key: &JobKey) -> Result<Vec<Trigger>> {
        let _ = key;
        todo!()
    }
}
