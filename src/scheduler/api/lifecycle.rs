//! The life of a node through its handle: start, standby, resume, shutdown.

use super::handle::{Inner, Scheduler};
use crate::error::{Error, Result};
use crate::listener::lifecycle_log;
use crate::scheduler::shutdown::ShutdownReport;
use crate::signal::Woken;
use crate::store::InstanceStatus;
#[cfg(feature = "signals")]
use crossbeam_channel::RecvTimeoutError;
use std::sync::Arc;
use std::time::Duration;

impl Scheduler {
    /// Starts firing; after [`Scheduler::standby`], resumes.
    ///
    /// The first start stores the definitions of the program (see
    /// [`JobDefinition`](crate::JobDefinition)) and checks in before it returns, so that its errors
    /// are seen here. With `carnelian.scheduler.enabled=false` it does nothing.
    ///
    /// # Errors
    /// What went wrong with the tables, the check-in or the threads; nothing is started then.
    /// [`Error::ShutDown`] after a shutdown.
    pub fn start(&self) -> Result<()> {
        let node = &self.inner.node;
        self.open_store()?;
        if !node.settings.scheduler.enabled {
            lifecycle_log::disabled(&node.name);
            return Ok(());
        }
        if self.is_started() && !self.is_in_standby() {
            return Ok(());
        }
        if !self.is_started() {
            self.register_definitions()?;
        }
        self.tell("scheduler_starting", |listener| listener.scheduler_starting());
        if self.inner.engine.start(node, &self.inner.registry)? {
            self.log_start();
        } else {
            lifecycle_log::resumed(&node.name, &node.instance);
        }
        self.tell("scheduler_started", |listener| listener.scheduler_started());
        Ok(())
    }

    fn log_start(&self) {
        let Inner { node, .. } = &*self.inner;
        let settings = &node.settings.scheduler;
        let alive = |nodes: Vec<InstanceStatus>| nodes.iter().filter(|node| node.alive).count();
        let source = node.settings.data_source.as_ref();
        let database = source.map_or_else(|| node.store.database().describe(), |source| source.url.to_string());
        lifecycle_log::started(&lifecycle_log::Started {
            scheduler: &node.name,
            instance: &node.instance,
            database: &database,
            workers: node.settings.thread_pool.thread_count,
            members: node.store.upkeep().instances().ok().map(alive),
            zone: settings.time_zone.name(),
            zone_source: settings.time_zone_source.name(),
        });
    }

