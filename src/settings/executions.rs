//! Execution settings: how running fires are watched.

use std::time::Duration;

use super::reader::Reader;

/// Supervision of running fires (`carnelian.scheduler.*Heartbeat*`, `carnelian.job.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ExecutionSettings {
    /// Interval of the heartbeats of running fires; 5 s.
    /// Property `carnelian.scheduler.heartbeatInterval` (ms, or a text such as `5s`).
    pub heartbeat_interval: Duration,
    /// Heartbeats that a fire may miss before the fire counts as dead; 3.
    /// Property `carnelian.scheduler.missedHeartbeatLimit`.
    pub missed_heartbeat_limit: u32,
    /// After how long without progress a job that reports its progress counts as stuck; 5 min.
    /// Property `carnelian.job.stuckAfter` (ms, or a text such as `5m`).
    pub stuck_after: Duration,
    /// Requests to stop that a job gets before its worker is given up; 3.
    /// Property `carnelian.job.stopAttempts`.
    pub stop_attempts: u32,
    /// Wait after each request; 3 s.
    /// Property `carnelian.job.stopWait` (ms, or a text such as `3s`).
    pub stop_wait: Duration,
}

impl ExecutionSettings {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self {
            heartbeat_interval: reader.duration("carnelian.scheduler.heartbeatInterval"),
            missed_heartbeat_limit: reader.count("carnelian.scheduler.missedHeartbeatLimit"),
            stuck_after: reader.duration("carnelian.job.stuckAfter"),
            stop_attempts: reader.count("carnelian.job.stopAttempts"),
            stop_wait: reader.duration("carnelian.job.stopWait"),
        }
    }

    /// Time that a job that was asked to stop has until its worker is given up.
    pub fn grace(&self) -> Duration {
        self.stop_wait.saturating_mul(self.stop_attempts.max(1))
    }
}
