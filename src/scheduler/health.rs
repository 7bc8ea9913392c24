//! Health: what the services and counters of this node say when asked.

use super::stop_step::StopStep;
use crate::alarm::AlarmKind;
use crate::job::FireOutcome;
use crate::key::TriggerKey;
use crate::meter::Counter;
use parking_lot::Mutex;
use std::time::Duration;

/// What a service is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServiceState {
    /// It has no thread yet.
    NotStarted,
    /// A pass is under way.
    Working,
    /// It waits for its time or its signal.
    Waiting,
    /// Its last pass failed and it waits before the next.
    BackingOff,
    /// It has ended.
    Stopped,
}

/// How a service of this node is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServiceHealth {
    /// `cluster` (the check-in), `acquirer`, `misfire`, `completer`, `heartbeat` (of running
    /// fires), `monitor`, `clean-up`, `audit` or `listeners` (what they are told in the
    /// background); `ear` where the database tells news; `job-files` if the settings name some.
    pub name: &'static str,
    /// What it is doing.
    pub state: ServiceState,
    /// How many passes in a row have failed.
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
    /// How long ago that was.
    pub since_last_pass: Option<Duration>,
    /// How long the last pass took that has ended, well or badly.
    pub last_duration: Option<Duration>,
    /// How long the longest pass took so far.
    pub longest_duration: Option<Duration>,
    /// How many rows the last pass dealt with: those that `clean-up` has forgotten. None of the other services.
    pub last_rows: Option<usize>,
}

/// Where a loop writes how its service is doing.
#[derive(Debug)]
pub(crate) struct ServiceRecord {
    health: Mutex<ServiceHealth>,
}

impl ServiceRecord {
    pub(crate) fn new(name: &'static str) -> Self {
        let health = ServiceHealth {
            name,
            state: ServiceState::NotStarted,
            errors_in_a_row: 0,
            last_error: None,
            runs: 0,
            errors: 0,
            panics: 0,
            last_pass: None,
            since_last_pass: None,
            last_duration: None,
            longest_duration: None,
            last_rows: None,
        };
        Self { health: Mutex::new(health) }
    }

    /// How the service is doing at this time of the clock.
    pub(crate) fn health(&self, ticks: Duration) -> ServiceHealth {
        let health = self.health.lock().clone();
        ServiceHealth { since_last_pass: health.last_pass.map(|begun| ticks.saturating_sub(begun)), ..health }
    }

    /// Notes how many rows a pass has dealt with.
    pub(crate) fn note_rows(&self, rows: usize) {
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

macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident),* $(,)?) => {
        /// What this node counts since it was built.
        #[derive(Debug, Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: Counter,)*
        }

        /// What this node has counted since it was built.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct CounterValues {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl Counters {
            pub(crate) fn values(&self) -> CounterValues {
                CounterValues { $($name: self.$name.value(),)* }
            }
        }
    };
}

counters! {
    /// Runs that have begun, each try of one that was fired again at once for itself.
    begun,
    /// Runs that ended well.
    succeeded,
    /// Runs that ended with an error or a panic.
    failed,
    /// Runs that ended because somebody asked them to.
    cancelled,
    /// Runs that ended because they took too long, or made no progress.
    timed_out,
    /// Runs that ended because the node did.
    interrupted,
    /// Fires that a trigger listener refused.
    vetoed,
    /// Fires that were lost before their job had ended.
    lost,
    /// Completions refused since the fire belonged to another node by then.
    fenced_writes,
    /// Running fires that were lost since this node was declared dead.
    failed_out,
    /// Nodes this node declared dead.
    convictions,
    /// Acquired triggers of failed nodes that were given back.
    recoveries_freed,
    /// Recovery triggers made for fires of failed nodes.
    recoveries_recovered,
    /// Triggers made due again for fires of failed nodes.
    recoveries_revived,
    /// Interrupted fires of failed nodes whose job asks for no recovery.
    recoveries_lost,
    /// Work that was set aside instead of being taken over.
    recoveries_parked,
    /// Runs that had died with their nodes or fallen silent, and that this node cleared away.
    dead_executions,
    /// Triggers whose misfire instruction was applied.
    misfires,
    /// Due triggers that another node was faster to take, where they are looked for without the
    /// lock; and reservations that were given to others, or taken by them, before this node fired
    /// them.
    overtaken,
    /// Times of triggers that were left out by their policies: the overlap, the catch-up window.
    skipped,
    /// Triggers that were paused since a run of theirs failed.
    paused_on_failure,
    /// Check-ins that failed.
    checkin_failures,
    /// Times that a run was found to be stuck.
    stuck,
    /// Triggers and jobs that an audit set right.
    mended,
    /// Fires that were forgotten by the clean-up of the history.
    forgotten_history,
    /// Requests that were forgotten by the clean-up.
    forgotten_requests,
    /// Alarms for jobs that no living node can run: one for each before it is due, and one with each audit.
    orphaned_jobs,
    /// Alarms raised.
    alarms,
}

