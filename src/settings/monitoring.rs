//! Monitoring settings: how the load is looked at, what metrics say, and when alarms are raised.

use std::net::SocketAddr;
use std::time::Duration;

use super::reader::Reader;

/// Monitoring of the load, metrics and health (`carnelian.monitor.*`, `carnelian.metrics.*`,
/// `carnelian.health.*`, `carnelian.monitoring.*`).
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MonitorSettings {
    /// The interval at which a node asks the store for the load of the cluster; 15 s. At 0 it never
    /// asks: metrics, health and alarms then speak of this node only.
    /// Property `carnelian.monitor.interval` (ms, or a text such as `15s`).
    pub interval: Duration,
    /// Delay from which a waiting trigger counts as overdue; 5 s.
    /// Property `carnelian.monitor.overdueAfter` (ms, or a text such as `5s`).
    pub overdue_after: Duration,
    /// A switch: metrics of fires have the label `group`, the job's group; false.
    /// Property `carnelian.metrics.groupLabel`.
    pub group_label: bool,
    /// A switch: metrics of fires have the label `job`, the job as `group.name`, instead of the
    /// group; false.
    /// Property `carnelian.metrics.jobLabel`.
    pub job_label: bool,
    /// Groups or jobs that are told apart; further ones are `other`. 100.
    /// Property `carnelian.metrics.maxGroups`.
    pub max_groups: u32,
    /// A switch: every metric has the labels `scheduler` and `node`, for several schedulers in one
    /// process; false.
    /// Property `carnelian.metrics.nodeLabels`.
    pub node_labels: bool,
    /// Beyond how many stuck fires a node is not ready; none: they do not matter.
    /// Property `carnelian.health.maxStuckFires`.
    pub max_stuck_fires: Option<u32>,
    /// The address on which `carnelian node` answers for health and metrics; none: it does not.
    /// Property `carnelian.monitoring.listen`.
    pub listen: Option<SocketAddr>,
    /// The thresholds of the alarms.
    pub alarms: AlarmSettings,
}

/// The thresholds at which alarms are raised and cleared (`carnelian.alarm.*`). A threshold of 0
/// raises none.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AlarmSettings {
    /// Overdue triggers; 1000. Property `carnelian.alarm.overdueTriggers`.
    pub overdue_triggers: u32,
    /// For how long; 5 min. Property `carnelian.alarm.overdueFor` (ms, or a text such as `5m`).
    pub overdue_for: Duration,
    /// Runs that have died; 1. Property `carnelian.alarm.deadExecutions`.
    pub dead_executions: u32,
    /// Time without a further dead run after which the count begins anew; 10 min.
    /// Property `carnelian.alarm.deadExecutionsWithin` (ms, or a text such as `10m`).
    pub dead_executions_within: Duration,
    /// Check-ins in a row that have failed; 3. Property `carnelian.alarm.checkinFailures`.
    pub checkin_failures: u32,
    /// Heartbeats in a row that have failed; 3. Property `carnelian.alarm.heartbeatFailures`.
    pub heartbeat_failures: u32,
    /// Runs of this node without progress; 1. Property `carnelian.alarm.stuckFires`.
    pub stuck_fires: u32,
    /// Jobs that no living node can run; 1. Property `carnelian.alarm.orphanedJobs`.
    pub orphaned_jobs: u32,
    /// Parked work; 1. Property `carnelian.alarm.parkedWork`.
    pub parked_work: u32,
    /// Nodes that must be alive and take work; 0. Property `carnelian.alarm.minNodes`.
    pub min_nodes: u32,
    /// Distance that this node's clock may have from the database's; 1 s.
    /// Property `carnelian.alarm.clockSkew` (ms, or a text such as `1s`).
    pub clock_skew: Duration,
    /// Time for which a value must be good before its alarm is cleared; 30 s.
    /// Property `carnelian.alarm.clearAfter` (ms, or a text such as `30s`).
    pub clear_after: Duration,
}

impl MonitorSettings {
    pub(crate) fn read(reader: &Reader) -> Self {
        Self {
            interval: reader.duration("carnelian.monitor.interval"),
            overdue_after: reader.duration("carnelian.monitor.overdueAfter"),
            group_label: reader.flag("carnelian.metrics.groupLabel"),
            job_label: reader.flag("carnelian.metrics.jobLabel"),
            max_groups: reader.count("carnelian.metrics.maxGroups"),
            node_labels: reader.flag("carnelian.metrics.nodeLabels"),
            max_stuck_fires: reader.count_if_any("carnelian.health.maxStuckFires"),
            listen: reader.address("carnelian.monitoring.listen"),
            alarms: AlarmSettings::read(reader),
        }
    }
}

impl AlarmSettings {
    fn read(reader: &Reader) -> Self {
        Self {
            overdue_triggers: reader.count("carnelian.alarm.overdueTriggers"),
            overdue_for: reader.duration("carnelian.alarm.overdueFor"),
            dead_executions: reader.count("carnelian.alarm.deadExecutions"),
            dead_executions_within: reader.duration("carnelian.alarm.deadExecutionsWithin"),
            checkin_failures: reader.count("carnelian.alarm.checkinFailures"),
            heartbeat_failures: reader.count("carnelian.alarm.heartbeatFailures"),
            stuck_fires: reader.count("carnelian.alarm.stuckFires"),
            orphaned_jobs: reader.count("carnelian.alarm.orphanedJobs"),
            parked_work: reader.count("carnelian.alarm.parkedWork"),
            min_nodes: reader.count("carnelian.alarm.minNodes"),
            clock_skew: reader.duration("carnelian.alarm.clockSkew"),
            clear_after: reader.duration("carnelian.alarm.clearAfter"),
        }
    }
}
