//! Dispatch: which listener hears what, and on which thread; a listener that panics is reported and
//! has no other effect.
//!
//! Workers and the application's own threads tell at once. An event of a service is queued for a
//! thread of its own: a listener that takes its time delays no check-in, heartbeat or recovery.

use super::lifecycle_log;
use super::queue::Queue;
use super::roll::Roll;
use super::{FireEnd, FireEvent, JobListener, SchedulerListener, TriggerListener};
use crate::guarded::guarded;
use crate::key::TriggerKey;
use crate::store::{CompletionInstruction, SkippedFires};
use crate::trigger::Trigger;

/// The listeners of one scheduler, in the order in which they were added.
#[derive(Default)]
pub(crate) struct Listeners {
    pub(crate) job: Roll<dyn JobListener>,
    pub(crate) trigger: Roll<dyn TriggerListener>,
    pub(crate) scheduler: Roll<dyn SchedulerListener>,
    pub(crate) queue: Queue<Listeners>,
}

impl Listeners {
    /// Tells those who listen to the trigger's group that it fired; true if one of them says no.
    ///
    /// As in Quartz each is asked right after it was told, and all are asked.
    pub(crate) fn trigger_fired(&self, fire: &FireEvent<'_>) -> bool {
        let mut vetoed = false;
        self.each_trigger(fire.trigger().key(), "trigger_fired", |listener| {
            listener.trigger_fired(fire);
            vetoed |= listener.veto_job_execution(fire);
        });
        vetoed
    }

    pub(crate) fn trigger_complete(&self, fire: &FireEvent<'_>, instruction: CompletionInstruction) {
        self.each_trigger(fire.trigger().key(), "trigger_complete", |listener| {
            listener.trigger_complete(fire, instruction);
        });
    }

    pub(crate) fn trigger_misfired(&self, trigger: &Trigger) {
        if self.trigger.is_empty() {
            return;
        }
        let trigger = trigger.clone();
        self.later(move |listeners| {
            listeners.each_trigger(trigger.key(), "trigger_misfired", |listener| listener.trigger_misfired(&trigger));
        });
    }

    pub(crate) fn fires_skipped(&self, skipped: &SkippedFires) {
        if self.trigger.is_empty() {
            return;
        }
        let skipped = skipped.clone();
        self.later(move |listeners| {
            listeners.each_trigger(&skipped.trigger, "fires_skipped", |listener| listener.fires_skipped(&skipped));
        });
    }

    pub(crate) fn job_to_be_executed(&self, fire: &FireEvent<'_>) {
        self.each_job(fire, "job_to_be_executed", |listener| listener.job_to_be_executed(fire));
    }

    pub(crate) fn job_execution_vetoed(&self, fire: &FireEvent<'_>) {
        self.each_job(fire, "job_execution_vetoed", |listener| listener.job_execution_vetoed(fire));
    }

    pub(crate) fn job_was_executed(&self, fire: &FireEvent<'_>, end: &FireEnd) {
        self.each_job(fire, "job_was_executed", |listener| listener.job_was_executed(fire, end));
    }

    /// From now on [`Listeners::tell_waiting`] is called on a thread of its own when the queue's
    /// signal is raised.
    pub(crate) fn open(&self) {
        self.queue.open();
    }

    /// There is no such thread any more: what waits is dropped, and what comes is told at once,
    /// where it comes from.
    pub(crate) fn close(&self) {
        let left = self.queue.close();
        if left > 0 {
            lifecycle_log::listeners_not_told(left as u64);
        }
    }

    /// Tells what waits, in its order.
    pub(crate) fn tell_waiting(&self) {
        while let Some(news) = self.queue.next() {
            news(self);
        }
        let dropped = self.queue.take_dropped();
        if dropped > 0 {
            lifecycle_log::listeners_not_told(dropped);
            let message = format!("listeners were too slow: {dropped} events were not told");
            self.scheduler("scheduler_error", |listener| listener.scheduler_error(&message));
        }
    }

    /// Has something told soon, after what waits already; at once if there is no thread for it.
    pub(crate) fn later(&self, news: impl FnOnce(&Self) + Send + 'static) {
        if let Err(news) = self.queue.put(Box::new(news)) {
            news(self);
        }
    }

    /// Has every scheduler listener told soon: what services tell.
    pub(crate) fn announce(&self, event: &'static str, tell: impl Fn(&dyn SchedulerListener) + Send + 'static) {
        if !self.scheduler.is_empty() {
            self.later(move |listeners| listeners.scheduler(event, tell));
        }
    }

    /// Tells every scheduler listener, on the thread of the caller: what the application does
    /// itself.
    pub(crate) fn scheduler(&self, event: &'static str, tell: impl Fn(&dyn SchedulerListener)) {
        if self.scheduler.is_empty() {
            return;
        }
        for entry in self.scheduler.now().iter() {
            let outcome = guarded(|| tell(&*entry.listener));
            // The one listener that cannot be told through `scheduler_error` is the one that just
            // failed there.
            if let Err(panic) = outcome {
                lifecycle_log::listener_failed("scheduler", &entry.name, event, &panic);
            }
        }
    }

