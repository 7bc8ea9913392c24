//! Cluster settings: what nodes do about each other beyond what Quartz knows.

use std::time::Duration;

use super::reader::Reader;

/// Behaviour of nodes towards each other beyond what Quartz knows (`carnelian.cluster.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClusterSettings {
    /// Reaction of a node that was declared dead while it lived; its jobs are told.
    /// Property `carnelian.cluster.onOwnershipLost`.
    pub on_ownership_lost: OnOwnershipLost,
    /// Extra time before others take a silent node for dead and take its work over; 0.
    /// Property `carnelian.cluster.takeoverDelay` (ms, or a text such as `30s`).
    pub takeover_delay: Duration,
    /// Permission to store job types that no Java class can have while a node of Quartz is in the
    /// cluster; false.
    /// Property `carnelian.cluster.ownTypesBesideQuartz`.
    pub own_types_beside_quartz: bool,
    /// A switch: a node that is still at an earlier tick of a trigger has no part of the next,
    /// whatever the trigger's overlap says; no, in profile `logi` yes.
    /// Property `carnelian.cluster.skipBusyNodes`.
    pub skip_busy_nodes: bool,
    /// The nodes that fire: all of them, or one while the others stand by; all.
    /// Property `carnelian.cluster.mode`.
    pub mode: ClusterMode,
}

/// Reaction of a node that was declared dead while it lived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnOwnershipLost {
    /// Tells its running jobs, which can ask whether they still hold their fire (`notify`).
    Notify,
    /// Ends the process as soon as the loss is seen (`abort`).
    Abort,
}

/// The nodes of a cluster that fire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ClusterMode {
    /// All of them, each fire on one (`active-active`).
    ActiveActive,
    /// One, while the others check in and stand by (`active-passive`).
    ActivePassive,
}

impl ClusterSettings {
    pub(crate) fn read(reader: &mut Reader, clustered: bool) -> Self {
        let passive = reader.chose("carnelian.cluster.mode", "active-passive");
        if passive && !clustered {
            reader.warn("carnelian.cluster.mode", "no effect: jobStore.isClustered is false");
        }
        let abort = reader.chose("carnelian.cluster.onOwnershipLost", "abort");
        Self {
            on_ownership_lost: if abort { OnOwnershipLost::Abort } else { OnOwnershipLost::Notify },
            own_types_beside_quartz: reader.flag("carnelian.cluster.ownTypesBesideQuartz"),
            skip_busy_nodes: reader.flag("carnelian.cluster.skipBusyNodes"),
            takeover_delay: reader.duration("carnelian.cluster.takeoverDelay"),
            mode: if passive { ClusterMode::ActivePassive } else { ClusterMode::ActiveActive },
        }
    }
}

/// Shutdown of a node (`carnelian.shutdown.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShutdownSettings {
    /// Longest time that a shutdown takes, whatever the jobs do; 30 s.
    /// Property `carnelian.shutdown.deadline` (ms, or a text such as `30s`).
    pub deadline: Duration,
    /// Requests to stop that each running job gets of a shutdown before its worker is given up; 3.
    /// Property `carnelian.shutdown.stopAttempts`.
    pub stop_attempts: u32,
    /// Wait after each request; 3 s.
    /// Property `carnelian.shutdown.stopWait` (ms, or a text such as `3s`).
    pub stop_wait: Duration,
}

impl ShutdownSettings {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self {
            deadline: reader.duration("carnelian.shutdown.deadline"),
            stop_attempts: reader.count("carnelian.shutdown.stopAttempts"),
            stop_wait: reader.duration("carnelian.shutdown.stopWait"),
        }
    }

    /// Time that a running job that was asked to stop has until its worker is given up.
    pub fn grace(&self) -> Duration {
        self.stop_wait.saturating_mul(self.stop_attempts.max(1))
    }
}
