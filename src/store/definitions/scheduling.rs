//! Scheduling: jobs and triggers come, are replaced, and go.

use crate::data_map::JobDataMap;
use crate::error::Result;
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey};
use crate::store::JobStore;
use crate::trigger::Trigger;

impl JobStore {
    /// Stores jobs, each with its triggers (any number), and returns the triggers with their first fire times.
    pub fn schedule(&self, work: Vec<(JobDetail, Vec<Trigger>)>, replace: bool) -> Result<Vec<Trigger>> {
        let _ = (work, replace);
        todo!()
    }

    /// Stores a job without a trigger; it must be durable.
    pub fn add_job(&self, job: &JobDetail, replace: bool) -> Result<()> {
        let _ = (job, replace);
        todo!()
    }

    /// Stores a trigger for a job that is stored already.
    pub fn add_trigger(&self, trigger: Trigger, replace: bool) -> Result<Trigger> {
        let _ = (trigger, replace);
        todo!()
    }

    /// Puts `trigger` in the place of the trigger `key`; none if there is no such trigger.
    pub fn reschedule(&self, key: &TriggerKey, trigger: Trigger) -> Result<Option<Trigger>> {
        let _ = (key, trigger);
        todo!()
    }

    /// Deletes triggers, and jobs that are left without one and are not durable; returns how many triggers there were.
    pub fn unschedule(&self, keys: &[TriggerKey]) -> Result<usize> {
        let _ = keys;
        todo!()
    }

    /// Deletes jobs with all their triggers; returns how many jobs there were.
    pub fn delete_jobs(&self, keys: &[JobKey]) -> Result<usize> {
        let _ = keys;
        todo!()
    }

    /// Makes a one-shot trigger that fires now.
    pub fn trigger_job(&self, job: &JobKey, data: JobDataMap) -> Result<TriggerKey> {
        let _ = (job, data);
        todo!()
    }

    /// Deletes all jobs, triggers and pauses of the scheduler; running fires end as usual.
    pub fn clear(&self) -> Result<()> {
        todo!()
    }
}
