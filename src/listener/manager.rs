//! `ListenerManager`: adds, removes and lists the listeners of a scheduler while it runs.

use super::{JobListener, Listeners, SchedulerListener, TriggerListener};
use crate::matcher::KeyMatcher;
use std::sync::Arc;

/// The listeners of a scheduler, from [`Scheduler::listeners`](crate::Scheduler::listeners).
///
/// Listeners are told in the order in which they were added. A listener that is added under the
/// name of another of its kind takes its place, as in Quartz. An event that is told at the moment
/// goes to those who were there when it began.
///
/// ```
/// use carnelian::{GroupMatcher, KeyMatcher, Scheduler};
/// use carnelian::listener::{FireEnd, FireEvent, JobListener};
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

    /// The jobs whose runs the job listener of this name hears.
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

    /// The triggers whose fires the trigger listener of this name hears.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::GroupMatcher;
    use crate::trigger::Trigger;
    use parking_lot::Mutex;

    /// Writes its name and its number into a list when it is told.
    #[derive(Clone)]
    struct Said(&'static str, u8, Arc<Mutex<Vec<(&'static str, u8)>>>);

    impl JobListener for Said {
        fn name(&self) -> &str {
            self.0
        }
    }
    impl TriggerListener for Said {
        fn name(&self) -> &str {
            self.0
        }
        fn trigger_misfired(&self, _: &Trigger) {
            self.2.lock().push((self.0, self.1));
        }
    }
    impl SchedulerListener for Said {
        fn name(&self) -> &str {
            self.0
        }
        fn scheduler_started(&self) {
            self.2.lock().push((self.0, self.1));
        }
    }

    #[test]
    fn listeners_are_told_in_the_order_in_which_they_were_added() {
        let (listeners, told) = (Listeners::default(), Arc::default());
        let manager = ListenerManager::new(&listeners);
        // The last takes the place of the first of its name.
        for (name, number) in [("b", 1), ("a", 2), ("c", 3), ("b", 4)] {
            let said = Said(name, number, Arc::clone(&told));
            manager.add_job_listener(KeyMatcher::Everything, said.clone());
            manager.add_trigger_listener(GroupMatcher::equals("g"), said.clone());
            manager.add_scheduler_listener(said);
        }
        for names in
            [manager.job_listener_names(), manager.trigger_listener_names(), manager.scheduler_listener_names()]
        {
            assert_eq!(names, ["b", "a", "c"]);
        }
        let expect = |expected: &[(&str, u8)]| assert_eq!(*std::mem::take(&mut *told.lock()), *expected);
        listeners.scheduler("scheduler_started", |listener| listener.scheduler_started());
        expect(&[("b", 4), ("a", 2), ("c", 3)]);

        let misfire = |group: &str| {
            let trigger = Trigger::builder((group, "t").into(), ("g", "j").into()).build().expect("a good trigger");
            listeners.trigger_misfired(&trigger);
        };
        assert!(manager.set_trigger_listener_matcher("a", GroupMatcher::starts_with("h")));
        assert_eq!(manager.trigger_listener_matcher("a"), Some(GroupMatcher::starts_with("h").into()));
        misfire("g");
        expect(&[("b", 4), ("c", 3)]);
        misfire("h");
        expect(&[("a", 2)]);

        assert!(manager.remove_job_listener("a") && !manager.remove_job_listener("a"));
        assert!(manager.remove_trigger_listener("a") && !manager.remove_trigger_listener("a"));
        assert!(manager.remove_scheduler_listener("a") && !manager.remove_scheduler_listener("a"));
        assert_eq!(
            (manager.job_listener_names(), manager.job_listener_matcher("a")),
            (manager.scheduler_listener_names(), None)
        );
        assert!(!manager.set_job_listener_matcher("a", KeyMatcher::Everything));
        misfire("h");
        expect(&[]);
    }
}
