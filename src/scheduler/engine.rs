//! `Engine`: the threads of a node, which are started once and ended once.

use super::launch::{launch, spawn_service};
use super::metrics::Workers;
use super::node::Node;
use super::run::registry::Registry;
use super::run::run_handle::RunHandle;
#[cfg(feature = "job-files")]
use super::services::job_file_watcher::JobFileWatcher;
use super::services::service::ServiceThread;
use super::shutdown::{ShutdownReport, Threads, shut_down};
use crate::error::{Error, Result};
use crate::listener::{guarded, lifecycle_log};
use crate::signal::Signal;
use parking_lot::{Mutex, ReentrantMutex};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::ThreadId;
use std::time::Duration;

/// The longest that dropping the last handle may take.
const DROP_LIMIT: Duration = Duration::from_secs(5);

/// The engine of a node, and how far it has come in its life.
#[derive(Default)]
pub(crate) struct Engine {
    phase: Mutex<Phase>,
    /// Held by a start. A listener that starts the node once more does not wait for itself.
    start: ReentrantMutex<()>,
    /// The thread that ends the node, while it does.
    ending: Mutex<Option<ThreadId>>,
    /// The threads of the services.
    services: Mutex<Vec<ThreadId>>,
    /// Set when the first start succeeded.
    started: AtomicBool,
    /// The wall clock at the first start.
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

impl Engine {
    /// The wall clock at the first start, epoch milliseconds; none before it.
    pub(crate) fn since_ms(&self) -> Option<i64> {
        self.since_ms.get().copied()
    }

    pub(crate) fn is_started(&self) -> bool {
        self.started.load(Ordering::SeqCst)
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        self.shut.load(Ordering::SeqCst)
    }

    /// The signal that starts wait for which are to come later.
    pub(crate) fn delayed_starts(&self) -> Arc<Signal> {
        Arc::clone(&self.delayed)
    }

    /// The threads for jobs: all, those that are free, and those that were abandoned.
    pub(crate) fn workers(&self) -> Workers {
        match self.phase.try_lock().as_deref() {
            Some(Phase::Started(threads)) => Workers::of(&threads.pool),
            _ => Workers::default(),
        }
    }

    /// Lets the node fire; true if this was its first start. Another start waits for the first: the
    /// node fires nothing before its job files are loaded.
    pub(crate) fn start(&self, node: &Arc<Node>, registry: &Arc<Registry>) -> Result<bool> {
        let _other_starts_wait = self.start.lock();
        let is_first = self.launch(node, registry)?;
        // Before anything fires, as in Quartz; not under the lock, since listeners hear of it.
        #[cfg(feature = "job-files")]
        let job_files = if is_first { JobFileWatcher::load(node, registry) } else { None };
        #[cfg(not(feature = "job-files"))]
        let job_files: Option<Box<dyn super::services::service::Service>> = None;
        let watcher = job_files.and_then(|service| {
            let watcher = spawn_service(node, &node.services.job_files, service);
            watcher.inspect_err(|error| node.listeners.error(&format!("job files are not watched: {error}"))).ok()
        });
        let mut phase = self.phase.lock();
        let Phase::Started(threads) = &mut *phase else {
            watcher.iter().for_each(ServiceThread::stop);
            return Err(Error::ShutDown(node.name.to_string()));
        };
        self.services.lock().extend(watcher.iter().filter_map(ServiceThread::id));
        threads.services.extend(watcher);
        self.leave_standby(node);
        Ok(is_first)
    }

    /// Lets the node fire, whose services are there.
    pub(crate) fn leave_standby(&self, node: &Node) {
        self.since_ms.get_or_init(|| node.clock.wall_time().timestamp_millis());
        self.started.store(true, Ordering::SeqCst);
        node.work_state.standby.set(false);
        node.services.acquirer.wake();
        node.services.misfire.wake();
        // In active-passive mode a check-in makes it active again, and tells its deputy.
        node.services.cluster.wake();
    }

