//! Looking at what is stored.

use super::TriggerSummary;
use crate::data_map::JobDataMap;
use crate::error::Result;
use crate::job::{JobDetail, JobPolicy};
use crate::key::{JobKey, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::store::JobStore;
use crate::store::row::JobRow;
use crate::trigger::{Trigger, TriggerState};
use std::collections::BTreeSet;

impl JobStore {
    /// The job of this key, with its data.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) if its data cannot be read.
    pub fn job(&self, key: &JobKey) -> Result<Option<JobDetail>> {
        let (row, versions) = self.read("read a job", |s| {
            let row = s.job(key)?;
            let versions = if row.is_some() { s.job_versions(std::slice::from_ref(key))? } else { Vec::new() };
            Ok((row, versions))
        })?;
        let Some(row) = row else { return Ok(None) };
        let mut job = self.job_detail(&row)?;
        job.version = self.noted_version(&job, &versions);
        Ok(Some(job))
    }

    /// Whether there is a job of this key, readable or not.
    pub fn job_exists(&self, key: &JobKey) -> Result<bool> {
        Ok(!self.read("look for a job", |s| s.existing_jobs(std::slice::from_ref(key)))?.is_empty())
    }

    /// Whether there is a trigger of this key, readable or not.
    pub fn trigger_exists(&self, key: &TriggerKey) -> Result<bool> {
        Ok(!self.read("look for a trigger", |s| s.existing_triggers(std::slice::from_ref(key)))?.is_empty())
    }

    /// The groups that have jobs, in order.
    pub fn job_groups(&self) -> Result<Vec<String>> {
        let jobs = self.read("list the groups of jobs", |s| s.jobs())?;
        Ok(jobs.into_iter().map(|row| row.key.group().to_owned()).collect::<BTreeSet<_>>().into_iter().collect())
    }

    /// The groups that have triggers, in order.
    pub fn trigger_groups(&self) -> Result<Vec<String>> {
        self.read("list the groups of triggers", |s| s.trigger_groups())
    }

    /// The trigger of this key, with its data.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) if a column cannot be read.
    pub fn trigger(&self, key: &TriggerKey) -> Result<Option<Trigger>> {
        let rows = self.read("read a trigger", |s| s.triggers(std::slice::from_ref(key)))?;
        rows.first().map(|row| self.trigger_value(row)).transpose()
    }

    /// The state of a trigger; none if there is no such trigger.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) if the state is none we know.
    pub fn trigger_state(&self, key: &TriggerKey) -> Result<Option<TriggerState>> {
        let rows = self.read("read a trigger's state", |s| s.triggers(std::slice::from_ref(key)))?;
        let state = |row: &crate::store::row::TriggerRow| {
            TriggerState::from_name(&row.state).ok_or_else(|| crate::Error::Unreadable {
                table: "TRIGGERS",
                key: row.key.to_string(),
                reason: format!("TRIGGER_STATE = `{}`: expected one of the states of Quartz", row.state),
            })
        };
        rows.first().map(state).transpose()
    }

    /// The jobs of the matching groups, without their data, in order.
    pub fn jobs(&self, groups: &GroupMatcher) -> Result<Vec<JobDetail>> {
        let rows = self.read("list jobs", |s| s.jobs())?;
        // A policy that cannot be read is `doctor`'s to name; the list goes on.
        let policy = |row: &JobRow| row.policy.as_deref().and_then(|text| JobPolicy::decode(text).ok());
        let plain = |row: JobRow| JobDetail {
            policy: policy(&row).unwrap_or_default(),
            key: row.key,
            job_type: row.job_type,
            description: row.description,
            durable: row.durable,
            requests_recovery: row.requests_recovery,
            disallow_concurrent_execution: row.nonconcurrent,
            persist_job_data_after_execution: row.update_data,
            data: JobDataMap::new(),
            version: None,
            even_if_deprecated: false,
            even_beside_quartz: false,
        };
        Ok(rows.into_iter().filter(|row| groups.matches(row.key.group())).map(plain).collect())
    }

    /// The triggers of the matching groups, in order; also those that cannot be fired because a row is damaged.
    pub fn trigger_summaries(&self, groups: &GroupMatcher) -> Result<Vec<TriggerSummary>> {
        let rows = self.read("list triggers", |s| s.all_triggers())?;
        let summary = |row: crate::store::row::TriggerRow| TriggerSummary {
            key: row.key,
            job: row.job,
            kind: row.kind,
            state: row.state,
            next_fire_ms: row.next_ms,
            previous_fire_ms: row.previous_ms,
            priority: row.priority,
            misfire: row.misfire,
        };
        Ok(rows.into_iter().filter(|row| groups.matches(row.key.group())).map(summary).collect())
    }

    /// The triggers of a job, with their data.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) for the first that cannot be read.
    pub fn triggers_of_job(&self, key: &JobKey) -> Result<Vec<Trigger>> {
        let rows = self.read("list the triggers of a job", |s| s.triggers_of_job(key))?;
        rows.iter().map(|row| self.trigger_value(row)).collect()
    }

    /// Whether the row of a trigger can be read, else what is wrong with it.
    pub fn check_trigger_row(&self, row: &crate::store::row::TriggerRow) -> Result<()> {
        self.trigger_value(row).map(drop)
    }

    /// Whether the row of a job can be read, else what is wrong with it.
    pub fn check_job_row(&self, row: &JobRow) -> Result<()> {
        self.job_detail(row).map(drop)
    }
}
