//! `Health`: what a node and its services say of themselves when asked.

use super::counters::CounterValues;
use super::stop_step::StopStep;
use crate::alarm::AlarmKind;
use crate::key::TriggerKey;
use crate::words::words;
use chrono::{DateTime, Utc};
use parking_lot::Mutex;
use std::time::Duration;

/// The state of a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceState {
    /// No thread yet.
    #[default]
    NotStarted,
    /// A pass is under way.
    Working,
    /// Between two passes: the service waits for its time or its signal.
    Waiting,
    /// After a pass that failed: the service waits before the next.
    BackingOff,
    /// Ended.
    Stopped,
}

words! {
    /// The word for it in the document of readiness.
    ServiceState {
        NotStarted = "not_started",
        Working = "working",
        Waiting = "waiting",
        BackingOff = "backing_off",
        Stopped = "stopped",
    }
}

/// The health of a service of this node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceHealth {
    /// `cluster` (the check-in), `acquirer`, `misfire`, `completer`, `heartbeat` (of running
    /// fires), `run-watch` (their limits of time), `dispatcher` (precommitted fires), `monitor`,
    /// `clean-up`, `audit` or `listeners` (what they are told in the background); `notification-
    /// listener` if the database sends notifications; `job-files` if the settings name some.
    pub name: &'static str,
    /// The state of the service.
    pub state: ServiceState,
    /// The number of passes in a row that have failed.
    pub errors_in_a_row: u64,
    /// The last error or panic, even if it is over.
    pub last_error: Option<String>,
    /// Passes so far.
    pub runs: u64,
    /// Failed passes so far, without panics.
    pub errors: u64,
    /// Passes that panicked so far.
    pub panics: u64,
    /// The clock's ticks when the last pass began.
    pub last_pass: Option<Duration>,
    /// The time since then.
    pub since_last_pass: Option<Duration>,
    /// The duration of the last pass that has ended, well or badly.
    pub last_duration: Option<Duration>,
    /// The duration of the longest pass so far.
    pub longest_duration: Option<Duration>,
    /// The number of rows that the last pass dealt with: those that `clean-up` has forgotten. None
    /// of the other services.
    pub last_rows: Option<usize>,
}

/// The record in which a loop writes how its service is doing.
#[derive(Debug)]
pub(crate) struct ServiceRecord {
    /// A name for logs and health.
    pub(crate) name: &'static str,
    health: Mutex<ServiceHealth>,
}

impl ServiceRecord {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, health: Mutex::new(ServiceHealth { name, ..ServiceHealth::default() }) }
    }

    /// The health of the service at this time of the clock.
    pub(crate) fn health(&self, ticks: Duration) -> ServiceHealth {
        let health = self.health.lock().clone();
        ServiceHealth { since_last_pass: health.last_pass.map(|begun| ticks.saturating_sub(begun)), ..health }
    }

    /// Notes how many rows a pass has dealt with.
    pub(crate) fn set_rows(&self, rows: usize) {
        self.health.lock().last_rows = Some(rows);
    }

    /// Notes that the pass has ended.
    pub(crate) fn end_pass(&self, ticks: Duration) {
        let mut health = self.health.lock();
        let took = health.last_pass.map(|begun| ticks.saturating_sub(begun));
        health.last_duration = took;
        health.longest_duration = health.longest_duration.max(took);
    }

    pub(crate) fn is_started(&self) -> bool {
        self.health.lock().state != ServiceState::NotStarted
    }

    pub(crate) fn enter(&self, state: ServiceState) {
        self.health.lock().state = state;
    }

    pub(crate) fn begin_pass(&self, ticks: Duration) {
        let mut health = self.health.lock();
        health.state = ServiceState::Working;
        health.last_pass = Some(ticks);
        health.runs += 1;
    }

    /// Notes a good pass; returns how many bad ones came right before it.
    pub(crate) fn succeed(&self) -> u64 {
        std::mem::take(&mut self.health.lock().errors_in_a_row)
    }

    /// Notes a bad pass; returns how many there were in a row.
    pub(crate) fn fail(&self, why: &str, panicked: bool) -> u64 {
        let mut health = self.health.lock();
        health.errors_in_a_row += 1;
        health.last_error = Some(crate::error::shorten(why, 500));
        if panicked {
            health.panics += 1;
        } else {
            health.errors += 1;
        }
        health.errors_in_a_row
    }
}

