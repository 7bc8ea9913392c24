//! The life of a node: start, standby, resume, shutdown.

use super::acquirer::Acquirer;
use super::auditor::Auditor;
use super::begin_gate::BeginGate;
use super::clean_up::CleanUp;
use super::cluster_manager::ClusterManager;
use super::completer::Completer;
use super::ear::Listening;
use super::ends::Ends;
use super::heartbeat::Heartbeat;
#[cfg(feature = "job-files")]
use super::job_files;
use super::misfire_handler::MisfireHandler;
use super::monitor::Monitor;
use super::node::{Node, Post};
use super::run_shell::RunShell;
use super::service::{LoopParts, Service, ServiceThread, spawn};
use super::shutdown::{ShutdownReport, Threads, shut_down};
use super::starter::{Early, Starter};
use super::teller::Teller;
use super::worker_pool::WorkerPool;
use super::{Inner, Scheduler};
use crate::error::{Error, Result};
use crate::listener::log;
use crate::signal::{Signal, Woken};
use crossbeam_channel::bounded;
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The longest that dropping the last handle may take.
const DROP_LIMIT: Duration = Duration::from_secs(5);

/// Where a node is in its life.
#[derive(Default)]
pub(super) struct Life {
    phase: Mutex<Phase>,
    /// Set when the first start succeeded.
    started: AtomicBool,
    /// When that was, by the wall clock.
    since_ms: OnceLock<i64>,
    /// Set as soon as a shutdown begins.
    shut: AtomicBool,
    /// Stopped when a shutdown begins, for starts that are still waiting.
    delayed: Arc<Signal>,
}

#[derive(Default)]
enum Phase {
    #[default]
    Built,
    Started(Box<Threads>),
    Ended(ShutdownReport),
}

impl Scheduler {
    /// Starts firing; after [`Scheduler::standby`], resumes.
    ///
    /// The first start stores the definitions of the program (see [`JobDefinition`](crate::JobDefinition)) and checks in
    /// before it returns, so that its errors are seen here. With `carnelian.scheduler.enabled=false` it does nothing.
    ///
    /// # Errors
    /// What went wrong with the tables, the check-in or the threads; nothing is started then. [`Error::ShutDown`]
    /// after a shutdown.
    pub fn start(&self) -> Result<()> {
        let node = &self.inner.node;
        self.open_store()?;
        if !node.settings.scheduler.enabled {
            log::disabled(&node.name);
            return Ok(());
        }
        if self.is_started() && !self.is_in_standby() {
            return Ok(());
        }
        if !self.is_started() {
            self.register_definitions()?;
        }
        self.tell("scheduler_starting", |listener| listener.scheduler_starting());
        if self.inner.start()? {
            log::started(&node.name, &node.instance);
        } else {
            log::resumed(&node.name, &node.instance);
        }
        self.tell("scheduler_started", |listener| listener.scheduler_started());
        Ok(())
    }

    /// Starts after a while, on a thread of its own; an error is logged and told to the scheduler listeners.
    ///
    /// # Errors
    /// [`Error::ShutDown`] after a shutdown, [`Error::Refused`] if there is no thread to be had.
    pub fn start_delayed(&self, delay: Duration) -> Result<()> {
        self.open_store()?;
        let at = self.inner.node.clock.ticks().saturating_add(delay);
        let signal = Arc::clone(&self.inner.life.delayed);
        let clock = Arc::clone(&self.inner.node.clock);
        let inner = Arc::downgrade(&self.inner);
        let start = move || {
            while clock.wait(&signal, Some(at)) == Woken::Raised {}
            let Some(inner) = inner.upgrade().filter(|_| !signal.is_stopped()) else { return };
            let scheduler = Scheduler { inner };
            if let Err(error) = scheduler.start() {
                scheduler.inner.node.listeners.error(&format!("the delayed start failed: {error}"));
            }
        };
        let spawned = std::thread::Builder::new().name(format!("{}-start", self.name())).spawn(start);
        spawned.map(drop).map_err(|why| Error::Refused(format!("a thread could not be started: {why}")))
    }

    /// Stops firing on this node; check-in and misfires go on, and running jobs end as usual.
    pub fn standby(&self) {
        let node = &self.inner.node;
        if !node.standby.swap(true, Ordering::SeqCst) {
            node.acquirer.signal.raise();
            log::standby(&node.name, &node.instance);
            self.tell("scheduler_in_standby_mode", |listener| listener.scheduler_in_standby_mode());
        }
    }

