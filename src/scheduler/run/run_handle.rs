//! A fire on this node, from the hand-over to a worker until its end.

use super::capture_log::RunLines;
use super::stop_reason::StopReason;
use crate::epoch::moment;
use crate::key::{JobKey, TriggerKey};
use crate::listener::FireValues;
use crate::rules::watch::Run;
use crate::signal::{Flag, Signal};
use crate::store::row::Progress;
use crate::store::{FireBundle, Owner};
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

/// A fire with what a worker needs to run it.
pub(crate) struct FireTask {
    pub(crate) bundle: Arc<FireBundle>,
    pub(crate) handle: Arc<RunHandle>,
    /// The time at which its job is to begin, in ticks.
    pub(crate) due: Duration,
}

impl FireTask {
    pub(crate) fn new(bundle: FireBundle, owner: Arc<Owner>, lines: Option<Arc<RunLines>>, due: Duration) -> Self {
        let bundle = Arc::new(bundle);
        let handle = RunHandle {
            fire_id: bundle.fire_id.as_str().into(),
            job: bundle.job.key().clone(),
            trigger: bundle.trigger.key().clone(),
            scheduled_ms: bundle.scheduled_ms,
            fired_ms: bundle.fired_ms,
            owner,
            signal: Signal::default(),
            stop: Mutex::new(None),
            lost: Flag::default(),
            values: FireValues::default(),
            phase: AtomicU8::new(RUNNING),
            activity: Mutex::default(),
            has_heartbeats: Flag::default(),
            guarded: Flag::default(),
            ended_by_job: Flag::default(),
            is_watched: !bundle.job.policy().is_default(),
            bundle: Some(Arc::clone(&bundle)),
            lines,
        };
        Self { bundle, handle: Arc::new(handle), due }
    }
}

/// The handle of a fire of this node, by which others see it and reach its job.
pub(crate) struct RunHandle {
    pub(crate) fire_id: Arc<str>,
    pub(crate) job: JobKey,
    trigger: TriggerKey,
    scheduled_ms: i64,
    fired_ms: i64,
    /// Under which incarnation it was fired.
    pub(crate) owner: Arc<Owner>,
    /// Raised when there is news for the job.
    pub(crate) signal: Signal,
    stop: Mutex<Option<StopReason>>,
    lost: Flag,
    pub(crate) values: FireValues,
    phase: AtomicU8,
    activity: Mutex<Activity>,
    /// True if a heartbeat of it may be stored.
    has_heartbeats: Flag,
    /// True if its job has made transactions of its own depend on it, which may hold it.
    pub(crate) guarded: Flag,
    /// True if its job has ended it in a transaction of its own, which may be rolled back.
    pub(crate) ended_by_job: Flag,
    /// The fire, to end it in the job's place.
    bundle: Option<Arc<FireBundle>>,
    /// True if its job's policy says anything.
    is_watched: bool,
    /// The lines that its job logs; none if they are not kept.
    lines: Option<Arc<RunLines>>,
}

/// The job runs; nobody has begun to end the fire.
const RUNNING: u8 = 0;
/// The job has returned, and its worker ends the fire.
const ENDING: u8 = 1;
/// The job has not returned, and the fire was ended, or given away, in its place.
const ABANDONED: u8 = 2;

/// The activity of a run so far.
#[derive(Default)]
struct Activity {
    begun: Option<Duration>,
    worker: Option<ThreadId>,
    progress: Option<Progress>,
    /// The time at which it last made progress; none before it began.
    progressed: Option<Duration>,
    /// The job has told of progress, by a step, a checkpoint or a sign of life.
    reports_progress: bool,
    /// The time at which it was first asked to stop, and the number of times by now.
    asked: Option<(Duration, u32)>,
    known_stuck: bool,
    known_silent: bool,
    /// The end of what the last beat is good for.
    held_until: Option<Duration>,
}

impl RunHandle {
    pub(crate) fn fire_id(&self) -> &str {
        &self.fire_id
    }

    /// Asks the job to stop, at this time in ticks. The first reason stays. False if the job was
    /// asked before.
    ///
    /// The watch asks again from here on, for any reason, and gives the run up when it has asked
    /// often enough.
    pub(crate) fn stop(&self, reason: StopReason, now: Duration) -> bool {
        self.activity.lock().asked.get_or_insert((now, 1));
        let mut stop = self.stop.lock();
        let news = stop.is_none();
        stop.get_or_insert(reason);
        drop(stop);
        self.signal.raise();
        news
    }

    /// True if an order to stop may be in the database: the first reason was somebody's wish.
    pub(crate) fn has_stop_order(&self) -> bool {
        self.stop_reason().is_some_and(StopReason::ends_work)
    }

    /// Why the job was asked to stop.
    pub(crate) fn stop_reason(&self) -> Option<StopReason> {
        *self.stop.lock()
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.stop.lock().is_some()
    }

    /// Tells the job that the fire is another node's now; false if it knew.
    pub(crate) fn revoke(&self) -> bool {
        let news = !self.lost.swap(true);
        self.signal.raise();
        news
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.is_set()
    }