    /// Starts the threads; true if there were none.
    fn launch(&self, node: &Arc<Node>, registry: &Arc<Registry>) -> Result<bool> {
        let mut phase = self.phase.lock();
        let is_first = match &*phase {
            Phase::Ended(_) => return Err(Error::ShutDown(node.name.to_string())),
            Phase::Started(_) => false,
            Phase::Built => true,
        };
        if is_first {
            let workers = usize::try_from(node.settings.thread_pool.thread_count).unwrap_or(0);
            lifecycle_log::starting(&node.name, &node.instance);
            node.settings
                .unsafe_intervals()
                .iter()
                .for_each(|warning| lifecycle_log::unsafe_intervals(&warning.to_string()));
            match launch(node, registry, workers, &self.delayed) {
                Ok(threads) => {
                    *self.services.lock() = threads.services.iter().filter_map(ServiceThread::id).collect();
                    *phase = Phase::Started(Box::new(threads));
                }
                Err(error) => {
                    take_back_row(node);
                    node.listeners.close();
                    if node.services.completer.signal.is_stopped() {
                        // Some threads were had and told to end: this node cannot be started any
                        // more.
                        *phase = Phase::Ended(ShutdownReport::default());
                        self.shut.store(true, Ordering::SeqCst);
                    }
                    return Err(error);
                }
            }
        }
        Ok(is_first)
    }

    /// Takes over a node that was started without threads, so that it can be ended.
    #[cfg(feature = "test-util")]
    pub(crate) fn adopt(&self, threads: Threads) {
        *self.phase.lock() = Phase::Started(Box::new(threads));
    }

    /// Ends the node within `limit`; a second call returns the report of the first. A listener that
    /// is told of the end and calls it in turn does not wait for itself: its report is empty. A job
    /// or a listener on a thread of the node gets an empty report as well while somebody else ends
    /// the node, who may wait for this thread.
    pub(crate) fn end(&self, node: &Arc<Node>, wait_for_jobs: bool, limit: Duration) -> ShutdownReport {
        let me = std::thread::current().id();
        if *self.ending.lock() == Some(me) {
            return ShutdownReport::default();
        }
        let is_second = self.shut.swap(true, Ordering::SeqCst);
        self.delayed.stop();
        if is_second && self.is_of(node, me) {
            return match self.phase.try_lock().as_deref() {
                Some(Phase::Ended(report)) => report.clone(),
                _ => ShutdownReport::default(),
            };
        }
        // A second caller waits here for the first, which ends within its limit.
        let mut phase = self.phase.lock();
        let threads = match std::mem::take(&mut *phase) {
            Phase::Ended(report) => {
                *phase = Phase::Ended(report.clone());
                return report;
            }
            Phase::Started(threads) => Some(*threads),
            Phase::Built => None,
        };
        *self.ending.lock() = Some(me);
        // A logger that panics, for one, is not to leave the node as if it could be started.
        let report = guarded(|| shut_down(node, threads, wait_for_jobs, limit)).unwrap_or_else(|panic| {
            node.work_state.enter_standby();
            ShutdownReport { leave_error: Some(format!("panic: {panic}")), ..ShutdownReport::default() }
        });
        *self.ending.lock() = None;
        *phase = Phase::Ended(report.clone());
        report
    }

    /// True if the thread is that of a service of the node, or of a run.
    fn is_of(&self, node: &Node, thread: ThreadId) -> bool {
        let runs = |fire: &Arc<RunHandle>| fire.worker().is_some_and(|(worker, _)| worker == thread);
        self.services.lock().contains(&thread) || node.running_fires.all().iter().any(runs)
    }

    /// Ends a node whose last handle was dropped without a shutdown.
    pub(crate) fn end_dropped(&mut self, node: &Arc<Node>) {
        if matches!(self.phase.get_mut(), Phase::Started(_)) {
            lifecycle_log::dropped_without_shutdown(&node.name, &node.instance);
            self.end(node, false, node.settings.shutdown.deadline.min(DROP_LIMIT));
        }
    }
}

/// Takes back the row of a node whose start has failed, if it has registered: others would take it
/// for a member until its window is over.
fn take_back_row(node: &Node) {
    let Some(owner) = node.lease.owner() else { return };
    let why = match guarded(|| node.store.upkeep().leave(&owner)) {
        Ok(Ok(_)) => return node.lease.revoke(),
        Ok(Err(error)) => error.to_string(),
        Err(panic) => format!("panic: {panic}"),
    };
    lifecycle_log::leave_failed(&node.instance, &why);
}
