//! A fire on this node, from the hand-over to a worker until its end.

use super::capture_log::RunLines;
use super::stop::StopReason;
use crate::key::{JobKey, TriggerKey};
use crate::listener::FireValues;
use crate::rules::watch::Run;
use crate::signal::Signal;
use crate::store::row::Progress;
use crate::store::{FireBundle, Owner};
use crate::trigger::moment;
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

/// A fire with what a worker needs to run it.
pub(crate) struct FireTask {
    pub(crate) bundle: Arc<FireBundle>,
    pub(crate) handle: Arc<RunHandle>,
    /// When its job is to begin, in ticks.
    pub(crate) due: Duration,
}

impl FireTask {
    pub(crate) fn new(bundle: FireBundle, owner: Arc<Owner>, lines: Option<Arc<RunLines>>, due: Duration) -> Self {
        let bundle = Arc::new(bundle);
        let handle = RunHandle {
            fire_id: bundle.fire_id.clone(),
            job: bundle.job.key().clone(),
            trigger: bundle.trigger.key().clone(),
            scheduled_ms: bundle.scheduled_ms,
            fired_ms: bundle.fired_ms,
            owner,
            signal: Signal::default(),
            stop: Mutex::new(None),
            lost: AtomicBool::new(false),
            values: FireValues::default(),
            phase: AtomicU8::new(RUNNING),
            activity: Mutex::default(),
            beaten: AtomicBool::new(false),
            guarded: AtomicBool::new(false),
            is_watched: !bundle.job.policy().is_default(),
            bundle: Some(Arc::clone(&bundle)),
            lines,
        };
        Self { bundle, handle: Arc::new(handle), due }
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
    pub(crate) owner: Arc<Owner>,
    /// Raised when there is news for the job.
    pub(crate) signal: Signal,
    stop: Mutex<Option<StopReason>>,
    lost: AtomicBool,
    values: FireValues,
    phase: AtomicU8,
    activity: Mutex<Activity>,
    /// Whether a heartbeat of it may be stored.
    beaten: AtomicBool,
    /// Whether its job has made transactions of its own depend on it.
    guarded: AtomicBool,
    /// What is needed to end it in the job's place.
    bundle: Option<Arc<FireBundle>>,
    /// Whether its job's policy says anything.
    is_watched: bool,
    /// What its job logs; none if it is not kept.
    lines: Option<Arc<RunLines>>,
}

/// The job runs; nobody has begun to end the fire.
const RUNNING: u8 = 0;
/// The job has returned, and its worker ends the fire.
const ENDING: u8 = 1;
/// The job has not returned, and the fire was ended, or given away, in its place.
const GIVEN_UP: u8 = 2;

/// What a run has done so far.
#[derive(Default)]
struct Activity {
    begun: Option<Duration>,
    worker: Option<ThreadId>,
    progress: Option<Progress>,
    /// When it last made progress; none before it began.
    progressed: Option<Duration>,
    /// When it was first asked to stop, and how often by now.
    asked: Option<(Duration, u32)>,
    known_stuck: bool,
    known_silent: bool,
}

impl RunHandle {
    pub(crate) fn fire_id(&self) -> &str {
        &self.fire_id
    }

    pub(crate) fn values(&self) -> &FireValues {
        &self.values
    }

    /// Asks the job to stop, at this time in ticks; the first reason stays. False if it was asked before.
    ///
    /// Whatever the reason (LT-83), from here on the watch asks again, and gives the run up when it was asked often enough.
    pub(crate) fn stop(&self, reason: StopReason, now: Duration) -> bool {
        self.activity.lock().asked.get_or_insert((now, 1));
        let mut stop = self.stop.lock();
        let news = stop.is_none();
        stop.get_or_insert(reason);
        drop(stop);
        self.signal.raise();
        news
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
        let mut activity = self.activity.lock();
        activity.begun = Some(ticks);
        activity.progressed = Some(ticks);
        // One that was asked to stop before it began has its time from now on.
        if let Some(asked) = &mut activity.asked {
            *asked = (ticks, 1);
        }
        activity.worker = Some(std::thread::current().id());
    }

