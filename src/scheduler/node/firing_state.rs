//! `FiringState`: what keeps a node from firing, and how far a node has come that is ending.

use crate::rules::placement::Refusal;
use crate::scheduler::stop_step::StopStep;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// The reasons that keep a node from firing. A node that is built stands by until its start.
pub(crate) struct FiringState {
    standby: AtomicBool,
    /// False of the passive nodes of a cluster in active-passive mode.
    active: AtomicBool,
    longest_serving: AtomicBool,
    refusal: Mutex<Option<Refusal>>,
    stop_step: Mutex<Option<StopStep>>,
}

impl FiringState {
    pub(super) fn new(is_active: bool) -> Self {
        Self {
            standby: AtomicBool::new(true),
            active: AtomicBool::new(is_active),
            longest_serving: AtomicBool::new(false),
            refusal: Mutex::default(),
            stop_step: Mutex::default(),
        }
    }

    /// True if nothing here keeps the node from firing.
    pub(super) fn is_on(&self) -> bool {
        !self.is_in_standby() && self.is_active() && self.refusal.lock().is_none()
    }

    pub(crate) fn is_in_standby(&self) -> bool {
        self.standby.load(Ordering::SeqCst)
    }

    /// Has the node stand by; false if it does already.
    pub(crate) fn enter_standby(&self) -> bool {
        !self.standby.swap(true, Ordering::SeqCst)
    }

    pub(crate) fn leave_standby(&self) {
        self.standby.store(false, Ordering::SeqCst);
    }

    /// True if the node is one that fires by the mode of the cluster.
    pub(crate) fn is_active(&self) -> bool {
        self.active.load(Ordering::SeqCst)
    }

    /// Notes whether the node is one that fires; returns whether that is a change.
    pub(crate) fn set_active(&self, is_active: bool) -> bool {
        self.active.swap(is_active, Ordering::SeqCst) != is_active
    }

    /// True if this node has served longest of all that live: one node does some work for all.
    pub(crate) fn is_longest_serving(&self) -> bool {
        self.longest_serving.load(Ordering::SeqCst)
    }

    pub(crate) fn set_longest_serving(&self, is_longest_serving: bool) {
        self.longest_serving.store(is_longest_serving, Ordering::SeqCst);
    }

    /// Why placement gives the node no work, by its last check-in; none if it does.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.refusal.lock().clone()
    }

    /// Notes whether placement gives the node work; returns whether that is a change.
    pub(super) fn set_refusal(&self, refusal: Option<&Refusal>) -> bool {
        let before = std::mem::replace(&mut *self.refusal.lock(), refusal.cloned());
        before.as_ref() != refusal
    }

    /// The step of the shutdown that is under way; none before and after it.
    pub(crate) fn stop_step(&self) -> Option<StopStep> {
        *self.stop_step.lock()
    }

    /// Notes a step of the shutdown, and none at its end. A thread that comes late to its step does
    /// not bring the step back: false then.
    pub(super) fn enter_stop_step(&self, step: Option<StopStep>) -> bool {
        let mut present = self.stop_step.lock();
        let is_news = step.is_none() || step > *present;
        if is_news {
            *present = step;
        }
        is_news
    }
}
