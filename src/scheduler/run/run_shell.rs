//! `RunShell`: one fire on its worker, in the order of Quartz: trigger listeners, veto, job
//! listeners, the job, job listeners, instruction, trigger listeners, all that again if the job
//! asks for it, and the hand-over to the completer.

use super::capture_log::RunLines;
use super::completion_queue::OwnedCompletion;
use super::context::JobContext;
use super::job::Job;
use super::job_error::{JobError, Outcome};
use super::registry::Registry;
use super::run_handle::{FireTask, RunHandle};
use super::run_result::{Failure, ending, error_of, outcome, rerun};
use super::unbegun::end_unbegun;
use crate::job::FireOutcome;
use crate::listener::{FireEnd, guarded, lifecycle_log};
use crate::scheduler::node::Node;
use crate::store::{Completion, CompletionInstruction, Ending, RerunOrder};
use crossbeam_channel::Sender;
use std::sync::Arc;
use std::time::Duration;

/// More immediate repetitions than this in one fire are a mistake of the job.
const MOST_REFIRES: u32 = 10_000;

/// The time for which a worker that may not begin waits before it looks again without having been
/// told.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Runs fires; shared by all workers.
pub(crate) struct RunShell {
    pub(crate) node: Arc<Node>,
    pub(crate) registry: Arc<Registry>,
    pub(crate) ended_sender: Sender<OwnedCompletion>,
}

/// A run that has begun, and whose job has not been called yet.
pub(crate) struct Run {
    ctx: JobContext,
    /// The time at which the run began, in ticks.
    begun: Duration,
    entry: InTable,
    /// Why the data of the job cannot be brought to the version of its code.
    broken: Option<JobError>,
    is_vetoed: bool,
}

#[cfg(feature = "test-util")]
impl Run {
    pub(crate) fn context(&self) -> &JobContext {
        &self.ctx
    }
}

/// The permission for a fire to begin, or why it may not.
pub(crate) type Permission = Result<(), &'static str>;

/// The place of a fire in the table of its node: the fire leaves the table at the end, whatever
/// happens before.
pub(crate) struct InTable {
    node: Arc<Node>,
    handle: Arc<RunHandle>,
    /// The end is on its way to the store, or another node's business.
    is_accounted: bool,
}

impl Drop for InTable {
    fn drop(&mut self) {
        self.node.running_fires.remove(self.handle.fire_id());
        if !self.is_accounted {
            self.node.uncertain.set(true);
            self.node.services.acquirer.wake();
        }
    }
}

impl RunShell {
    /// Runs one fire to its end.
    pub(crate) fn run(&self, task: FireTask) {
        let entry = self.enter(&task);
        let permission = loop {
            if let Some(permission) = self.permission(&task.handle) {
                break permission;
            }
            let again = self.node.clock.ticks().saturating_add(LOOK_AGAIN);
            self.node.clock.wait(&task.handle.signal, Some(again));
        };
        if let Some(run) = self.begin(task, entry, permission) {
            self.run_job(run);
        }
    }

    /// Notes that a worker has taken the fire.
    pub(crate) fn enter(&self, task: &FireTask) -> InTable {
        InTable { node: Arc::clone(&self.node), handle: Arc::clone(&task.handle), is_accounted: false }
    }

    /// The permission for the fire to begin, or why it may not; none while the node suspects
    /// itself: later the fire is its own, or it is lost.
    pub(crate) fn permission(&self, handle: &RunHandle) -> Option<Permission> {
        let node = &*self.node;
        if handle.is_lost() {
            return Some(Err("the fire belongs to another node now"));
        }
        if node.lease.is_held_by(&handle.owner) {
            return Some(Ok(()));
        }
        let is_stopping = node.running_fires.stopping.is_set();
        is_stopping.then_some(Err("the node ends and cannot tell whether the fire is still its own"))
    }

    /// Begins the run, unless it may not begin.
    pub(crate) fn begin(&self, task: FireTask, mut entry: InTable, permission: Permission) -> Option<Run> {
        let node = &*self.node;
        let handle = Arc::clone(&task.handle);
        // The fire has waited for this worker, and somebody may have wanted it to stop meanwhile.
        let is_stopped = handle.stop_reason().is_some();
        let refusal = permission.err().or(is_stopped.then_some("it was asked to stop before"));
        if let Some(why) = refusal {
            // A fire that is still in the store goes on elsewhere; the completer finds out.
            let ended = end_unbegun(node, &task, why);
            entry.is_accounted = true;
            ended.into_iter().for_each(|ended| self.hand_to_completer(ended));
            return None;
        }
        let FireTask { mut bundle, due, .. } = task;
        let (upgraded, broken) = match self.registry.needs_upgrade(&bundle) {
            false => (None, None),
            true => match self.registry.bring_up(Arc::make_mut(&mut bundle)) {
                Ok(version) => (version, None),
                Err(error) => (None, Some(error)),
            },
        };
        let ctx = JobContext::new(Arc::clone(&self.node), Arc::clone(&handle), bundle, upgraded);
        let begun = node.clock.ticks();
        handle.begin(begun);
        let wait = begun.saturating_sub(due);
        node.prefetch.observe_wait(wait);
        node.metrics.worker_wait.observe(wait);
        if handle.has_limits() {
            // The watch over the run has a new time to look at.
            node.services.run_watch.wake();
        }
        lifecycle_log::fired(&ctx.event());
        let is_vetoed = node.listeners.trigger_fired(&ctx.event());
        Some(Run { ctx, begun, entry, broken, is_vetoed })
    }

