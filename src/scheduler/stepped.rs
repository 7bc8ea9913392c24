//! `SteppedNode`: a node without threads, whose owner has each service pass and each run go on; for
//! simulations of a cluster on one thread.

use super::api::Scheduler;
use super::launch::{check_in, completions, loop_parts, services};
use super::run::JobContext;
use super::run::begin_log::StoredBeginLog;
use super::run::run_handle::FireTask;
use super::run::run_shell::{InTable, Run, RunShell};
use super::run::worker_pool::WorkerPool;
use super::services::service::{LoopParts, Next, Passed, Service, ServiceThread, end, pass};
use super::shutdown::{ShutdownReport, Threads};
use crate::error::Result;
use crate::signal::Signal;
use std::sync::Arc;
use std::time::Duration;

pub use crate::random::seed as seed_random_numbers;

/// A node that has checked in and fires, one step at a time.
pub struct SteppedNode {
    pool: Arc<WorkerPool<FireTask>>,
    shell: Arc<RunShell>,
    services: Vec<SteppedService>,
    /// The number of workers that have a fire.
    running: usize,
}

struct SteppedService {
    /// None once it has ended.
    service: Option<Box<dyn Service>>,
    parts: LoopParts,
    passed: Passed,
    /// Stopped when it has ended.
    ended: Arc<Signal>,
}

impl Scheduler {
    /// Starts this node without a thread.
    ///
    /// # Errors
    /// Those of the first check-in.
    // For this project's simulator; carries no promise.
    #[doc(hidden)]
    pub fn start_stepped(&self) -> Result<SteppedNode> {
        let node = &self.inner.node;
        let cluster = check_in(node, &self.inner.engine.delayed_starts())?;
        let workers = usize::try_from(node.settings.thread_pool.thread_count).unwrap_or(0);
        let (sender, queue) = completions(node, workers);
        let registry = Arc::clone(&self.inner.registry);
        let shell = RunShell { node: Arc::clone(node), registry, ended_sender: sender.clone() };
        let freed = Arc::clone(&node.services.acquirer.signal);
        let begin_log = Arc::new(StoredBeginLog::new(node));
        let pool = Arc::new(WorkerPool::without_threads(workers, freed, Some(begin_log)));
        let services = services(node, &self.inner.registry, cluster, &pool, sender, queue);
        let stepped = |(post, service): (_, Box<dyn Service>)| SteppedService {
            service: Some(service),
            parts: loop_parts(node, post),
            passed: Ok(Next::Now),
            ended: Arc::default(),
        };
        let services = services.into_iter().map(stepped).collect();
        self.inner.engine.leave_standby(node);
        Ok(SteppedNode { pool, shell: Arc::new(shell), services, running: 0 })
    }

    /// Ends a node without a thread as [`Scheduler::shutdown_and_wait`] does, or as
    /// [`Scheduler::shutdown_now`]. The node's services and runs have to go on while its clock
    /// waits.
    // For this project's simulator; carries no promise.
    #[doc(hidden)]
    pub fn shut_down_stepped(&self, end: SteppedEnd, waits_for_jobs: bool) -> ShutdownReport {
        self.inner.engine.adopt(end.threads);
        if waits_for_jobs { self.shutdown_and_wait() } else { self.shutdown_now() }
    }
}

impl SteppedNode {
    /// The names of the services, in the order of their numbers.
    pub fn services(&self) -> impl Iterator<Item = &'static str> {
        self.services.iter().map(|service| service.parts.record.name)
    }

    /// The handle by which [`Scheduler::shut_down_stepped`] ends the node.
    pub fn end(&self) -> SteppedEnd {
        let of = |service: &SteppedService| {
            let LoopParts { signal, record, .. } = &service.parts;
            ServiceThread::without_thread(record.name, Arc::clone(signal), Arc::clone(&service.ended))
        };
        SteppedEnd {
            threads: Threads { pool: Arc::clone(&self.pool), services: self.services.iter().map(of).collect() },
        }
    }

    /// The time at which a service passes next, in ticks of the node; none while nothing calls for
    /// a pass.
    pub fn due(&self, service: usize) -> Option<Duration> {
        let SteppedService { service: Some(_), parts, passed, .. } = self.services.get(service)? else { return None };
        match *passed {
            _ if parts.signal.is_stopped() => Some(Duration::ZERO),
            Ok(Next::Now) => Some(Duration::ZERO),
            Ok(Next::At(_) | Next::WhenSignalled) if parts.signal.has_news() => Some(Duration::ZERO),
            Ok(Next::At(until)) | Err(until) => Some(until),
            Ok(Next::WhenSignalled | Next::Stop) => None,
        }
    }

    /// Has a service pass once; or say its last words, if it was told to end.
    pub fn pass(&mut self, service: usize) {
        let Some(SteppedService { service: place, parts, passed, ended, .. }) = self.services.get_mut(service) else {
            return;
        };
        let Some(service) = place else { return };
        if parts.signal.is_stopped() {
            end(&mut **service, parts);
            *place = None;
            ended.stop();
            return;
        }
        if matches!(passed, Ok(Next::At(_) | Next::WhenSignalled)) {
            // The end of the wait takes what has woken the service.
            let _ = parts.signal.take_news();
        }
        *passed = pass(&mut **service, parts);
    }

    /// The panics of its services so far.
    pub fn panics(&self) -> u64 {
        self.services.iter().map(|service| service.parts.record.health(Duration::ZERO).panics).sum()
    }

    /// True if a worker is free and a fire waits for one.
    pub fn has_work(&self) -> bool {
        self.running < self.pool.size() && self.pool.waiting() > 0
    }

    /// Has a free worker take a fire.
    pub fn take(&mut self) -> Option<SteppedFire> {
        let task = self.pool.take_now(self.pool.size().saturating_sub(self.running))?;
        self.running += 1;
        let entry = self.shell.enter(&task);
        Some(SteppedFire { task, entry })
    }

    /// Has the worker of a fire begin its run. The fire comes back while the node suspects itself;
    /// nothing comes back if the run may not begin.
    pub fn begin(&mut self, fire: SteppedFire) -> Began {
        let Some(permission) = self.shell.permission(&fire.task.handle) else { return Began::Later(fire) };
        match self.shell.begin(fire.task, fire.entry, permission) {
            Some(run) => Began::Run(SteppedRun { run: Box::new(run) }),
            None => {
                self.free_worker();
                Began::Not
            }
        }
    }

    /// True if the end of a run would have to wait for the completer.
    pub fn is_behind(&self) -> bool {
        self.shell.ended_sender.is_full()
    }

    /// Calls the job of a run, and ends the run.
    pub fn finish(&mut self, run: SteppedRun) {
        self.shell.run_job(*run.run);
        self.free_worker();
    }

    fn free_worker(&mut self) {
        self.running -= 1;
        self.pool.free_worker();
    }
}

/// The handle by which a node without threads is ended.
pub struct SteppedEnd {
    threads: Threads,
}

/// A fire that a worker has taken and not begun.
pub struct SteppedFire {
    task: FireTask,
    entry: InTable,
}

/// A fire whose worker was to begin its run.
pub enum Began {
    /// The run has begun.
    Run(SteppedRun),
    /// The node cannot tell now whether the fire is still its own.
    Later(SteppedFire),
    /// The fire does not begin here.
    Not,
}

/// A run that has begun, and whose job is called when it ends.
pub struct SteppedRun {
    run: Box<Run>,
}

impl SteppedRun {
    /// The context that the job sees.
    pub fn context(&self) -> &JobContext {
        self.run.context()
    }
}
