//! Pausing and resuming through the scheduler.

use super::handle::Scheduler;
use crate::error::Result;
use crate::key::{JobKey, TriggerKey};
use crate::listener::SchedulerListener;
use crate::matcher::GroupMatcher;
use crate::scheduler::run::stop_reason::StopReason;

/// Each may fail with what can go wrong with the store. A resumed trigger that is late is treated
/// as a misfire at once if this scheduler is started; else it keeps its old fire time, and a node
/// that runs jobs finds it, as in Quartz.
impl Scheduler {
    /// Pauses a trigger; false if nothing changed.
    pub fn pause_trigger(&self, key: &TriggerKey) -> Result<bool> {
        let count = self.open_store()?.catalogue().pause_triggers(std::slice::from_ref(key));
        Ok(self.changed(count, "trigger_paused", |listener| listener.trigger_paused(key))? > 0)
    }

    /// Resumes a trigger. False if nothing changed.
    pub fn resume_trigger(&self, key: &TriggerKey) -> Result<bool> {
        let count = self.open_store()?.catalogue().resume_triggers(std::slice::from_ref(key), self.is_started());
        Ok(self.changed(count, "trigger_resumed", |listener| listener.trigger_resumed(key))? > 0)
    }

    /// Pauses the triggers of a job; returns how many changed. A run that is under way goes on, and
    /// so does what it leaves: a retry, work that [goes on later](crate::Outcome::Again), and what
    /// recovers it. [`Scheduler::pause_job_and_stop`] ends that too.
    pub fn pause_job(&self, key: &JobKey) -> Result<usize> {
        let count = self.open_store()?.catalogue().pause_jobs(std::slice::from_ref(key));
        self.changed(count, "job_paused", |listener| listener.job_paused(key))
    }

    /// Pauses the triggers of a job and asks its runs to stop, wherever in the cluster they are,
    /// with the reason [`StopReason::Paused`]; returns how many runs were asked. Other nodes learn
    /// it at once, or with their next poll. A run that is asked leaves no work.
    pub fn pause_job_and_stop(&self, key: &JobKey) -> Result<usize> {
        let done = self.open_store()?.catalogue().pause_job_and_stop(key, self.actor());
        let (_, asked) = self.changed(done, "job_paused", |listener| listener.job_paused(key))?;
        for fire in self.inner.node.running_fires.all().iter().filter(|fire| fire.job == *key) {
            self.stop_here(fire, StopReason::Paused);
        }
        Ok(asked)
    }

    /// Resumes the triggers of a job; returns how many changed.
    pub fn resume_job(&self, key: &JobKey) -> Result<usize> {
        let count = self.open_store()?.catalogue().resume_jobs(std::slice::from_ref(key), self.is_started());
        self.changed(count, "job_resumed", |listener| listener.job_resumed(key))
    }

    /// Pauses all triggers of the matching groups, also those to come; returns the groups.
    pub fn pause_triggers(&self, groups: &GroupMatcher) -> Result<Vec<String>> {
        let paused = self.open_store()?.catalogue().pause_trigger_groups(groups);
        self.changed(paused, "triggers_paused", |listener| listener.triggers_paused(groups))
    }

    /// Resumes all triggers of the matching groups; returns the groups.
    pub fn resume_triggers(&self, groups: &GroupMatcher) -> Result<Vec<String>> {
        let resumed = self.open_store()?.catalogue().resume_trigger_groups(groups, self.is_started());
        self.changed(resumed, "triggers_resumed", |listener| listener.triggers_resumed(groups))
    }

    /// Pauses the triggers of all jobs of the matching job groups; returns how many changed.
    pub fn pause_jobs(&self, groups: &GroupMatcher) -> Result<usize> {
        let count = self.open_store()?.catalogue().pause_job_groups(groups);
        self.changed(count, "jobs_paused", |listener| listener.jobs_paused(groups))
    }

    /// Resumes the triggers of all jobs of the matching job groups; returns how many changed.
    pub fn resume_jobs(&self, groups: &GroupMatcher) -> Result<usize> {
        let count = self.open_store()?.catalogue().resume_job_groups(groups, self.is_started());
        self.changed(count, "jobs_resumed", |listener| listener.jobs_resumed(groups))
    }

    /// Pauses every group of triggers, also those to come.
    pub fn pause_all(&self) -> Result<()> {
        let paused = self.open_store()?.catalogue().pause_all();
        self.changed(paused, "triggers_paused", |listener| listener.triggers_paused(&GroupMatcher::Any))
    }

    /// Resumes everything.
    pub fn resume_all(&self) -> Result<()> {
        let resumed = self.open_store()?.catalogue().resume_all(self.is_started());
        self.changed(resumed, "triggers_resumed", |listener| listener.triggers_resumed(&GroupMatcher::Any))
    }

    /// Takes a trigger out of the error state; returns whether it was in it.
    pub fn reset_trigger_from_error_state(&self, key: &TriggerKey) -> Result<bool> {
        let was_in_error = self.open_store()?.catalogue().reset_from_error(key)?;
        self.wake();
        Ok(was_in_error)
    }

    /// The groups that are paused also for triggers to come.
    pub fn paused_trigger_groups(&self) -> Result<Vec<String>> {
        self.open_store()?.catalogue().paused_groups()
    }

    /// Wakes the scheduler and tells the listeners of a change, unless it failed.
    fn changed<T>(&self, done: Result<T>, event: &'static str, tell: impl Fn(&dyn SchedulerListener)) -> Result<T> {
        let done = done?;
        self.wake();
        self.tell(event, tell);
        Ok(done)
    }
}
