//! `Alarm`: a condition that a person should know of, raised once and cleared once.

use crate::key::JobKey;
use std::fmt;

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

impl AlarmKind {
    /// All of them.
    pub const ALL: [AlarmKind; 9] = [
        Self::OverdueTriggers,
        Self::DeadExecutions,
        Self::CheckinFailures,
        Self::HeartbeatFailures,
        Self::StuckFires,
        Self::OrphanedJobs,
        Self::ParkedWork,
        Self::TooFewNodes,
        Self::ClockSkew,
    ];

    /// The word used in logs, in JSON and as the metric label.
    pub fn name(self) -> &'static str {
        match self {
            Self::OverdueTriggers => "overdue_triggers",
            Self::DeadExecutions => "dead_executions",
            Self::CheckinFailures => "checkin_failures",
            Self::HeartbeatFailures => "heartbeat_failures",
            Self::StuckFires => "stuck_fires",
            Self::OrphanedJobs => "orphaned_jobs",
            Self::ParkedWork => "parked_work",
            Self::TooFewNodes => "too_few_nodes",
            Self::ClockSkew => "clock_skew",
        }
    }
}

impl fmt::Display for AlarmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
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