    /// Reports what no caller can be told of: to the log and to the scheduler listeners.
    pub(crate) fn error(&self, message: &str) {
        lifecycle_log::error(message);
        let message = message.to_owned();
        self.announce("scheduler_error", move |listener| listener.scheduler_error(&message));
    }

    fn each_job(&self, fire: &FireEvent<'_>, event: &'static str, mut tell: impl FnMut(&dyn JobListener)) {
        if self.job.is_empty() {
            return;
        }
        let key = fire.job().key();
        for entry in self.job.now().iter().filter(|entry| entry.matcher.matches(key.group(), key.name())) {
            if let Err(panic) = guarded(|| tell(&*entry.listener)) {
                self.failed("job", &entry.name, event, &panic);
            }
        }
    }

    fn each_trigger(&self, key: &TriggerKey, event: &'static str, mut tell: impl FnMut(&dyn TriggerListener)) {
        if self.trigger.is_empty() {
            return;
        }
        for entry in self.trigger.now().iter().filter(|entry| entry.matcher.matches(key.group(), key.name())) {
            if let Err(panic) = guarded(|| tell(&*entry.listener)) {
                self.failed("trigger", &entry.name, event, &panic);
            }
        }
    }

    fn failed(&self, kind: &str, name: &str, event: &str, panic: &str) {
        lifecycle_log::listener_failed(kind, name, event, panic);
        let message = format!("{kind} listener `{name}` panicked in {event}: {panic}");
        self.announce("scheduler_error", move |listener| listener.scheduler_error(&message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matcher::{GroupMatcher, KeyMatcher};
    use parking_lot::Mutex;
    use std::sync::Arc;

    #[derive(Default)]
    struct Recorder(Mutex<Vec<String>>);
    impl SchedulerListener for Arc<Recorder> {
        fn name(&self) -> &str {
            "recorder"
        }
        fn scheduler_error(&self, message: &str) {
            self.0.lock().push(message.to_owned());
        }
    }
    struct Deaf;
    impl SchedulerListener for Deaf {
        fn name(&self) -> &str {
            panic!("no name either")
        }
        fn scheduler_error(&self, _: &str) {
            panic!("deaf")
        }
    }
    struct Loud;
    impl TriggerListener for Loud {
        fn name(&self) -> &str {
            "loud"
        }
        fn trigger_misfired(&self, _: &Trigger) {
            panic!("boo")
        }
    }

    #[test]
    fn a_panicking_listener_is_reported_to_the_others() {
        let recorder = Arc::new(Recorder::default());
        let listeners = Listeners::default();
        listeners.trigger.add(GroupMatcher::equals("a").into(), Arc::new(Loud), |l| l.name().to_owned());
        listeners.scheduler.add(KeyMatcher::Everything, Arc::new(Deaf), |l| l.name().to_owned());
        listeners.scheduler.add(KeyMatcher::Everything, Arc::new(Arc::clone(&recorder)), |l| l.name().to_owned());
        let trigger = |group: &str| Trigger::builder((group, "t").into(), ("g", "j").into()).build().unwrap();
        listeners.trigger_misfired(&trigger("not heard"));
        listeners.trigger_misfired(&trigger("a"));
        assert_eq!(*recorder.0.lock(), ["trigger listener `loud` panicked in trigger_misfired: boo"]);
    }

    /// Waiting events are told in their order; events without room are counted, and said once there
    /// is room again.
    #[test]
    fn what_services_tell_waits_in_its_order_and_has_a_bound() {
        let recorder = Arc::new(Recorder::default());
        let listeners = Listeners::default();
        listeners.scheduler.add(KeyMatcher::Everything, Arc::new(Arc::clone(&recorder)), |l| l.name().to_owned());
        listeners.error("at once");
        assert_eq!(std::mem::take(&mut *recorder.0.lock()), ["at once"]);
        listeners.open();
        for n in 0..10_003 {
            listeners.announce("scheduler_error", move |listener| listener.scheduler_error(&n.to_string()));
        }
        assert_eq!((recorder.0.lock().len(), listeners.queue.untold()), (0, 3));
        listeners.tell_waiting();
        let told = std::mem::take(&mut *recorder.0.lock());
        assert_eq!((told.len(), told[0].as_str(), told[9_999].as_str()), (10_001, "0", "9999"));
        assert_eq!(told[10_000], "listeners were too slow: 3 events were not told");
        listeners.error("late");
        listeners.close();
        listeners.error("after");
        assert_eq!((recorder.0.lock().clone(), listeners.queue.untold()), (vec!["after".to_owned()], 4));
    }
}
