//! Looking at what is stored, at what runs, and at how this node is doing.

use super::Scheduler;
use super::health::Health;
use super::running::RunningJob;
use super::stop::StopReason;
use crate::error::Result;
use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::store::row::HistoryRow;
use crate::store::{FiredTrigger, HistoryQuery, InstanceStatus, TriggerSummary};
use crate::trigger::{Trigger, TriggerState};
use std::sync::atomic::Ordering;

/// Those that ask the store may fail with what can go wrong with it.
impl Scheduler {
    /// The job of this key.
    #[doc(alias = "getJobDetail")]
    pub fn job(&self, key: &JobKey) -> Result<Option<JobDetail>> {
        self.store().job(key)
    }

    /// The trigger of this key.
    pub fn trigger(&self, key: &TriggerKey) -> Result<Option<Trigger>> {
        self.store().trigger(key)
    }

    /// The state of a trigger; none if there is no such trigger.
    pub fn trigger_state(&self, key: &TriggerKey) -> Result<Option<TriggerState>> {
        self.store().trigger_state(key)
    }

    /// Whether there is a job of this key.
    #[doc(alias = "checkExists")]
    pub fn job_exists(&self, key: &JobKey) -> Result<bool> {
        self.store().job_exists(key)
    }

    /// Whether there is a trigger of this key.
    #[doc(alias = "checkExists")]
    pub fn trigger_exists(&self, key: &TriggerKey) -> Result<bool> {
        self.store().trigger_exists(key)
    }

    /// The groups that have jobs, in order.
    #[doc(alias = "getJobGroupNames")]
    pub fn job_groups(&self) -> Result<Vec<String>> {
        self.store().job_groups()
    }

    /// The groups that have triggers, in order.
    #[doc(alias = "getTriggerGroupNames")]
    pub fn trigger_groups(&self) -> Result<Vec<String>> {
        self.store().trigger_groups()
    }

    /// The jobs of the matching groups, without their data.
    #[doc(alias = "getJobKeys")]
    pub fn jobs(&self, groups: &GroupMatcher) -> Result<Vec<JobDetail>> {
        self.store().jobs(groups)
    }

    /// The triggers of the matching groups.
    #[doc(alias = "getTriggerKeys")]
    pub fn triggers(&self, groups: &GroupMatcher) -> Result<Vec<TriggerSummary>> {
        self.store().trigger_summaries(groups)
    }

    /// The triggers of a job.
    pub fn triggers_of_job(&self, key: &JobKey) -> Result<Vec<Trigger>> {
        self.store().triggers_of_job(key)
    }

    /// The fires that are reserved or running in the cluster.
    pub fn running_fires(&self) -> Result<Vec<FiredTrigger>> {
        self.store().fired_triggers()
    }

    /// The fires that have ended and are asked for, the newest first, whichever node ran them.
    ///
    /// What is written down, and how long it is kept, is set by `carnelian.history.record`, `carnelian.history.retention`
    /// and `carnelian.history.maxRows`. Nodes of Quartz write nothing down.
    pub fn history(&self, query: &HistoryQuery) -> Result<Vec<HistoryRow>> {
        self.store().history(query)
    }

    /// Runs the work of a fire of the history again at once, in a fire of its own, with the data of its trigger, if that is
    /// still there. Returns the trigger, which is in the group `RETRYING_JOBS`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if the history has no such fire, or its job is gone;
    /// [`Error::Refused`](crate::Error::Refused) if it succeeded, never began, or is going to be run again anyway.
    pub fn retry(&self, fire_id: &str) -> Result<TriggerKey> {
        let key = self.open_store()?.retry_fire(fire_id)?;
        self.signal_change();
        Ok(key)
    }

    /// The nodes of the cluster, with what those of ours said of themselves at their last check-in.
    pub fn instances(&self) -> Result<Vec<InstanceStatus>> {
        self.store().instances()
    }

    /// One node of the cluster, by the name of its instance.
    pub fn instance(&self, name: &str) -> Result<Option<InstanceStatus>> {
        self.store().instance(name)
    }

    /// The fires that workers of this node have.
    #[doc(alias = "getCurrentlyExecutingJobs")]
    pub fn running_here(&self) -> Vec<RunningJob> {
        let node = &self.inner.node;
        let now = node.clock.ticks();
        node.standing.fires().iter().map(|fire| fire.show(now)).collect()
    }

    /// Asks all runs of a job on this node to stop; returns how many there are.
    ///
    /// A job learns it from [`JobContext::is_interrupted`](crate::JobContext::is_interrupted), or does not look.
    pub fn interrupt(&self, key: &JobKey) -> usize {
        let fires = self.inner.node.standing.fires();
        let its: Vec<_> = fires.iter().filter(|fire| fire.job == *key).collect();
        for fire in &its {
            fire.stop(StopReason::Cancelled);
        }
        its.len()
    }

    /// Asks one run on this node to stop; false if it is not here.
    pub fn interrupt_fire(&self, fire_id: &str) -> bool {
        let fires = self.inner.node.standing.fires();
        let found = fires.iter().find(|fire| fire.fire_id() == fire_id);
        if let Some(fire) = found {
            fire.stop(StopReason::Cancelled);
        }
        found.is_some()
    }

    /// Asks one run to stop, wherever in the cluster it is; false if it does not run, or was asked before. Another node
    /// learns it with its next heartbeat. A run on a node of Quartz cannot be reached.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn cancel_fire(&self, fire_id: &str) -> Result<bool> {
        if self.interrupt_fire(fire_id) {
            return Ok(true);
        }
        let who = format!("instance {}", self.instance_id());
        Ok(self.open_store()?.request_cancels(&[fire_id.to_owned()], &who)? > 0)
    }

    /// How this node is doing; asks nothing of the store.
    pub fn health(&self) -> Health {
        let node = &self.inner.node;
        let now = node.clock.ticks();
        let (workers, free_workers, stray_threads) = self.workers();
        let is_registered = node.standing.owner().is_some();
        Health {
            scheduler: node.name.to_string(),
            instance: node.instance.to_string(),
            is_firing: self.is_started() && node.is_firing(),
            stopping: node.stopping(),
            is_registered,
            is_suspicious: is_registered && node.standing.owner_for_new_work().is_none(),
            takes_no_work: node.barred.lock().as_ref().map(ToString::to_string),
            is_active: node.active.load(Ordering::SeqCst),
            since_checkin: node.standing.since_checkin(),
            workers,
            free_workers,
            running: node.standing.running(),
            stuck_fires: node.standing.fires().iter().filter(|fire| fire.is_stuck()).count(),
            stray_threads,
            reserved: node.reserved.load(Ordering::Relaxed),
            unrecorded: node.unrecorded.count(),
            quarantined: node.quarantine.list(),
            orphans: node.orphans.load(Ordering::Relaxed),
            services: [&node.acquirer, &node.misfire, &node.cluster, &node.completer, &node.heartbeat, &node.clean_up]
                .into_iter()
                .chain(Some(&node.job_files).filter(|_| !node.settings.plugins.job_files.is_empty()))
                .map(|post| post.record.health(now))
                .collect(),
            counters: node.counters.values(),
        }
    }

    /// The job types this node can run.
    pub fn job_types(&self) -> Vec<String> {
        self.inner.node.registry.names().to_vec()
    }
}
