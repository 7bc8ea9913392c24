//! Pausing and resuming triggers, jobs and groups, with Quartz's remembered groups.

use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::store::JobStore;

impl JobStore {
    /// Pauses triggers; those that do not exist are ignored. Returns how many changed.
    pub fn pause_triggers(&self, keys: &[TriggerKey]) -> Result<usize> {
        let _ = keys;
        todo!()
    }

    /// Pauses all triggers of the matching groups and remembers the groups; returns their names.
    pub fn pause_trigger_groups(&self, groups: &GroupMatcher) -> Result<Vec<String>> {
        let _ = groups;
        todo!()
    }

    /// Pauses the triggers of jobs.
    pub fn pause_jobs(&self, keys: &[JobKey]) -> Result<usize> {
        let _ = keys;
        todo!()
    }

    /// Pauses the triggers of all jobs of the matching job groups; the groups are not remembered, as in Quartz.
    pub fn pause_job_groups(&self, groups: &GroupMatcher) -> Result<usize> {
        let _ = groups;
        todo!()
    }

    /// Pauses every group, also those to come.
    pub fn pause_all(&self) -> Result<()> {
        todo!()
    }

    /// Resumes triggers; `apply_misfires` as far as the scheduler is started.
    pub fn resume_triggers(&self, keys: &[TriggerKey], apply_misfires: bool) -> Result<usize> {
        let _ = (keys, apply_misfires);
        todo!()
    }

    /// Resumes all triggers of the matching groups and forgets the pauses; returns the groups.
    pub fn resume_trigger_groups(&self, groups: &GroupMatcher, apply_misfires: bool) -> Result<Vec<String>> {
        let _ = (groups, apply_misfires);
        todo!()
    }

    /// Resumes the triggers of jobs.
    pub fn resume_jobs(&self, keys: &[JobKey], apply_misfires: bool) -> Result<usize> {
        let _ = (keys, apply_misfires);
        todo!()
    }

    /// Resumes the triggers of all jobs of the matching job groups.
    pub fn resume_job_groups(&self, groups: &GroupMatcher, apply_misfires: bool) -> Result<usize> {
        let _ = (groups, apply_misfires);
        todo!()
    }

    /// Resumes everything.
    pub fn resume_all(&self, apply_misfires: bool) -> Result<()> {
        let _ = apply_misfires;
        todo!()
    }

    /// Takes a trigger out of the error state; returns whether it was in it.
    pub fn reset_from_error(&self, key: &TriggerKey) -> Result<bool> {
        let _ = key;
        todo!()
    }

    /// The remembered paused groups, with the marker [`ALL_GROUPS_PAUSED`](crate::store::ALL_GROUPS_PAUSED).
    pub fn paused_groups(&self) -> Result<Vec<String>> {
        todo!()
    }
}
