//! Shutdown: in which order a node ends, what each step may cost, and what is left behind.

use super::node::Node;
use super::run::run_handle::{FireTask, RunningJob};
use super::run::stop_reason::StopReason;
use super::run::worker_pool::WorkerPool;
use super::services::service::ServiceThread;
use super::stop_step::StopStep;
use crate::listener::{guarded, lifecycle_log};
use crate::signal::{Signal, Woken};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The time that is kept to leave the cluster after jobs that do not end.
const FOR_LEAVING: Duration = Duration::from_secs(3);

/// The longest that a shutdown waits for listeners to be told what is still to be told.
const FOR_LISTENERS: Duration = Duration::from_secs(3);
/// The time for which jobs that are told of the end, and not waited for, have to stop: as long as
/// it takes to look, and to record it.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// The report of a shutdown: what it left behind. All of it is taken over by other nodes, or by
/// this one when it starts again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownReport {
    /// Jobs that were still running at the end, or had not begun.
    pub abandoned_jobs: Vec<RunningJob>,
    /// Fires that ended but could not be recorded.
    pub unrecorded: usize,
    /// Threads that did not end in time.
    pub overran: Vec<&'static str>,
    /// Executing fires whose rows stay until other nodes take this one for dead and take over.
    pub left_executing: usize,
    /// Why the node's rows could not be taken back; others take it for dead later.
    pub leave_error: Option<String>,
}

impl ShutdownReport {
    /// True if nothing was left behind.
    pub fn is_clean(&self) -> bool {
        *self == Self::default()
    }
}

/// The threads of a started node.
pub(crate) struct Threads {
    pub(crate) pool: Arc<WorkerPool<FireTask>>,
    /// The threads of the services, one of each that this node has.
    pub(crate) services: Vec<ServiceThread>,
}

/// Ends a node within `limit`. `threads` is none if it was never started.
pub(crate) fn shut_down(
    node: &Arc<Node>,
    threads: Option<Threads>,
    wait_for_jobs: bool,
    limit: Duration,
) -> ShutdownReport {
    let deadline = node.clock.ticks().saturating_add(limit);
    lifecycle_log::shutting_down(&node.name, &node.instance, wait_for_jobs, node.running_fires.count());
    node.listeners.scheduler("scheduler_shutting_down", |listener| listener.scheduler_shutting_down());
    node.work_state.enter_standby();
    node.services.cluster.wake();
    let mut report = ShutdownReport::default();
    let mut steps = Steps { node, services: Vec::new(), is_stepped: false, deadline, limit, report: &mut report };
    match threads {
        Some(Threads { pool, services }) => {
            steps.is_stepped = services.iter().any(|service| service.id().is_none());
            steps.services = services;
            steps.run(&pool, wait_for_jobs);
        }
        // A start whose answer was lost may have left a row.
        None => steps.leave(),
    }
    node.enter_stop_step(None);
    lifecycle_log::shut_down(&node.name, &node.instance, report.abandoned_jobs.len() + report.unrecorded);
    node.listeners.scheduler("scheduler_shutdown", |listener| listener.scheduler_shutdown());
    report
}

struct Steps<'a> {
    node: &'a Arc<Node>,
    services: Vec<ServiceThread>,
    /// The node has no threads, and a simulation has its services pass.
    is_stepped: bool,
    deadline: Duration,
    limit: Duration,
    report: &'a mut ShutdownReport,
}