    /// Starts after a while, on a thread of its own; an error is logged and told to the scheduler
    /// listeners.
    ///
    /// # Errors
    /// [`Error::ShutDown`] after a shutdown, [`Error::Refused`] if there is no thread to be had.
    pub fn start_delayed(&self, delay: Duration) -> Result<()> {
        self.open_store()?;
        let at = self.inner.node.clock.ticks().saturating_add(delay);
        let signal = self.inner.engine.delayed_starts();
        let clock = Arc::clone(&self.inner.node.clock);
        let inner = Arc::downgrade(&self.inner);
        let start = move || {
            while clock.wait(&signal, Some(at)) == Woken::Raised {}
            let Some(inner) = inner.upgrade().filter(|_| !signal.is_stopped()) else { return };
            let scheduler = Scheduler::of(inner);
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
        if node.work_state.enter_standby() {
            node.services.acquirer.wake();
            // The deputy learns of it by the check-in.
            node.services.cluster.wake();
            lifecycle_log::standby(&node.name, &node.instance);
            self.tell("scheduler_in_standby_mode", |listener| listener.scheduler_in_standby_mode());
        }
    }

    /// Ends this node for good, within the deadline of the settings, and waits for its running
    /// jobs. A second call returns what the first found. In Quartz: `shutdown(true)`.
    ///
    /// Running jobs go on to their end; when the time is over, those that
    /// [look](crate::JobContext::should_stop) are told, and the others left behind. The property
    /// `scheduler.interruptJobsOnShutdownWithWait` has them interrupted instead: each is told,
    /// asked again, and given up after `carnelian.shutdown.stopAttempts` times `stopWait`, and its
    /// work goes on elsewhere. The fires of jobs that are left behind are others' as soon as these
    /// take the node for dead; they run them again if the jobs ask for recovery.
    ///
    /// Do not call it from a job: it would wait for itself, until the deadline. Jobs and listeners
    /// that call it, or [`Scheduler::shutdown_now`], while somebody else ends the node get an empty
    /// report at once.
    pub fn shutdown_and_wait(&self) -> ShutdownReport {
        self.end(true)
    }

    /// As [`Scheduler::shutdown_and_wait`], but running jobs are told at once and have a second to
    /// stop. The property `scheduler.interruptJobsOnShutdown` has them interrupted instead. In
    /// Quartz: `shutdown(false)`.
    ///
    /// A job that calls it is not recorded by its own node any more: if it requests recovery, it
    /// runs again.
    pub fn shutdown_now(&self) -> ShutdownReport {
        self.end(false)
    }

    fn end(&self, waits_for_jobs: bool) -> ShutdownReport {
        let Inner { node, engine, .. } = &*self.inner;
        engine.end(node, waits_for_jobs, node.settings.shutdown.deadline)
    }

    /// Starts, runs until SIGTERM or SIGINT (Ctrl-C) comes, and ends as
    /// [`Scheduler::shutdown_and_wait`] does, within `carnelian.shutdown.deadline`: the last line
    /// of a `main`. A second signal ends the process at once. If a signal comes while the start
    /// waits for the database, the start has as long; then its thread is left behind. By Quartz's
    /// `ShutdownHookPlugin` with `cleanShutdown = false` the node ends as with
    /// [`Scheduler::shutdown_now`].
    ///
    /// ```no_run
    /// let scheduler = carnelian::Scheduler::builder().job_fn("sweep", |_| Ok(())).build()?;
    /// scheduler.run_until_signal()?;
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Scheduler::start`]; [`Error::Refused`] if signals cannot be caught.
    #[cfg(feature = "signals")]
    pub fn run_until_signal(&self) -> Result<ShutdownReport> {
        // Before the start, so that no signal is lost.
        let signals = crate::machine::StopSignals::catch()?;
        if !self.start_until(&signals)? {
            let leave_error = Some("the start waited for the database".to_owned());
            return Ok(ShutdownReport { leave_error, ..ShutdownReport::default() });
        }
        signals.wait();
        let hook = &self.inner.node.settings.plugins.shutdown_hook;
        Ok(self.end(hook.as_ref().is_none_or(|hook| hook.clean_shutdown)))
    }

    /// Starts, on a thread of its own; false if that is not over when a signal has come, and the
    /// time for a shutdown is over too.
    #[cfg(feature = "signals")]
    fn start_until(&self, signals: &crate::machine::StopSignals) -> Result<bool> {
        /// The time between two looks for a signal.
        const BETWEEN_LOOKS: Duration = Duration::from_millis(50);
        let (scheduler, (ends, ended)) = (self.clone(), crossbeam_channel::bounded(1));
        let start = move || drop(ends.send(scheduler.start()));
        let thread = std::thread::Builder::new().name(format!("{}-start", self.inner.node.name)).spawn(start);
        thread.map_err(|why| Error::Refused(format!("the thread that starts the node cannot be started: {why}")))?;
        loop {
            let has_come = signals.have_come();
            let wait = if has_come { self.inner.node.settings.shutdown.deadline } else { BETWEEN_LOOKS };
            match ended.recv_timeout(wait) {
                Ok(started) => return started.map(|()| true),
                Err(RecvTimeoutError::Timeout) if !has_come => {}
                Err(RecvTimeoutError::Timeout) => return Ok(false),
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Refused("the start of the node panicked: the log has more".to_owned()));
                }
            }
        }
    }

    /// True if it was started and not shut down since; also true in standby.
    pub fn is_started(&self) -> bool {
        !self.is_shut_down() && self.inner.engine.is_started()
    }

    /// True if it does not fire for now: before the start, and after [`Scheduler::standby`].
    pub fn is_in_standby(&self) -> bool {
        self.inner.node.work_state.standby.is_set()
    }

    /// True if it is shut down, or about to be.
    pub fn is_shut_down(&self) -> bool {
        self.inner.engine.is_shut_down()
    }
}