    /// Calls the job, unless the fire is vetoed, and hands the end of the run to the completer.
    pub(crate) fn run_job(&self, run: Run) {
        let node = &*self.node;
        let Run { mut ctx, begun, mut entry, broken, is_vetoed } = run;
        let handle = Arc::clone(&entry.handle);
        let end = match is_vetoed {
            true => self.veto(&ctx, &handle),
            false => self.execute(&mut ctx, &handle, broken.as_ref()),
        };
        let Some(RunEnd { instruction, end, rerun }) = end else {
            entry.is_accounted = true;
            lifecycle_log::came_back_late(handle.fire_id());
            drop(ctx);
            handle.values.clear();
            return;
        };
        let now = node.clock.ticks();
        node.prefetch.run_times().note(ctx.job().job_type(), now.saturating_sub(begun));
        // From the moment that it began on its worker, with its repetitions: so both are known,
        // when it began and ended.
        let run_time = if is_vetoed { None } else { handle.running_for(now) };
        // Work that is tried again has not failed yet.
        let failed = matches!(end.outcome, FireOutcome::Failed | FireOutcome::TimedOut) && rerun.is_none();
        let ending = Ending { run_time, ..ending(end, now) };
        let completion = Completion { rerun, failed, ..ctx.completion(instruction, ending) };
        node.unrecorded.add(&handle);
        entry.is_accounted = true;
        drop(ctx);
        self.hand_to_completer(OwnedCompletion { owner: Arc::clone(&handle.owner), completion });
        // Code of the application, which is to hold up no service.
        handle.values.clear();
    }

    fn hand_to_completer(&self, ended: OwnedCompletion) {
        let node = &*self.node;
        // Full: the worker waits, which is what keeps the completer from falling behind without
        // bound.
        if let Err(refused) = self.ended_sender.send(ended) {
            lifecycle_log::completion_abandoned(&refused.into_inner().completion.fire_id);
        }
        if node.unrecorded.is_batch(self.ended_sender.len()) {
            node.services.completer.wake();
        }
    }

    /// Ends a fire that a listener has vetoed; none if it was ended in the job's place meanwhile.
    fn veto(&self, ctx: &JobContext, handle: &RunHandle) -> Option<RunEnd> {
        let node = &*self.node;
        lifecycle_log::vetoed(&ctx.event());
        node.listeners.job_execution_vetoed(&ctx.event());
        node.count_fire(&handle.job, FireOutcome::Vetoed, None);
        let end = FireEnd { outcome: FireOutcome::Vetoed, error: None, run_time: Duration::ZERO, result: None };
        handle.begin_end().then_some(RunEnd { instruction: CompletionInstruction::NoInstruction, end, rerun: None })
    }

    /// Runs the job, again and again if it asks for it and no listener vetoes that; none if the
    /// fire was ended in its place meanwhile. Data that could not be upgraded it does not see.
    fn execute(&self, ctx: &mut JobContext, handle: &RunHandle, broken: Option<&JobError>) -> Option<RunEnd> {
        let node = &*self.node;
        let job = self.registry.job(ctx.job().job_type());
        loop {
            node.counters.begun.add(1);
            node.listeners.job_to_be_executed(&ctx.event());
            let begun = node.clock.ticks();
            let result = match broken {
                Some(error) => Err(Failure { error: error.clone(), panicked: false }),
                None => attempt(job.as_deref(), ctx),
            };
            if !handle.begin_end() {
                return None;
            }
            let run_time = node.clock.ticks().saturating_sub(begun);
            // A run that is done has ended well, whoever wanted it to stop.
            let stop = if matches!(result, Ok(Outcome::Succeeded)) { None } else { ctx.stop_reason() };
            let outcome = outcome(&result, stop, handle.is_lost());
            let error = error_of(&result, outcome, stop);
            let end = FireEnd { outcome, error, run_time, result: ctx.result().map(str::to_owned) };
            lifecycle_log::ended(&ctx.event(), &end);
            if let Err(Failure { panicked: true, error }) = &result {
                let message = format!("job `{}` panicked: {}", ctx.job().key(), error.message());
                node.listeners.announce("scheduler_error", move |listener| listener.scheduler_error(&message));
            }
            node.listeners.job_was_executed(&ctx.event(), &end);
            let refire = result.as_ref().is_err_and(|failure| failure.error.wants_refire());
            let instruction =
                result.as_ref().map_or_else(Failure::instruction, |_| CompletionInstruction::NoInstruction);
            node.listeners.trigger_complete(&ctx.event(), instruction);
            node.count_fire(ctx.job().key(), end.outcome, Some(run_time));
            if !refire || ctx.should_stop() {
                let rerun = rerun(ctx, &result, end.outcome);
                return Some(RunEnd { instruction, end, rerun });
            }
            if ctx.count_refire() > MOST_REFIRES {
                node.listeners.error(&format!(
                    "job `{}` asked to run again at once more than {MOST_REFIRES} times in one fire: refused",
                    ctx.job().key()
                ));
                return Some(RunEnd { instruction, end, rerun: None });
            }
            handle.run_again();
            if node.listeners.trigger_fired(&ctx.event()) {
                return self.veto(ctx, handle);
            }
        }
    }
}

/// The end of a run, and what follows from it.
struct RunEnd {
    instruction: CompletionInstruction,
    end: FireEnd,
    rerun: Option<RerunOrder>,
}

fn attempt(job: Option<&dyn Job>, ctx: &mut JobContext) -> Result<Outcome, Failure> {
    let Some(job) = job else {
        let message = format!("job type `{}` is not registered on this node", ctx.job().job_type());
        return Err(Failure { error: JobError::new(message), panicked: false });
    };
    let _attached = RunLines::attach(ctx.handle.lines());
    match guarded(|| job.execute(ctx)) {
        Ok(result) => result.map_err(|error| Failure { error, panicked: false }),
        Err(panic) => Err(Failure { error: JobError::new(format!("panic: {panic}")), panicked: true }),
    }
}