    /// The job has returned: its worker ends the fire, unless it was given up meanwhile.
    pub(crate) fn begin_end(&self) -> bool {
        self.phase.compare_exchange(RUNNING, ENDING, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The job is run again in the same fire.
    pub(crate) fn run_again(&self) {
        self.phase.store(RUNNING, Ordering::SeqCst);
    }

    /// The job has not returned, and somebody else ends the fire; false if the worker does so already.
    pub(crate) fn give_up(&self) -> bool {
        self.phase.compare_exchange(RUNNING, GIVEN_UP, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The worker is gone, whatever it was about to do; false if the fire was given up before.
    pub(crate) fn bury(&self) -> bool {
        self.phase.swap(GIVEN_UP, Ordering::SeqCst) != GIVEN_UP
    }

    /// What is needed to end the fire in the job's place.
    pub(crate) fn bundle(&self) -> Option<&FireBundle> {
        self.bundle.as_deref()
    }

    /// The type of its job.
    pub(crate) fn job_type(&self) -> &str {
        self.bundle().map_or("", |bundle| bundle.job.job_type())
    }

    /// What is needed to watch it; none if its job's policy says nothing.
    pub(crate) fn watched(&self) -> Option<&FireBundle> {
        self.bundle().filter(|_| self.is_watched)
    }

    /// What its job has logged; none if it is not kept.
    pub(crate) fn lines(&self) -> Option<&Arc<RunLines>> {
        self.lines.as_ref()
    }

    /// Whether its watch has a time to look at it.
    pub(crate) fn has_limits(&self) -> bool {
        let policy = self.watched().map(|bundle| bundle.job.policy());
        policy.is_some_and(|policy| {
            policy.timeout_limit().is_some() || policy.stuck_limit().is_some() || policy.max_silence().is_some()
        })
    }

    /// The thread the job runs on, and since when.
    pub(crate) fn worker(&self) -> Option<(ThreadId, Duration)> {
        let activity = self.activity.lock();
        activity.worker.zip(activity.begun)
    }

    /// The job has made progress, and may say how far it has come.
    pub(crate) fn note_progress(&self, progress: Option<Progress>, ticks: Duration) {
        let mut activity = self.activity.lock();
        activity.progressed = Some(ticks);
        if progress.is_some() {
            activity.progress = progress;
        }
        (activity.known_stuck, activity.known_silent) = (false, false);
    }

    /// When the job last made progress, or began; none before.
    pub(crate) fn progressed(&self) -> Option<Duration> {
        self.activity.lock().progressed
    }

    /// How far the job has come.
    pub(crate) fn progress(&self) -> Option<Progress> {
        self.activity.lock().progress.clone()
    }

    /// How the run is doing, and whether it reports progress; none if it has not begun.
    pub(crate) fn run(&self) -> Option<(Run, bool)> {
        let activity = self.activity.lock();
        let begun = activity.begun?;
        let run = Run {
            begun,
            progress: activity.progressed.unwrap_or(begun),
            asked: activity.asked,
            known_stuck: activity.known_stuck,
            known_silent: activity.known_silent,
        };
        Some((run, activity.progress.is_some()))
    }

    /// Asks the job to stop once more.
    pub(crate) fn ask_again(&self) {
        if let Some((_, times)) = &mut self.activity.lock().asked {
            *times += 1;
        }
        self.signal.raise();
    }

    /// Notes that its silence was warned of.
    pub(crate) fn note_silent(&self) {
        self.activity.lock().known_silent = true;
    }

    /// From here on a run that has lost its fire has the time to end that any has which is asked
    /// to.
    pub(crate) fn begin_grace(&self, now: Duration) {
        self.activity.lock().asked.get_or_insert((now, 1));
    }

    /// Notes that it is stuck.
    pub(crate) fn note_stuck(&self) {
        self.activity.lock().known_stuck = true;
    }

    /// Whether it was found to be stuck and has made no progress since.
    pub(crate) fn is_stuck(&self) -> bool {
        self.activity.lock().known_stuck
    }

    /// Notes that a heartbeat is about to be stored.
    pub(crate) fn note_beat(&self) {
        self.beaten.store(true, Ordering::SeqCst);
    }

    /// Notes that a transaction of the job's depends on it.
    #[cfg(any(feature = "sqlite", feature = "postgres", feature = "mysql"))]
    pub(crate) fn note_guarded(&self) {
        self.guarded.store(true, Ordering::SeqCst);
    }

    /// Whether a transaction of the job's may hold it.
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded.load(Ordering::SeqCst)
    }

    /// Whether a heartbeat of it may be stored.
    pub(crate) fn is_beaten(&self) -> bool {
        self.beaten.load(Ordering::SeqCst)
    }

    /// How long its job runs; none if it has not begun.
    pub(crate) fn running_for(&self, now: Duration) -> Option<Duration> {
        self.activity.lock().begun.map(|begun| now.saturating_sub(begun))
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
            is_stuck: self.is_stuck(),
            progress: self.progress(),
        }
    }
}

/// A fire of this node: a worker has it, or it waits for one.
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
    /// Whether it has made no progress for longer than it may.
    pub is_stuck: bool,
    /// How far its job has come, if it reports that.
    pub progress: Option<Progress>,
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
            owner: Arc::new(owner),
            signal: Signal::default(),
            stop: Mutex::new(None),
            lost: AtomicBool::new(false),
            values: FireValues::default(),
            phase: AtomicU8::new(RUNNING),
            activity: Mutex::default(),
            beaten: AtomicBool::new(false),
            guarded: AtomicBool::new(false),
            bundle: None,
            is_watched: false,
            lines: None,
        })
    }
}
