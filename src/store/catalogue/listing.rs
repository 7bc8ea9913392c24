//! Looking at what is stored.

use super::Catalogue;
use crate::data_map::JobDataMap;
use crate::error::Result;
use crate::job::{JobDetail, JobFilter, JobMarks, JobPolicy};
use crate::key::{JobKey, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::store::FiredTrigger;
use crate::store::row::{Grouped, JobRow, JobSelection, TriggerRow, TriggerSelection, TriggerSummary};
use crate::store::schedule_row::unreadable;
use crate::trigger::{Trigger, TriggerState};
use std::collections::BTreeSet;

/// The most jobs whose triggers are read job by job; for more, all triggers are read.
const FEW_JOBS: usize = 50;

impl Catalogue<'_> {
    /// The job of this key, with its data.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) if its data cannot be read.
    pub fn job(&self, key: &JobKey) -> Result<Option<JobDetail>> {
        let (row, versions) = self.store.read("read a job", |s| {
            let row = s.job(key)?;
            let versions = if row.is_some() { s.job_versions(std::slice::from_ref(key))? } else { Vec::new() };
            Ok((row, versions))
        })?;
        let Some(row) = row else { return Ok(None) };
        let mut job = self.store.job_detail(&row)?;
        job.version = self.node.types.read().noted_version(&job, &versions);
        Ok(Some(job))
    }

    /// True if there is a job of this key, readable or not.
    pub fn job_exists(&self, key: &JobKey) -> Result<bool> {
        Ok(!self.store.read("look for a job", |s| s.existing_jobs(std::slice::from_ref(key)))?.is_empty())
    }

    /// The keys, of these, of which there is a trigger, readable or not.
    pub fn existing_triggers(&self, keys: &[TriggerKey]) -> Result<Vec<TriggerKey>> {
        self.store.read("look for triggers", |s| s.trigger_keys(TriggerSelection::Keys(keys)))
    }

    /// True if there is a trigger of this key, readable or not.
    pub fn trigger_exists(&self, key: &TriggerKey) -> Result<bool> {
        Ok(!self
            .store
            .read("look for a trigger", |s| s.trigger_keys(TriggerSelection::Keys(std::slice::from_ref(key))))?
            .is_empty())
    }

    /// The groups that have jobs, in order.
    pub fn job_groups(&self) -> Result<Vec<String>> {
        self.store.read("list the groups of jobs", |s| s.groups(Grouped::Jobs))
    }

    /// The groups that have triggers, in order.
    pub fn trigger_groups(&self) -> Result<Vec<String>> {
        self.store.read("list the groups of triggers", |s| s.groups(Grouped::Triggers))
    }

    /// The trigger of this key, with its data.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) if a column cannot be read.
    pub fn trigger(&self, key: &TriggerKey) -> Result<Option<Trigger>> {
        let row = self.store.read("read a trigger", |s| s.trigger(key))?;
        row.map(|row| self.store.trigger_value(&row)).transpose()
    }

    /// The state of a trigger; none if there is no such trigger.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) if the state is none we know.
    pub fn trigger_state(&self, key: &TriggerKey) -> Result<Option<TriggerState>> {
        let row = self.store.read("read a trigger's state", |s| s.trigger(key))?;
        let state = |row: TriggerRow| {
            TriggerState::from_name(&row.state).ok_or_else(|| {
                let reason = format!("TRIGGER_STATE = `{}`: expected one of the states of Quartz", row.state);
                unreadable(&row, reason)
            })
        };
        row.map(state).transpose()
    }

    /// The jobs of the matching groups, without their data, in order.
    pub fn jobs(&self, groups: &GroupMatcher) -> Result<Vec<JobDetail>> {
        self.find_jobs(&JobFilter::new().groups(groups.clone()))
    }

    /// The jobs that the filter asks for, without their data, in order.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn find_jobs(&self, filter: &JobFilter) -> Result<Vec<JobDetail>> {
        let rows = match filter.asks_for_marks() {
            true => self.store.read("look for jobs", |s| s.jobs(JobSelection::Marked(filter)))?,
            false => self.store.read("list jobs", |s| s.jobs(JobSelection::All))?,
        };
        Ok(rows.into_iter().filter(|row| filter.takes_group(row.key.group())).map(without_data).collect())
    }

    /// The triggers of the matching groups, in order; also those that cannot be fired because a row
    /// is damaged.
    pub fn trigger_summaries(&self, groups: &GroupMatcher) -> Result<Vec<TriggerSummary>> {
        self.find_triggers(&JobFilter::new().groups(groups.clone()))
    }

    /// The trigger of this key as a list shows it; also one that cannot be fired because a row is
    /// damaged.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn trigger_summary(&self, key: &TriggerKey) -> Result<Option<TriggerSummary>> {
        Ok(self.store.read("read a trigger", |s| s.trigger(key))?.map(TriggerSummary::from))
    }

    /// The triggers of the filter's groups whose jobs it asks for, in order.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn find_triggers(&self, filter: &JobFilter) -> Result<Vec<TriggerSummary>> {
        let rows = self.store.read("list triggers", |s| {
            if !filter.asks_for_marks() {
                return s.triggers(TriggerSelection::All);
            }
            let jobs: BTreeSet<JobKey> = s.jobs(JobSelection::Marked(filter))?.into_iter().map(|row| row.key).collect();
            if jobs.len() > FEW_JOBS {
                return Ok(s
                    .triggers(TriggerSelection::All)?
                    .into_iter()
                    .filter(|row| jobs.contains(&row.job))
                    .collect());
            }
            let mut rows = Vec::new();
            for job in &jobs {
                rows.extend(s.triggers(TriggerSelection::OfJob(job))?);
            }
            rows.sort_by(|a, b| (a.key.group(), a.key.name()).cmp(&(b.key.group(), b.key.name())));
            Ok(rows)
        })?;
        Ok(rows.into_iter().filter(|row| filter.takes_group(row.key.group())).map(TriggerSummary::from).collect())
    }

    /// The waiting triggers that are due first, at most so many.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn due_next(&self, limit: usize) -> Result<Vec<TriggerSummary>> {
        let all = TriggerSelection::Waiting(0, i64::MAX, limit);
        let rows = self.store.glance("look at what is due", |s| s.triggers(all))?;
        Ok(rows.into_iter().map(TriggerSummary::from).collect())
    }

    /// The fires that are reserved or running in the cluster and whose jobs the filter asks for; of
    /// the groups of their jobs.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn find_fired(&self, filter: &JobFilter) -> Result<Vec<FiredTrigger>> {
        let mut fires = self.store.upkeep().fired_triggers()?;
        fires.retain(|fire| fire.job.as_ref().is_none_or(|job| filter.takes_group(job.group())));
        if filter.asks_for_marks() && !fires.is_empty() {
            let rows = self.store.read("look for jobs", |s| s.jobs(JobSelection::Marked(filter)))?;
            let jobs: BTreeSet<JobKey> = rows.into_iter().map(|row| row.key).collect();
            fires.retain(|fire| fire.job.as_ref().is_some_and(|job| jobs.contains(job)));
        }
        Ok(fires)
    }

    /// The triggers of a job, with their data.
    ///
    /// # Errors
    /// [`Error::Unreadable`](crate::Error::Unreadable) for the first that cannot be read.
    pub fn triggers_of_job(&self, key: &JobKey) -> Result<Vec<Trigger>> {
        let rows = self.store.read("list the triggers of a job", |s| s.triggers(TriggerSelection::OfJob(key)))?;
        rows.iter().map(|row| self.store.trigger_value(row)).collect()
    }

    /// The states of a job's triggers; none if there is no job of this key.
    pub(crate) fn trigger_states_of(&self, key: &JobKey) -> Result<Option<Vec<TriggerState>>> {
        self.store.read("look at the triggers of a job", |s| {
            if s.existing_jobs(std::slice::from_ref(key))?.is_empty() {
                return Ok(None);
            }
            let rows = s.triggers(TriggerSelection::OfJob(key))?;
            Ok(Some(rows.iter().filter_map(|row| TriggerState::from_name(&row.state)).collect()))
        })
    }

    /// An error that says what is wrong with the row of a job, if the row cannot be read.
    pub(in crate::store) fn check_job_row(&self, row: &JobRow) -> Result<()> {
        self.store.job_detail(row).map(drop)
    }

    /// An error that says what is wrong with the row of a trigger, if the row cannot be read.
    pub fn check_trigger_row(&self, row: &TriggerRow) -> Result<()> {
        self.store.trigger_value(row).map(drop)
    }
}

/// A job as a list shows it, of a row without its data.
pub(super) fn without_data(row: JobRow) -> JobDetail {
    let marks = row.marks.as_deref().and_then(|text| JobMarks::decode(text).ok());
    // A policy that cannot be read is `doctor`'s to name; the list goes on.
    let policy = row.policy.as_deref().and_then(|text| JobPolicy::decode(text).ok());
    JobDetail {
        policy: policy.and_then(JobPolicy::boxed),
        marks: marks.map(Box::new),
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
    }
}
