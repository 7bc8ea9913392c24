//! `ListenerManager`: adds, removes and lists the listeners of a scheduler while it runs.

use super::{JobListener, Listeners, SchedulerListener, TriggerListener};
use crate::matcher::KeyMatcher;
use std::sync::Arc;

/// The listeners of a scheduler, from [`Scheduler::listeners`](crate::Scheduler::listeners).
///
/// Listeners are told in the order in which they were added. One that is added under the name of another of its kind
/// takes its place, as in Quartz. What is told at the moment goes to those who were there when it began.
///
/// ```
/// use carnelian::{FireEnd, FireEvent, GroupMatcher, JobListener, KeyMatcher, Scheduler};
///
/// struct Audit;
///
/// impl JobListener for Audit {
///     fn name(&self) -> &str {
///         "audit"
///     }
///
///     fn job_was_executed(&self, fire: &FireEvent<'_>, end: &FireEnd) {
///         println!("{} {:?}", fire.job().key(), end.outcome);
///     }
/// }
///
/// let scheduler = Scheduler::builder().build()?;
/// let listeners = scheduler.listeners();
/// listeners.add_job_listener(GroupMatcher::equals("billing"), Audit);
/// assert_eq!(listeners.job_listener_names(), ["audit"]);
/// listeners.set_job_listener_matcher("audit", KeyMatcher::Everything);
/// assert!(listeners.remove_job_listener("audit"));
/// # Ok::<(), carnelian::Error>(())
/// ```
#[doc(alias = "org.quartz.ListenerManager")]
#[derive(Clone, Copy)]
pub struct ListenerManager<'a> {
    listeners: &'a Listeners,
}

impl<'a> ListenerManager<'a> {
    pub(crate) fn new(listeners: &'a Listeners) -> Self {
        Self { listeners }
    }

    /// Adds a listener for the runs of the jobs that `jobs` matches.
    pub fn add_job_listener(&self, jobs: impl Into<KeyMatcher>, listener: impl JobListener) {
        self.listeners.job.add(jobs.into(), Arc::new(listener), |l| l.name().to_owned());
    }

    /// Takes the job listener of this name away; returns whether there was one.
    pub fn remove_job_listener(&self, name: &str) -> bool {
        self.listeners.job.remove(name)
    }

    /// The names of the job listeners, in order.
    #[doc(alias = "getJobListeners")]
    pub fn job_listener_names(&self) -> Vec<String> {
        self.listeners.job.names()
    }

    /// Whose runs the job listener of this name hears.
    #[doc(alias = "getJobListenerMatchers")]
    pub fn job_listener_matcher(&self, name: &str) -> Option<KeyMatcher> {
        self.listeners.job.matcher(name)
    }

    /// Sets whose runs the job listener of this name hears; returns whether there is one.
    #[doc(alias("setJobListenerMatchers", "addJobListenerMatcher", "removeJobListenerMatcher"))]
    pub fn set_job_listener_matcher(&self, name: &str, jobs: impl Into<KeyMatcher>) -> bool {
        self.listeners.job.set_matcher(name, jobs.into())
    }

    /// Adds a listener for the fires of the triggers that `triggers` matches.
    pub fn add_trigger_listener(&self, triggers: impl Into<KeyMatcher>, listener: impl TriggerListener) {
        self.listeners.trigger.add(triggers.into(), Arc::new(listener), |l| l.name().to_owned());
    }

    /// Takes the trigger listener of this name away; returns whether there was one.
    pub fn remove_trigger_listener(&self, name: &str) -> bool {
        self.listeners.trigger.remove(name)
    }

    /// The names of the trigger listeners, in order.
    #[doc(alias = "getTriggerListeners")]
    pub fn trigger_listener_names(&self) -> Vec<String> {
        self.listeners.trigger.names()
    }

    /// Whose fires the trigger listener of this name hears.
    #[doc(alias = "getTriggerListenerMatchers")]
    pub fn trigger_listener_matcher(&self, name: &str) -> Option<KeyMatcher> {
        self.listeners.trigger.matcher(name)
    }

    /// Sets whose fires the trigger listener of this name hears; returns whether there is one.
    #[doc(alias("setTriggerListenerMatchers", "addTriggerListenerMatcher", "removeTriggerListenerMatcher"))]
    pub fn set_trigger_listener_matcher(&self, name: &str, triggers: impl Into<KeyMatcher>) -> bool {
        self.listeners.trigger.set_matcher(name, triggers.into())
    }

    /// Adds a listener for what is done with the scheduler.
    pub fn add_scheduler_listener(&self, listener: impl SchedulerListener) {
        self.listeners.scheduler.add(KeyMatcher::Everything, Arc::new(listener), |l| l.name().to_owned());
    }

    /// Takes the scheduler listener of this name away; returns whether there was one.
    pub fn remove_scheduler_listener(&self, name: &str) -> bool {
        self.listeners.scheduler.remove(name)
    }

    /// The names of the scheduler listeners, in order.
    #[doc(alias = "getSchedulerListeners")]
    pub fn scheduler_listener_names(&self) -> Vec<String> {
        self.listeners.scheduler.names()
    }
}
