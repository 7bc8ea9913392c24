//! `RunWatch`: watches over the running fires of this node, and asks those to stop, or ends them,
//! that take too long or make no progress. The watch waits for no store: runs have their limits
//! while the store is away or slow to answer.

use super::service::{Next, Service};
use crate::error::Result;
use crate::job::FireOutcome;
use crate::job::StuckAction;
use crate::listener::{FireEnd, FireEvent, SchedulerListener, lifecycle_log};
use crate::rules::watch::{self, Due, Limits};
use crate::scheduler::node::Node;
use crate::scheduler::run::completion_queue::{CompletionQueue, OwnedCompletion};
use crate::scheduler::run::run_handle::{FireTask, RunHandle};
use crate::scheduler::run::run_result::{ending, outcome_of_stop, rerun_in_its_place};
use crate::scheduler::run::stop_reason::StopReason;
use crate::scheduler::run::worker_pool::WorkerPool;
use crate::store::CompletionInstruction;
use crossbeam_channel::{Sender, TrySendError};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// The fires that the watch has given up, for the heartbeat service to give away in the store.
#[derive(Default)]
pub(crate) struct GivenUp(Mutex<Vec<Arc<RunHandle>>>);

impl GivenUp {
    fn add(&self, fire: Arc<RunHandle>) {
        self.0.lock().push(fire);
    }

    pub(super) fn take(&self) -> Vec<Arc<RunHandle>> {
        std::mem::take(&mut *self.0.lock())
    }
}

/// The watch over runs, which goes on in standby, and while jobs end during a shutdown.
pub(crate) struct RunWatch {
    node: Arc<Node>,
    pool: Arc<WorkerPool<FireTask>>,
    ended_sender: Sender<OwnedCompletion>,
    queue: Arc<CompletionQueue>,
    given_up: Arc<GivenUp>,
}

impl RunWatch {
    pub(crate) fn new(
        node: Arc<Node>,
        pool: Arc<WorkerPool<FireTask>>,
        (ended_sender, queue): (Sender<OwnedCompletion>, Arc<CompletionQueue>),
        given_up: Arc<GivenUp>,
    ) -> Self {
        Self { node, pool, ended_sender, queue, given_up }
    }

    /// Looks after every run; returns when to look again at the latest.
    fn watch(&self, now: Duration) -> Option<Duration> {
        self.node.running_fires.all().iter().filter_map(|fire| self.watch_one(fire, now)).min()
    }

    fn watch_one(&self, fire: &Arc<RunHandle>, now: Duration) -> Option<Duration> {
        if fire.is_given_up() {
            return None;
        }
        if fire.is_lost() {
            fire.begin_grace(now);
        }
        let (run, reports_progress) = fire.run()?;
        let limits = self.limits(fire, reports_progress);
        match watch::look(&run, &limits, now) {
            Due::Nothing(until) => return until,
            Due::TimedOut => {
                fire.stop(StopReason::TimedOut, now);
                lifecycle_log::timed_out(&fire.job, fire.fire_id(), now.saturating_sub(run.begun));
            }
            Due::AskAgain => {
                fire.ask_again();
                lifecycle_log::asked_again(&fire.job, fire.fire_id());
            }
            Due::Stuck(action) => {
                fire.set_known_stuck();
                let silence = now.saturating_sub(run.progress);
                lifecycle_log::stuck(&fire.job, fire.fire_id(), silence, action);
                self.node.counters.stuck.add(1);
                self.node.services.monitor.wake();
                if action != StuckAction::Log {
                    self.tell_of(fire, "fire_stuck", move |listener, fire| listener.fire_stuck(fire, silence));
                }
                self.act_on(fire, action, now);
            }
            Due::Silent => {
                fire.set_known_silent();
                let silence = now.saturating_sub(run.progress);
                lifecycle_log::silent(&fire.job, fire.fire_id(), silence, limits.silence.unwrap_or_default());
                self.tell_of(fire, "fire_silent", move |listener, fire| listener.fire_silent(fire, silence));
            }
            Due::GiveUp => {
                match fire.is_lost() {
                    true => self.give_up_lost(fire, now),
                    false => self.end_in_its_place(fire, now),
                }
                // If the completer is behind, or the worker is just coming back.
                return Some(now.saturating_add(self.node.settings.executions.heartbeat_interval));
            }
        }
        Some(now)
    }

