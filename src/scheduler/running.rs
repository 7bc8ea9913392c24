//! A fire on this node, from the hand-over to a worker until its end.

use super::stop::StopReason;
use crate::key::{JobKey, TriggerKey};
use crate::listener::FireValues;
use crate::signal::Signal;
use crate::store::{FireBundle, Owner};
use crate::trigger::moment;
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A fire with what a worker needs to run it.
pub(crate) struct FireTask {
    pub(crate) bundle: FireBundle,
    pub(crate) handle: Arc<RunHandle>,
}

impl FireTask {
    pub(crate) fn new(bundle: FireBundle, owner: Owner) -> Self {
        let handle = RunHandle {
            fire_id: bundle.fire_id.clone(),
            job: bundle.job.key().clone(),
            trigger: bundle.trigger.key().clone(),
            scheduled_ms: bundle.scheduled_ms,
            fired_ms: bundle.fired_ms,
            owner,
            signal: Signal::default(),
            begun: Mutex::new(None),
            stop: Mutex::new(None),
            lost: AtomicBool::new(false),
            values: FireValues::default(),
        };
        Self { bundle, handle: Arc::new(handle) }
    }
}

/// What others see of a fire of this node, and how they reach its job.
pub(crate) struct RunHandle {
    fire_id: String,
    pub(crate) job: JobKey,
    trigger: TriggerKey,
    scheduled_ms: i64,
    fired_ms: i64,
    /// Under which incarnation it was fired.
    pub(crate) owner: Owner,
    /// Raised when there is news for the job.
    pub(crate) signal: Signal,
    begun: Mutex<Option<Duration>>,
    stop: Mutex<Option<StopReason>>,
    lost: AtomicBool,
    values: FireValues,
}

impl RunHandle {
    pub(crate) fn fire_id(&self) -> &str {
        &self.fire_id
    }

    pub(crate) fn values(&self) -> &FireValues {
        &self.values
    }

    /// Asks the job to stop; the first reason stays.
    pub(crate) fn stop(&self, reason: StopReason) {
        self.stop.lock().get_or_insert(reason);
        self.signal.raise();
    }

    /// Why the job was asked to stop.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        *self.stop.lock()
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.stop.lock().is_some()
    }

    /// Tells the job that the fire is another node's now; false if it knew.
    pub(crate) fn lose(&self) -> bool {
        let news = !self.lost.swap(true, Ordering::SeqCst);
        self.signal.raise();
        news
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.load(Ordering::SeqCst)
    }

    pub(crate) fn begin(&self, ticks: Duration) {
        *self.begun.lock() = Some(ticks);
    }

    /// How long its job runs; none if it has not begun.
    pub(crate) fn running_for(&self, now: Duration) -> Option<Duration> {
        self.begun.lock().map(|begun| now.saturating_sub(begun))
    }

    pub(crate) fn show(&self, now: Duration) -> RunningJob {
        RunningJob {
            fire_id: self.fire_id.clone(),
            job: self.job.clone(),
            trigger: self.trigger.clone(),
            scheduled_fire_time: moment(self.scheduled_ms),
            fire_time: moment(self.fired_ms),
            running_for: self.running_for(now),
            is_interrupted: self.is_interrupted(),
            is_lost: self.is_lost(),
        }
    }
}

/// A fire that a worker of this node has.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunningJob {
    /// The fire.
    pub fire_id: String,
    /// Its job.
    pub job: JobKey,
    /// Its trigger.
    pub trigger: TriggerKey,
    /// The time it stands for.
    pub scheduled_fire_time: DateTime<Utc>,
    /// When it was fired.
    pub fire_time: DateTime<Utc>,
    /// How long its job runs; none if it has not begun.
    pub running_for: Option<Duration>,
    /// Whether its job was asked to stop.
    pub is_interrupted: bool,
    /// Whether it belongs to another node now.
    pub is_lost: bool,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn handle(fire_id: &str, owner: Owner) -> Arc<RunHandle> {
        Arc::new(RunHandle {
            fire_id: fire_id.to_owned(),
            job: JobKey::named("j"),
            trigger: TriggerKey::named("t"),
            scheduled_ms: 0,
            fired_ms: 0,
            owner,
            signal: Signal::default(),
            begun: Mutex::new(None),
            stop: Mutex::new(None),
            lost: AtomicBool::new(false),
            values: FireValues::default(),
        })
    }
}
