//! `Alarm`: a condition that a person should know of, raised once and cleared once.

use crate::key::JobKey;
use crate::words::words;

/// The subject of an alarm. The thresholds are the settings `carnelian.alarm.*`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AlarmKind {
    /// Triggers are overdue, too many and for too long: the workers are too few, or nobody fires.
    OverdueTriggers,
    /// Runs died with their nodes, or fell silent.
    DeadExecutions,
    /// This node's check-ins have failed several times in a row: its peers may soon take it for
    /// dead.
    CheckinFailures,
    /// The heartbeats of this node's runs have failed several times in a row: its peers may soon
    /// take them for dead.
    HeartbeatFailures,
    /// Runs of this node make no progress.
    StuckFires,
    /// No living node can run some jobs.
    OrphanedJobs,
    /// Work is parked: nobody does it until a person has looked at it.
    ParkedWork,
    /// Fewer nodes are alive than there should be.
    TooFewNodes,
    /// This node's clock and the database's are too far from each other.
    ClockSkew,
}

words! {
    /// The word used in logs, in JSON and as the metric label.
    AlarmKind {
        OverdueTriggers = "overdue_triggers",
        DeadExecutions = "dead_executions",
        CheckinFailures = "checkin_failures",
        HeartbeatFailures = "heartbeat_failures",
        StuckFires = "stuck_fires",
        OrphanedJobs = "orphaned_jobs",
        ParkedWork = "parked_work",
        TooFewNodes = "too_few_nodes",
        ClockSkew = "clock_skew",
    }
}

/// An alarm that was raised or cleared.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Alarm {
    /// The subject of the alarm.
    pub kind: AlarmKind,
    /// Raised, or else cleared.
    pub is_raised: bool,
    /// The last measured value: triggers, runs, failures in a row, jobs, parked work, nodes, or
    /// seconds of skew. None if this node no longer measures the value.
    pub value: Option<f64>,
    /// The threshold of the settings, in the same unit; none if the alarm was cleared since there
    /// is no threshold any longer.
    pub limit: Option<f64>,
    /// In words.
    pub detail: String,
    /// The jobs that it is about, where that is known; a hundred at most.
    pub jobs: Vec<AlarmJob>,
}

/// A job that an alarm is about.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlarmJob {
    /// The job.
    pub job: JobKey,
    /// The person or team responsible for the job, if its definition names one.
    pub owner: Option<String>,
}