/// The phase of a node's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchedulerStatus {
    /// Started, and fires; in active-passive mode also one that waits for its turn.
    Running,
    /// Not started yet, or told to stand by.
    Standby,
    /// Shut down, or about to be.
    Stopped,
}

words! {
    /// `running`, `standby` or `stopped`.
    SchedulerStatus {
        Running = "running",
        Standby = "standby",
        Stopped = "stopped",
    }
}

/// A node of the cluster that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executor {
    /// The name of the node.
    pub instance: String,
    /// The number of jobs that it runs.
    pub running: usize,
    /// The time of the node's last check-in, by the store's clock; none of this node before it was
    /// seen by itself.
    pub last_seen: Option<DateTime<Utc>>,
}

/// The health of this node.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Health {
    /// Running, standing by or stopped.
    pub status: SchedulerStatus,
    /// The scheduler's name.
    pub scheduler: String,
    /// This node's name.
    pub instance: String,
    /// Runs on this node that ended well.
    pub completed: u64,
    /// Runs on this node that ended with an error, or took too long.
    pub failed: u64,
    /// The nodes of the cluster that live, with what they run: this one as it is now, the others as
    /// the monitor saw them last; see `carnelian.monitor.interval`.
    pub executors: Vec<Executor>,
    /// The time since the others were seen; none before the first look.
    pub since_monitored: Option<Duration>,
    /// The alarms that are raised.
    pub alarms: Vec<AlarmKind>,
    /// Started, and neither standing by nor shut down.
    pub is_firing: bool,
    /// The step of the shutdown; none before and after it.
    pub stopping: Option<StopStep>,
    /// True if the node is registered in the cluster.
    pub is_registered: bool,
    /// True if the last check-in is so old that other nodes may soon take this one for dead:
    /// nothing new is begun.
    pub is_suspicious: bool,
    /// True if this node fires in active-passive mode; always true in active-active mode.
    pub is_active: bool,
    /// Why the node takes no work: it is drained, on the blacklist, or an observer, by its last
    /// check-in; or the tables have become too new for this program.
    pub takes_no_work: Option<String>,
    /// The time since the last good check-in was begun.
    pub since_checkin: Option<Duration>,
    /// Worker threads.
    pub workers: usize,
    /// Worker threads that are free.
    pub free_workers: usize,
    /// Fires handed to workers and not ended.
    pub running: usize,
    /// Running fires that have made no progress for longer than they may.
    pub stuck_fires: usize,
    /// The number of those that this node may have and still be ready; none if it does not matter.
    pub max_stuck_fires: Option<u32>,
    /// Threads that were given up since their jobs would not end, and have not ended since. There
    /// are never more than workers: beyond that a worker stays with its job.
    pub stray_threads: usize,
    /// Triggers reserved for their time.
    pub reserved: usize,
    /// Ended fires that are not recorded yet.
    pub unrecorded: usize,
    /// Triggers left alone since they cannot be read, or a strategy has no answer for their tick,
    /// with the reason.
    pub quarantined: Vec<(TriggerKey, String)>,
    /// Jobs that no living node can run, at the last audit; 0 on nodes that leave the audit to
    /// another.
    pub orphans: usize,
    /// The number of events that listeners were not told, since they were too slow.
    pub untold_events: u64,
    /// The clock's ticks when this was written down.
    pub ticks: Duration,
    /// The services.
    pub services: Vec<ServiceHealth>,
    /// The counters.
    pub counters: CounterValues,
}