impl Steps<'_> {
    fn run(&mut self, pool: &WorkerPool<FireTask>, wait_for_jobs: bool) {
        let node = Arc::clone(self.node);
        node.enter_stop_step(Some(StopStep::Acquisition));
        ["job-files", "acquirer", "dispatcher", "notification-listener"].into_iter().for_each(|name| self.end(name));

        node.enter_stop_step(Some(StopStep::Jobs));
        let settings = &node.settings.scheduler;
        let interrupts = if wait_for_jobs {
            settings.interrupt_jobs_on_shutdown_with_wait
        } else {
            settings.interrupt_jobs_on_shutdown
        };
        if interrupts {
            let now = node.clock.ticks();
            for fire in node.running_fires.all() {
                fire.stop(StopReason::Shutdown, now);
            }
            // The watch asks again, and ends in their place the runs that do not end.
            node.services.run_watch.wake();
        }
        node.running_fires.begin_stopping();
        // Ends that the database has refused are tried again at once.
        node.services.completer.wake();
        // A job that is waited for goes on to its end, as in Quartz.
        if interrupts || !wait_for_jobs {
            node.running_fires.tell_jobs();
        }
        pool.close();
        let all_ended =
            self.await_jobs(pool, wait_for_jobs, interrupts) && pool.wait_ended(&*node.clock, self.deadline);

        node.enter_stop_step(Some(StopStep::Records));
        // Both go on as long as jobs may end. The watch holds a way to the completer, and the
        // heartbeat gives away what the watch has given up.
        self.end("run-watch");
        self.end("heartbeat");
        self.await_records();
        self.end("completer");
        node.enter_stop_step(Some(StopStep::Services));
        ["clean-up", "misfire", "cluster", "monitor", "audit"].into_iter().for_each(|name| self.end(name));
        self.report.unrecorded = node.unrecorded.count();
        self.report.abandoned_jobs = node.running_fires.shown(node.clock.ticks());
        match self.reason_to_stay(all_ended) {
            None => self.leave(),
            Some(why) => self.report.leave_error = Some(why.to_owned()),
        }
        // Last: nothing of the node waits for listeners, and they hear of what was found to the
        // end.
        let now = node.clock.ticks();
        self.deadline = self.deadline.clamp(now.saturating_add(FOR_LISTENERS / 10), now.saturating_add(FOR_LISTENERS));
        self.end("listeners");
        node.listeners.close();
        debug_assert!(self.services.is_empty(), "there are services that nobody ends");
    }

    /// The time that is kept for the end, so that jobs that never end do not cost a clean leave.
    fn kept(&self) -> Duration {
        FOR_LEAVING.min(self.limit / 4)
    }

    /// Waits for running jobs as long as this kind of shutdown does; whether all have ended, or
    /// were ended in their place.
    fn await_jobs(&self, pool: &WorkerPool<FireTask>, wait_for_jobs: bool, interrupts: bool) -> bool {
        let (node, clock) = (self.node, &*self.node.clock);
        let kept = self.kept();
        let for_jobs = self.deadline.saturating_sub(kept);
        let in_time = |time: Duration| clock.ticks().saturating_add(time).min(for_jobs);
        let until = match (wait_for_jobs, interrupts) {
            (true, _) => for_jobs,
            // Runs that do not stop are abandoned when the last attempt was in vain.
            (false, true) => in_time(node.settings.shutdown.grace().saturating_add(LAST_WORDS)),
            (false, false) => in_time(LAST_WORDS),
        };
        if pool.wait_idle(clock, until) {
            return true;
        }
        // The time is over: what still runs and looks may at least record how far it came.
        node.running_fires.tell_jobs();
        // A short deadline leaves no time for it.
        let words = if kept >= LAST_WORDS { kept / 3 } else { Duration::ZERO };
        wait_for_jobs && pool.wait_idle(clock, clock.ticks().saturating_add(words))
    }

    /// Ends the service of this name, if the node has it.
    fn end(&mut self, name: &'static str) {
        let Some(at) = self.services.iter().position(|thread| thread.name == name) else { return };
        let thread = self.services.swap_remove(at);
        thread.stop();
        if !thread.wait(&*self.node.clock, self.deadline) {
            lifecycle_log::step_overran(name);
            self.report.overran.push(name);
        }
    }

    /// Waits until all ends of fires are recorded, or nearly until the deadline: an end that cannot
    /// be recorded is not to keep the node from leaving.
    fn await_records(&self) {
        let node = self.node;
        let until = self.deadline.saturating_sub(self.kept() / 3);
        while node.unrecorded.count() > 0 {
            node.services.completer.wake();
            if node.clock.wait(&node.unrecorded.recorded, Some(until)) == Woken::TimedOut {
                return;
            }
        }
    }

    /// Why the node does not take its rows back; none if it does. A database whose answer to the
    /// last check-in does not come would be waited for.
    fn reason_to_stay(&self, all_ended: bool) -> Option<&'static str> {
        let node = self.node;
        let now = node.clock.ticks();
        let left = self.deadline.saturating_sub(now);
        let is_away = self.report.overran.contains(&"cluster");
        match node.settings.data_source.as_ref().filter(|_| is_away).map(|source| source.connection_timeout) {
            Some(wait) if left < wait => Some("the database is away, and no time was left to wait for it"),
            _ if all_ended || !left.is_zero() => None,
            _ => Some("no time was left"),
        }
    }

    /// Takes the node's rows back. Fires that still execute become other nodes' work. The database
    /// is waited for until the deadline, on a thread that goes on: a lock may be held for longer.
    fn leave(&mut self) {
        let node = self.node;
        let Some(owner) = node.lease.owner() else { return };
        node.enter_stop_step(Some(StopStep::Deregistration));
        // From here on jobs that still run do not hold their fires.
        node.lease.revoke();
        node.running_fires.revoke();
        let (asking, answer) = (Arc::clone(node), Arc::new((OnceLock::new(), Signal::default())));
        let answered = Arc::clone(&answer);
        let ask = Arc::new(move || {
            let left = match guarded(|| asking.store.upkeep().leave(&owner)) {
                Ok(left) => left.map_err(|error| error.to_string()),
                Err(panic) => Err(format!("panic: {panic}")),
            };
            let _ = answered.0.set(left);
            answered.1.stop();
        });
        let thread = std::thread::Builder::new().name(format!("{}-leave", node.name));
        let asks = Arc::clone(&ask);
        match if self.is_stepped { None } else { thread.spawn(move || asks()).ok() } {
            Some(thread) => {
                let until = self.deadline.max(node.clock.ticks().saturating_add(FOR_LEAVING / 3));
                if node.clock.wait(&answer.1, Some(until)) == Woken::Stopped {
                    let _ = thread.join();
                }
            }
            None => ask(),
        }
        let why = match answer.0.get() {
            Some(Ok(left)) => {
                self.report.left_executing = *left;
                return;
            }
            Some(Err(why)) => why.clone(),
            None => "the database did not answer in time".to_owned(),
        };
        lifecycle_log::leave_failed(&node.instance, &why);
        self.report.leave_error = Some(why);
    }
}
