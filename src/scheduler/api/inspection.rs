//! Looking at what is stored, at what runs, and at how this node is doing.

use super::handle::Scheduler;
use crate::error::Result;
use crate::job::{JobDetail, JobFilter};
use crate::key::{JobKey, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::scheduler::run::run_handle::{RunHandle, RunningJob};
use crate::scheduler::run::stop_reason::StopReason;
use crate::store::row::{ActionRow, HistoryRow, JobQuery, LastRunRow, Page, TriggerQuery};
use crate::store::{
    ActionQuery, FailedFire, FiredTrigger, HistoryPruning, HistoryQuery, HistorySummary, InstanceStatus, RunRecord,
    SubmittedWork, TriggerSummary,
};
use crate::trigger::{Trigger, TriggerState};

/// Methods that ask the store may fail with what can go wrong with it.
impl Scheduler {
    /// The job of this key.
    #[doc(alias = "getJobDetail")]
    pub fn job(&self, key: &JobKey) -> Result<Option<JobDetail>> {
        self.store().catalogue().job(key)
    }

    /// The trigger of this key.
    pub fn trigger(&self, key: &TriggerKey) -> Result<Option<Trigger>> {
        self.store().catalogue().trigger(key)
    }

    /// The state of a trigger; none if there is no such trigger.
    pub fn trigger_state(&self, key: &TriggerKey) -> Result<Option<TriggerState>> {
        self.store().catalogue().trigger_state(key)
    }

    /// True if there is a job of this key.
    #[doc(alias = "checkExists")]
    pub fn job_exists(&self, key: &JobKey) -> Result<bool> {
        self.store().catalogue().job_exists(key)
    }

    /// True if there is a trigger of this key.
    #[doc(alias = "checkExists")]
    pub fn trigger_exists(&self, key: &TriggerKey) -> Result<bool> {
        self.store().catalogue().trigger_exists(key)
    }

    /// The groups that have jobs, in order.
    #[doc(alias = "getJobGroupNames")]
    pub fn job_groups(&self) -> Result<Vec<String>> {
        self.store().catalogue().job_groups()
    }

    /// The groups that have triggers, in order.
    #[doc(alias = "getTriggerGroupNames")]
    pub fn trigger_groups(&self) -> Result<Vec<String>> {
        self.store().catalogue().trigger_groups()
    }

    /// The jobs of the matching groups, without their data.
    #[doc(alias = "getJobKeys")]
    pub fn jobs(&self, groups: &GroupMatcher) -> Result<Vec<JobDetail>> {
        self.store().catalogue().jobs(groups)
    }

    /// The triggers of the matching groups.
    #[doc(alias = "getTriggerKeys")]
    pub fn triggers(&self, groups: &GroupMatcher) -> Result<Vec<TriggerSummary>> {
        self.store().catalogue().trigger_summaries(groups)
    }

    /// The jobs that the filter asks for by their marks, without their data.
    pub fn find_jobs(&self, filter: &JobFilter) -> Result<Vec<JobDetail>> {
        self.store().catalogue().find_jobs(filter)
    }

    /// The triggers of the filter's groups whose jobs it asks for.
    pub fn find_triggers(&self, filter: &JobFilter) -> Result<Vec<TriggerSummary>> {
        self.store().catalogue().find_triggers(filter)
    }

    /// A page of the stored triggers, read by the database alone.
    pub fn list_triggers(&self, query: &TriggerQuery) -> Result<Page<TriggerSummary>> {
        self.store().catalogue().list_triggers(query)
    }

    /// The number of triggers that a query asks for, on all pages together.
    pub fn count_triggers(&self, query: &TriggerQuery) -> Result<usize> {
        self.store().catalogue().count_triggers(query)
    }

    /// A page of the stored jobs, without their data, read by the database alone.
    pub fn list_jobs(&self, query: &JobQuery) -> Result<Page<JobDetail>> {
        self.store().catalogue().list_jobs(query)
    }

    /// The number of jobs that a query asks for, on all pages together.
    pub fn count_jobs(&self, query: &JobQuery) -> Result<usize> {
        self.store().catalogue().count_jobs(query)
    }

    /// The fires that are reserved or running in the cluster and whose jobs the filter asks for.
    pub fn find_fires(&self, filter: &JobFilter) -> Result<Vec<FiredTrigger>> {
        self.store().catalogue().find_fired(filter)
    }

    /// The triggers of a job.
    pub fn triggers_of_job(&self, key: &JobKey) -> Result<Vec<Trigger>> {
        self.store().catalogue().triggers_of_job(key)
    }

    /// The fires that are reserved or running in the cluster.
    pub fn running_fires(&self) -> Result<Vec<FiredTrigger>> {
        self.store().upkeep().fired_triggers()
    }

    /// The fires that have ended, and with [`HistoryQuery::running`] those that run, of all nodes,
    /// as far as the query asks for them; the newest first.
    ///
    /// `carnelian.history.record` says which fires are recorded, `carnelian.history.retention` and
    /// `carnelian.history.maxRows` for how long. Nodes of Quartz record none.
    pub fn history(&self, query: &HistoryQuery) -> Result<Vec<HistoryRow>> {
        self.store().history().find(query)
    }

    /// All that is known of one run, by its fire's id: its row of the history, the runs of the same
    /// work, what will run it once more, and what it has logged. None if nothing is known.
    pub fn run_record(&self, fire_id: &str) -> Result<Option<RunRecord>> {
        self.store().history().run_record(fire_id)
    }

    /// The number of fires of each job by outcome, and their durations, of those that are asked
    /// for.
    pub fn history_summary(&self, query: &HistoryQuery) -> Result<HistorySummary> {
        self.store().history().summary(query)
    }

    /// The last run of a job on each node that has run it, of a job that [several nodes
    /// run](crate::JobPolicy::strategy); none of other jobs. The last run of a node that is there
    /// is kept as long as the job is, whatever the history forgets; that of a node that is gone as
    /// long as the history.
    pub fn last_runs(&self, job: &JobKey) -> Result<Vec<LastRunRow>> {
        self.store().history().last_runs(job)
    }

    /// The actions of people, and of programs by the administrative API, that the query asks for,
    /// the newest first: what was paused, resumed, deleted, replaced, drained … and by whom.
    /// Actions are kept for `carnelian.history.retention`.
    ///
    /// To store new work is no action, nor is what a program triggers by itself; see
    /// [`Scheduler::as_actor`].
    pub fn actions(&self, query: &ActionQuery) -> Result<Vec<ActionRow>> {
        self.store().history().actions(query)
    }

    /// Forgets rows of the history now; returns how many. The longest-serving node does what the
    /// settings say by itself, every `carnelian.history.cleanUpInterval`.
    pub fn prune_history(&self, pruning: &HistoryPruning) -> Result<u64> {
        self.open_store()?.history().prune(pruning)
    }

    /// Runs the work of a fire of the history again at once, in a fire of its own, with the data of
    /// its trigger, or of that of the first fire of its chain, if one of these is still there. A
    /// one-shot goes with its run, and the data of its job are what is left. Returns the trigger,
    /// which is in the group `RETRYING_JOBS`.
    ///
    /// # Errors
    /// [`Error::NotFound`](crate::Error::NotFound) if the history has no such fire, or its job is
    /// gone; [`Error::Refused`](crate::Error::Refused) if it succeeded, never began, is going to be
    /// run again anyway, or was a part of a tick, or followed another job, and its trigger is gone.
    pub fn retry(&self, fire_id: &str) -> Result<TriggerKey> {
        let key = self.open_store()?.firing().retry_fire(fire_id)?;
        self.wake();
        Ok(key)
    }

    /// The nodes of the cluster, with what those of ours said of themselves at their last check-in.
    pub fn instances(&self) -> Result<Vec<InstanceStatus>> {
        self.store().upkeep().instances()
    }

    /// One node of the cluster, by the name of its instance.
    pub fn instance(&self, name: &str) -> Result<Option<InstanceStatus>> {
        self.store().upkeep().instance(name)
    }

    /// The fires that this node has, in the order in which they were fired: those that its workers
    /// run, and of a backlog those that wait for a worker.
    #[doc(alias = "getCurrentlyExecutingJobs")]
    pub fn running_here(&self) -> Vec<RunningJob> {
        self.inner.node.running_fires.shown(self.inner.node.clock.ticks())
    }

    /// Asks all runs of a job on this node to stop; returns how many there are. After that the
    /// orders are written down, so that nobody does the work again should this node die.
    ///
    /// A job learns it from [`JobContext::is_interrupted`](crate::JobContext::is_interrupted). One
    /// that does not look is asked `carnelian.job.stopAttempts` times, `carnelian.job.stopWait`
    /// apart (3 × 3 s); then its fire ends as cancelled, and its worker is given up.
    pub fn interrupt(&self, key: &JobKey) -> usize {
        let fires = self.inner.node.running_fires.all();
        let its: Vec<_> = fires.iter().filter(|fire| fire.job == *key).collect();
        for fire in &its {
            self.stop_here(fire, StopReason::Cancelled);
        }
        its.iter().for_each(|fire| self.record_cancel(fire.fire_id()));
        its.len()
    }

    /// Asks one run on this node to stop; false if it is not here. After that the order is written
    /// down, as by [`Scheduler::interrupt`].
    pub fn interrupt_fire(&self, fire_id: &str) -> bool {
        let fires = self.inner.node.running_fires.all();
        let found = fires.iter().find(|fire| fire.fire_id() == fire_id);
        if let Some(fire) = found {
            self.stop_here(fire, StopReason::Cancelled);
            self.record_cancel(fire_id);
        }
        found.is_some()
    }

    /// Writes down that a run of this node was cancelled: for those who find the run dead, and in
    /// the log of actions. The run has learned it, whether or not that can be written down.
    fn record_cancel(&self, fire_id: &str) {
        if let Err(error) = self.store().upkeep().note_cancel(fire_id, self.actor()) {
            log::warn!(
                "a run was asked to stop and that cannot be written down: should its node die now, its work may run again \
                 fire={fire_id} error={error}"
            );
        }
    }

    /// Asks a run of this node to stop, and has its watch see to it.
    pub(crate) fn stop_here(&self, fire: &RunHandle, reason: StopReason) {
        let node = &self.inner.node;
        fire.stop(reason, node.clock.ticks());
        node.services.run_watch.wake();
    }

    /// Asks one run to stop, wherever in the cluster it is; false if it does not run, or if it runs
    /// on another node and was asked before. Another node learns it at once, or with its next poll.
    /// A run on a node of Quartz cannot be reached.
    ///
    /// # Errors
    /// What can go wrong with the store.
    pub fn cancel_fire(&self, fire_id: &str) -> Result<bool> {
        if self.interrupt_fire(fire_id) {
            return Ok(true);
        }
        Ok(self.open_store()?.upkeep().request_cancels(&[fire_id.to_owned()], self.actor())? > 0)
    }

    /// Declares a running fire failed, wherever in the cluster it is: it ends in the history with
    /// this reason, and its job's retry policy applies. None if no such fire runs. The node of the
    /// fire holds it no longer, and learns so with its next heartbeat; see
    /// [`JobContext::holds_fire`](crate::JobContext::holds_fire).
    ///
    /// # Errors
    /// [`Error::Refused`](crate::Error::Refused) for a fire of a node of Quartz; what can go wrong
    /// with the store.
    pub fn fail_fire(&self, fire_id: &str, reason: &str) -> Result<Option<FailedFire>> {
        let failed = self.open_store()?.firing().fail_fire(fire_id, reason)?;
        if let Some(failed) = &failed {
            for fire in self.inner.node.running_fires.all().iter().filter(|fire| fire.fire_id() == fire_id) {
                fire.revoke();
            }
            if failed.paused {
                self.tell("trigger_paused", |listener| listener.trigger_paused(&failed.trigger));
            }
            self.wake();
        }
        Ok(failed)
    }

    /// The job types this node can run.
    pub fn job_types(&self) -> Vec<String> {
        self.inner.registry.names().to_vec()
    }

    /// The work that was [submitted](Scheduler::submit) with this request id, or scheduled by
    /// `carnelian schedule --request-id`, by whichever process;
    /// none if nothing was, or if the id is forgotten: seven days after it was taken, and not
    /// before the work is over.
    ///
    /// ```
    /// use carnelian::{Scheduler, Submission};
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// scheduler.submit(Submission::new("mail").request_id("order-17"))?;
    /// let work = scheduler.submission("order-17")?.expect("it was submitted");
    /// assert_eq!(work.state.name(), "pending");
    /// assert!(scheduler.submission("order-18")?.is_none());
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for an id that cannot be stored, and what can go
    /// wrong with the store.
    pub fn submission(&self, request_id: &str) -> Result<Option<SubmittedWork>> {
        self.open_store()?.diagnosis().submission(request_id)
    }
}