    /// Has the scheduler listeners told of a run whose job has a policy.
    fn tell_of(
        &self,
        fire: &Arc<RunHandle>,
        event: &'static str,
        tell: impl Fn(&dyn SchedulerListener, &FireEvent<'_>) + Send + 'static,
    ) {
        let (fire, instance) = (Arc::clone(fire), Arc::clone(&self.node.instance));
        self.node.listeners.announce(event, move |listener| {
            if let Some(bundle) = fire.watched() {
                tell(listener, &FireEvent::new(bundle, &instance, 0, &fire.values));
            }
        });
    }

    fn limits(&self, fire: &RunHandle, reports_progress: bool) -> Limits {
        let settings = &self.node.settings.executions;
        let (attempts, grace) = self.patience(fire);
        let policy = fire.watched().map(|bundle| bundle.job.policy());
        let stuck = policy.and_then(|policy| policy.stuck_limit());
        let default = reports_progress.then_some((settings.stuck_after, StuckAction::Log));
        Limits {
            timeout: policy.and_then(|policy| policy.timeout_limit()),
            stuck: stuck.or(default),
            silence: policy.and_then(|policy| policy.max_silence()),
            grace,
            attempts,
        }
    }

    /// The number of times that a run is asked to stop, and the time that it has in all (LT-90).
    fn patience(&self, fire: &RunHandle) -> (u32, Duration) {
        let (executions, shutdown) = (&self.node.settings.executions, &self.node.settings.shutdown);
        match fire.stop_reason() {
            Some(StopReason::Shutdown) => (shutdown.stop_attempts, shutdown.grace()),
            _ => (executions.stop_attempts, executions.grace()),
        }
    }

    fn act_on(&self, fire: &Arc<RunHandle>, action: StuckAction, now: Duration) {
        match action {
            StuckAction::Cancel => {
                fire.stop(StopReason::Stuck, now);
            }
            StuckAction::FailOver => {
                if self.abandon(fire) {
                    lifecycle_log::given_up(&fire.job, fire.fire_id(), "it makes no progress");
                    fire.revoke();
                    self.given_up.add(Arc::clone(fire));
                    self.node.services.heartbeat.wake();
                }
            }
            StuckAction::Log | StuckAction::Tell => {}
        }
    }

    /// Gives up a run with its worker, if it has one; false if the run has ended.
    fn abandon(&self, fire: &RunHandle) -> bool {
        let claim = || fire.abandon();
        fire.worker().map_or_else(claim, |(worker, _)| self.pool.abandon(worker, claim))
    }

    /// Gives up the worker of a run that is another node's, or was declared failed, and does not
    /// end: nothing is recorded for it here.
    fn give_up_lost(&self, fire: &Arc<RunHandle>, now: Duration) {
        if self.abandon(fire) {
            lifecycle_log::given_up(&fire.job, fire.fire_id(), "it lost its fire and did not end");
            self.node.count_fire(&fire.job, FireOutcome::Lost, fire.running_for(now));
            self.node.running_fires.remove(fire.fire_id());
        }
    }

    /// Ends the fire of a job that does not: the run is recorded by the reason of the
    /// stop, and its worker is given up.
    fn end_in_its_place(&self, fire: &Arc<RunHandle>, now: Duration) {
        let Some(bundle) = fire.bundle().filter(|_| !self.ended_sender.is_full()) else { return };
        if !self.abandon(fire) {
            return;
        }
        // The thread goes on without the fire.
        fire.revoke();
        let node = &*self.node;
        let run_time = fire.running_for(now).unwrap_or_default();
        let reason = fire.stop_reason().unwrap_or(StopReason::TimedOut);
        let outcome = outcome_of_stop(reason);
        let rerun = rerun_in_its_place(bundle, outcome);
        let why = format!("{reason}: it did not end within {:?} after it was asked to", self.patience(fire).1);
        lifecycle_log::given_up(&fire.job, fire.fire_id(), &why);
        let event = FireEvent::new(bundle, &node.instance, 0, &fire.values);
        let end = FireEnd { outcome, error: Some(why), run_time, result: None };
        lifecycle_log::ended(&event, &end);
        let (abandoned, instance, told) = (Arc::clone(fire), Arc::clone(&node.instance), end.clone());
        node.listeners.later(move |listeners| {
            let Some(bundle) = abandoned.bundle() else { return };
            let event = FireEvent::new(bundle, &instance, 0, &abandoned.values);
            listeners.job_was_executed(&event, &told);
            listeners.trigger_complete(&event, CompletionInstruction::NoInstruction);
        });
        node.count_fire(&fire.job, end.outcome, Some(run_time));

        let mut completion = bundle.completion(CompletionInstruction::NoInstruction, None);
        (completion.has_heartbeat, completion.has_stop_order) = (fire.has_heartbeats(), fire.has_stop_order());
        // The thread may be in a transaction of its own that depends on the fire.
        completion.guarded = true;
        completion.by_job = fire.ended_by_job.is_set();
        completion.failed = outcome == FireOutcome::TimedOut && rerun.is_none();
        completion.rerun = rerun;
        completion.log = fire.lines().map(|lines| lines.lines()).unwrap_or_default();
        completion.ending = ending(end, now);
        node.unrecorded.add(fire);
        node.running_fires.remove(fire.fire_id());
        // The last place may be gone since it was looked for.
        match self.ended_sender.try_send(OwnedCompletion { owner: Arc::clone(&fire.owner), completion }) {
            Ok(()) => {}
            Err(TrySendError::Full(ended)) => self.queue.hand_back(node, vec![ended]),
            Err(TrySendError::Disconnected(_)) => lifecycle_log::completion_abandoned(fire.fire_id()),
        }
        node.services.completer.wake();
    }
}

impl Service for RunWatch {
    fn run_once(&mut self) -> Result<Next> {
        let now = self.node.clock.ticks();
        // A run may have reported progress for the first time, or have lost its fire.
        let again = now.saturating_add(self.node.settings.executions.heartbeat_interval);
        Ok(Next::At(self.watch(now).map_or(again, |at| at.min(again))))
    }
}
