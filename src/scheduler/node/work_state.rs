//! `WorkState`: what keeps a node from taking work, and how far a node has come that is ending.

use crate::rules::placement::Refusal;
use crate::scheduler::stop_step::StopStep;
use crate::signal::Flag;
use parking_lot::Mutex;

/// The reasons that keep a node from taking work. A node that is built stands by until its start.
pub(crate) struct WorkState {
    pub(crate) standby: Flag,
    /// False of the passive nodes of a cluster in active-passive mode.
    active: Flag,
    /// True if this node has served longest of all that live: one node does some work for all.
    pub(crate) longest_serving: Flag,
    refusal: Mutex<Option<Refusal>>,
    /// Why this program cannot work with the tables, by the last look.
    unfit_tables: Mutex<Option<String>>,
    stop_step: Mutex<Option<StopStep>>,
}

impl WorkState {
    pub(super) fn new(is_active: bool) -> Self {
        Self {
            standby: Flag::new(true),
            active: Flag::new(is_active),
            longest_serving: Flag::default(),
            refusal: Mutex::default(),
            unfit_tables: Mutex::default(),
            stop_step: Mutex::default(),
        }
    }

    /// True if nothing here keeps the node from taking work.
    pub(super) fn is_on(&self) -> bool {
        !self.standby.is_set() && self.is_active() && self.why_not().is_none()
    }

    /// Has the node stand by; false if it does already.
    pub(crate) fn enter_standby(&self) -> bool {
        !self.standby.swap(true)
    }

    /// True if the node is one that fires by the mode of the cluster.
    pub(crate) fn is_active(&self) -> bool {
        self.active.is_set()
    }

    /// Notes whether the node is one that fires; returns whether that is a change.
    pub(crate) fn set_active(&self, is_active: bool) -> bool {
        self.active.swap(is_active) != is_active
    }

    /// Why the node takes no work: since its tables are not for this program, or placement gives it
    /// none; none if it does.
    pub(crate) fn why_not(&self) -> Option<String> {
        let unfit = self.unfit_tables.lock().clone();
        unfit.or_else(|| self.refusal.lock().as_ref().map(ToString::to_string))
    }

    /// Notes whether this program can work with the tables; returns whether that is a change.
    pub(super) fn set_unfit_tables(&self, why: Option<&String>) -> bool {
        let before = std::mem::replace(&mut *self.unfit_tables.lock(), why.cloned());
        before.as_ref() != why
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