    /// Ends this node for good, within the deadline of the settings. A second call returns what the first found.
    ///
    /// With `wait_for_jobs` running jobs go on to their end; when the time is over, those that
    /// [look](crate::JobContext::should_stop) are told, and the others left behind. Without it they
    /// are told at once and have a second to stop. `scheduler.interruptJobsOnShutdownWithWait` and
    /// `scheduler.interruptJobsOnShutdown` have them interrupted instead: each is told, asked
    /// again, and given up after `carnelian.shutdown.stopAttempts` times `stopWait`, and its work
    /// goes on elsewhere. The fires of jobs that are left behind are others' as soon as these take
    /// the node for dead; they run them again if the jobs ask for recovery.
    ///
    /// Do not call it from a job: it would wait for itself, until the deadline.
    pub fn shutdown(&self, wait_for_jobs: bool) -> ShutdownReport {
        self.inner.end(wait_for_jobs, self.inner.node.settings.shutdown.deadline)
    }

    /// Whether it was started and not shut down since; also true in standby.
    pub fn is_started(&self) -> bool {
        !self.is_shut_down() && self.inner.life.started.load(Ordering::SeqCst)
    }

    /// Whether it does not fire for now: before the start, and after [`Scheduler::standby`].
    pub fn is_in_standby(&self) -> bool {
        self.inner.node.standby.load(Ordering::SeqCst)
    }

    /// Whether it is shut down, or about to be.
    pub fn is_shut_down(&self) -> bool {
        self.inner.life.shut.load(Ordering::SeqCst)
    }

    /// How many workers there are, how many are free, and how many threads were given up.
    pub(super) fn workers(&self) -> (usize, usize, usize) {
        match self.inner.life.phase.try_lock().as_deref() {
            Some(Phase::Started(threads)) => (threads.pool.size(), threads.pool.free(), threads.pool.strays()),
            _ => (0, 0, 0),
        }
    }
}

impl Life {
    pub(super) fn since_ms(&self) -> Option<i64> {
        self.since_ms.get().copied()
    }
}

impl Inner {
    /// Lets the node fire; true if this was its first start.
    fn start(&self) -> Result<bool> {
        let Inner { node, life, .. } = self;
        let is_first = self.launch()?;
        // Before anything fires, as in Quartz; not under the lock, since listeners hear of it.
        #[cfg(feature = "job-files")]
        let job_files = if is_first { job_files::begin(node) } else { None };
        #[cfg(not(feature = "job-files"))]
        let job_files: Option<Box<dyn Service>> = None;
        let watcher = job_files.and_then(|service| {
            let watcher = spawn_service(node, &node.job_files, service);
            watcher.inspect_err(|error| node.listeners.error(&format!("job files are not watched: {error}"))).ok()
        });
        let mut phase = life.phase.lock();
        let Phase::Started(threads) = &mut *phase else {
            watcher.iter().for_each(ServiceThread::stop);
            return Err(Error::ShutDown(node.name.to_string()));
        };
        threads.services.extend(watcher);
        life.since_ms.get_or_init(|| node.clock.wall_ms());
        life.started.store(true, Ordering::SeqCst);
        node.standby.store(false, Ordering::SeqCst);
        node.acquirer.signal.raise();
        node.misfire.signal.raise();
        Ok(is_first)
    }

    /// Starts the threads; true if there were none.
    fn launch(&self) -> Result<bool> {
        let Inner { node, life, .. } = self;
        let mut phase = life.phase.lock();
        let is_first = match &*phase {
            Phase::Ended(_) => return Err(Error::ShutDown(node.name.to_string())),
            Phase::Started(_) => false,
            Phase::Built => true,
        };
        if is_first {
            let workers = usize::try_from(node.settings.thread_pool.thread_count).unwrap_or(0);
            node.settings.unsafe_intervals().iter().for_each(|warning| log::unsafe_intervals(&warning.to_string()));
            log::starting(&node.name, &node.instance, workers, &node.store.database().describe());
            match launch(node, workers, &life.delayed) {
                Ok(threads) => *phase = Phase::Started(Box::new(threads)),
                Err(error) => {
                    node.listeners.close();
                    if node.completer.signal.is_stopped() {
                        // Some threads were had and told to end: this node cannot be started any more.
                        *phase = Phase::Ended(ShutdownReport::default());
                        life.shut.store(true, Ordering::SeqCst);
                    }
                    return Err(error);
                }
            }
        }
        Ok(is_first)
    }