    pub(crate) fn begin(&self, ticks: Duration) {
        let mut activity = self.activity.lock();
        activity.begun = Some(ticks);
        activity.progressed = Some(ticks);
        // A run that was asked to stop before it began has its time from now on.
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

    /// The job has not returned, and somebody else ends the fire; false if the worker does so
    /// already.
    pub(crate) fn abandon(&self) -> bool {
        self.phase.compare_exchange(RUNNING, ABANDONED, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    /// The worker is gone, whatever it was about to do; false if the fire was given up before.
    pub(crate) fn reap(&self) -> bool {
        self.phase.swap(ABANDONED, Ordering::SeqCst) != ABANDONED
    }

    /// True if the fire was ended, or given away, in the job's place.
    pub(crate) fn is_given_up(&self) -> bool {
        self.phase.load(Ordering::SeqCst) == ABANDONED
    }

    /// The fire, to end it in the job's place.
    pub(crate) fn bundle(&self) -> Option<&FireBundle> {
        self.bundle.as_deref()
    }

    /// The type of its job.
    pub(crate) fn job_type(&self) -> &str {
        self.bundle().map_or("", |bundle| bundle.job.job_type())
    }

    /// The fire, to watch it; none if its job's policy says nothing.
    pub(crate) fn watched(&self) -> Option<&FireBundle> {
        self.bundle().filter(|_| self.is_watched)
    }

    /// The lines that its job has logged; none if they are not kept.
    pub(crate) fn lines(&self) -> Option<&Arc<RunLines>> {
        self.lines.as_ref()
    }

    /// True if its watch has a time to look at it.
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
    pub(crate) fn set_progress(&self, progress: Option<Progress>, ticks: Duration) {
        let mut activity = self.activity.lock();
        (activity.progressed, activity.reports_progress) = (Some(ticks), true);
        if progress.is_some() {
            activity.progress = progress;
        }
        (activity.known_stuck, activity.known_silent) = (false, false);
    }

    /// The time at which the job last made progress, or began; none before.
    pub(crate) fn progressed(&self) -> Option<Duration> {
        self.activity.lock().progressed
    }

    /// Tells whether the job has reported progress.
    pub(crate) fn reports_progress(&self) -> bool {
        self.activity.lock().reports_progress
    }

    /// The progress of the job.
    pub(crate) fn progress(&self) -> Option<Progress> {
        self.activity.lock().progress.clone()
    }

    /// The state of the run for its watch, and whether it reports progress; none if it has not
    /// begun.
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
        Some((run, activity.reports_progress))
    }

    /// Asks the job to stop once more.
    pub(crate) fn ask_again(&self) {
        if let Some((_, times)) = &mut self.activity.lock().asked {
            *times += 1;
        }
        self.signal.raise();
    }

    /// Notes that its silence was warned of.
    pub(crate) fn set_known_silent(&self) {
        self.activity.lock().known_silent = true;
    }

    /// From here on a run that has lost its fire has the time to end that any has which is asked
    /// to.
    pub(crate) fn begin_grace(&self, now: Duration) {
        self.activity.lock().asked.get_or_insert((now, 1));
    }

    /// Notes that it is stuck.
    pub(crate) fn set_known_stuck(&self) {
        self.activity.lock().known_stuck = true;
    }

    /// True if it was found to be stuck and has made no progress since.
    pub(crate) fn is_stuck(&self) -> bool {
        self.activity.lock().known_stuck
    }

    /// Notes that a heartbeat is about to be stored, which keeps the fire until then. The first one
    /// counts even if nobody can say whether it was stored.
    pub(crate) fn begin_heartbeat(&self, held_until: Duration) {
        self.has_heartbeats.set(true);
        self.activity.lock().held_until.get_or_insert(held_until);
    }

    /// True if a heartbeat of it may be stored.
    pub(crate) fn has_heartbeats(&self) -> bool {
        self.has_heartbeats.is_set()
    }

    /// Notes that the heartbeat was stored.
    pub(crate) fn confirm_heartbeat(&self, held_until: Duration) {
        self.activity.lock().held_until = Some(held_until);
    }

    /// The time until which the last beat keeps others from taking the fire for dead; none before
    /// the first beat.
    pub(crate) fn held_until(&self) -> Option<Duration> {
        self.activity.lock().held_until
    }

    /// The time for which its job runs; none if it has not begun.
    pub(crate) fn running_for(&self, now: Duration) -> Option<Duration> {
        self.activity.lock().begun.map(|begun| now.saturating_sub(begun))
    }

    pub(crate) fn show(&self, now: Duration) -> RunningJob {
        RunningJob {
            fire_id: self.fire_id.to_string(),
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
    /// The job.
    pub job: JobKey,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The time it stands for.
    pub scheduled_fire_time: DateTime<Utc>,
    /// The time at which it was fired.
    pub fire_time: DateTime<Utc>,
    /// The time for which its job runs; none if it has not begun.
    pub running_for: Option<Duration>,
    /// True if its job was asked to stop.
    pub is_interrupted: bool,
    /// True if it belongs to another node now.
    pub is_lost: bool,
    /// True if it has made no progress for longer than it may.
    pub is_stuck: bool,
    /// The progress of its job, if it reports that.
    pub progress: Option<Progress>,
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn handle(fire_id: &str, owner: Owner) -> Arc<RunHandle> {
        Arc::new(RunHandle {
            fire_id: fire_id.into(),
            job: JobKey::named("j"),
            trigger: TriggerKey::named("t"),
            scheduled_ms: 0,
            fired_ms: 0,
            owner: Arc::new(owner),
            signal: Signal::default(),
            stop: Mutex::new(None),
            lost: Flag::default(),
            values: FireValues::default(),
            phase: AtomicU8::new(RUNNING),
            activity: Mutex::default(),
            has_heartbeats: Flag::default(),
            guarded: Flag::default(),
            ended_by_job: Flag::default(),
            bundle: None,
            is_watched: false,
            lines: None,
        })
    }
}