impl Counters {
    pub(crate) fn fire(&self, outcome: FireOutcome) {
        match outcome {
            FireOutcome::Succeeded => self.succeeded.add(1),
            FireOutcome::Failed => self.failed.add(1),
            FireOutcome::Cancelled => self.cancelled.add(1),
            FireOutcome::TimedOut => self.timed_out.add(1),
            FireOutcome::Interrupted => self.interrupted.add(1),
            FireOutcome::Vetoed => self.vetoed.add(1),
            FireOutcome::Lost => self.lost.add(1),
            FireOutcome::Misfired => self.misfires.add(1),
            FireOutcome::Running => {} // it has not ended
        }
    }
}

impl CounterValues {
    /// How many fires of this node ended so.
    pub fn of(&self, outcome: FireOutcome) -> u64 {
        match outcome {
            FireOutcome::Succeeded => self.succeeded,
            FireOutcome::Failed => self.failed,
            FireOutcome::Cancelled => self.cancelled,
            FireOutcome::TimedOut => self.timed_out,
            FireOutcome::Interrupted => self.interrupted,
            FireOutcome::Vetoed => self.vetoed,
            FireOutcome::Lost => self.lost,
            FireOutcome::Misfired => self.misfires,
            FireOutcome::Running => 0,
        }
    }
}

/// Where a node is in its life.
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

impl SchedulerStatus {
    /// `running`, `standby` or `stopped`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Standby => "standby",
            Self::Stopped => "stopped",
        }
    }
}

/// A node of the cluster that lives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Executor {
    /// Its name.
    pub instance: String,
    /// How many jobs it runs.
    pub running: usize,
    /// Its last check-in, epoch milliseconds by the store's clock; none of this node before it was seen by itself.
    pub last_seen_ms: Option<i64>,
}

/// How this node is doing.
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
    /// The nodes of the cluster that live, with what they run: this one as it is now, the others as the monitor saw them
    /// last; see `carnelian.monitor.interval`.
    pub executors: Vec<Executor>,
    /// How long ago the others were seen; none before the first look.
    pub since_monitored: Option<Duration>,
    /// The alarms that are raised.
    pub alarms: Vec<AlarmKind>,
    /// Started, and neither standing by nor shut down.
    pub is_firing: bool,
    /// What the node is doing while it is ending; none before and after.
    pub stopping: Option<StopStep>,
    /// Whether the node is registered in the cluster.
    pub is_registered: bool,
    /// Whether the last check-in is so old that other nodes may soon take this one for dead: nothing new is begun.
    pub is_suspicious: bool,
    /// Whether this node fires in active-passive mode; always true in active-active mode.
    pub is_active: bool,
    /// Why placement keeps the node from work, by its last check-in: it is drained, on the blacklist, or an observer.
    pub takes_no_work: Option<String>,
    /// How long ago the last good check-in was begun.
    pub since_checkin: Option<Duration>,
    /// Worker threads.
    pub workers: usize,
    /// Worker threads that are free.
    pub free_workers: usize,
    /// Fires handed to workers and not ended.
    pub running: usize,
    /// Running fires that have made no progress for longer than they may.
    pub stuck_fires: usize,
    /// How many of those this node may have and still be ready; none if it does not matter.
    pub max_stuck_fires: Option<u32>,
    /// Threads that were given up since their jobs would not end, and have not ended since. There are never more than
    /// workers: beyond that a worker stays with its job.
    pub stray_threads: usize,
    /// Triggers reserved for their time.
    pub reserved: usize,
    /// Ended fires that are not recorded yet.
    pub unrecorded: usize,
    /// Triggers left alone since they cannot be read, or a strategy has no answer for their tick, with the reason.
    pub quarantined: Vec<(TriggerKey, String)>,
    /// Jobs that no living node can run, at the last audit; 0 on nodes that leave the audit to another.
    pub orphans: usize,
    /// What listeners were not told since they were too slow.
    pub untold_events: u64,
    /// The clock's ticks when this was written down.
    pub ticks: Duration,
    /// The services.
    pub services: Vec<ServiceHealth>,
    /// The counters.
    pub counters: CounterValues,
}