    fn end(&self, wait_for_jobs: bool, limit: Duration) -> ShutdownReport {
        self.life.shut.store(true, Ordering::SeqCst);
        self.life.delayed.stop();
        // A second caller waits here for the first, which ends within its limit.
        let mut phase = self.life.phase.lock();
        let threads = match std::mem::take(&mut *phase) {
            Phase::Ended(report) => {
                *phase = Phase::Ended(report.clone());
                return report;
            }
            Phase::Started(threads) => Some(*threads),
            Phase::Built => None,
        };
        let report = shut_down(&self.node, threads, wait_for_jobs, limit);
        *phase = Phase::Ended(report.clone());
        report
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if matches!(self.life.phase.get_mut(), Phase::Started(_)) {
            log::dropped_without_shutdown(&self.node.name, &self.node.instance);
            self.end(false, self.node.settings.shutdown.deadline.min(DROP_LIMIT));
        }
    }
}

/// The first check-in, then all threads; if one of them cannot be had, none is left.
fn launch(node: &Arc<Node>, workers: usize, stopped: &Signal) -> Result<Threads> {
    node.store.database().check_schema()?;
    node.store.database().guard()?.iter().for_each(|guard| log::guarded(guard));
    // Before the first check-in: what that finds must not keep the next ones waiting.
    node.listeners.open();
    let mut cluster = ClusterManager::new(Arc::clone(node));
    cluster.begin(stopped)?;

    // Fires that were taken ahead may all have ended before the first of them is recorded.
    let batch = usize::try_from(node.settings.scheduler.batch_max_count).unwrap_or(0);
    let (sender, receiver) = bounded(workers.saturating_add(batch).saturating_mul(2).clamp(16, 2000));
    let ends = Arc::new(Ends::new(receiver));
    let shell = RunShell { node: Arc::clone(node), completions: sender.clone() };
    let worker_prefix = match &node.settings.thread_pool.thread_name_prefix {
        Some(prefix) => prefix.clone(),
        None => format!("{}-worker", node.name),
    };
    let freed = Arc::clone(&node.acquirer.signal);
    let gate = Arc::new(BeginGate::new(node));
    let pool = Arc::new(WorkerPool::start(workers, &worker_prefix, freed, Some(gate), move |task| shell.run(task))?);
    *node.pool.lock() = Arc::downgrade(&pool);

    let early = Arc::new(Early::default());
    let starter = Starter::new(Arc::clone(node), Arc::clone(&pool), Arc::clone(&early));
    let acquirer = Acquirer::new(Arc::clone(node), Arc::clone(&pool), early, Arc::clone(&ends));
    let completer = Completer::new(Arc::clone(node), ends);
    let heartbeat = Heartbeat::new(Arc::clone(node), Arc::clone(&pool), sender);
    let monitor = Monitor::new(Arc::clone(node), Arc::clone(&pool));
    let mut services: Vec<(&Post, Box<dyn Service>)> = vec![
        (&node.completer, Box::new(completer)),
        (&node.misfire, Box::new(MisfireHandler::new(Arc::clone(node)))),
        (&node.cluster, Box::new(cluster)),
        (&node.starter, Box::new(starter)),
        (&node.acquirer, Box::new(acquirer)),
        (&node.heartbeat, Box::new(heartbeat)),
        (&node.clean_up, Box::new(CleanUp::new(Arc::clone(node)))),
        (&node.monitor, Box::new(monitor)),
        (&node.audit, Box::new(Auditor::new(Arc::clone(node)))),
        (&node.teller, Box::new(Teller::new(Arc::clone(node)))),
    ];
    if let Some(listening) = Listening::new(Arc::clone(node)) {
        services.push((&node.ear, Box::new(listening)));
    }
    let mut threads = Threads { pool, services: Vec::with_capacity(services.len()) };
    for (post, service) in services {
        match spawn_service(node, post, service) {
            Ok(thread) => threads.services.push(thread),
            Err(error) => {
                threads.pool.close();
                threads.services.iter().for_each(ServiceThread::stop);
                return Err(error);
            }
        }
    }
    Ok(threads)
}

fn spawn_service(node: &Node, post: &Post, service: Box<dyn Service>) -> Result<ServiceThread> {
    let thread_name = match &node.settings.scheduler.thread_name {
        Some(name) if service.name() == "acquirer" => name.clone(),
        _ => format!("{}-{}", node.name, service.name()),
    };
    let parts = LoopParts {
        clock: Arc::clone(&node.clock),
        signal: Arc::clone(&post.signal),
        record: Arc::clone(&post.record),
        log_threshold: node.settings.job_store.retry_log_threshold,
        longest_retry: node.settings.job_store.db_retry_interval,
    };
    spawn(service, thread_name, parts)
}
