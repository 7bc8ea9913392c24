//! Status: the nodes of a cluster and their fires, as their rows show them.

use crate::epoch::{length, moment};
use crate::key::{JobKey, TriggerKey};
use crate::store::row::{FiredState, InstanceRow, NodeRow, Progress};
use chrono::{DateTime, Utc};
use std::time::Duration;

/// A fire that is reserved or running somewhere in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FiredTrigger {
    /// The fire's id.
    pub fire_id: String,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The job; none while it is only reserved.
    pub job: Option<JobKey>,
    /// The instance it belongs to.
    pub instance: String,
    /// Reserved or executing.
    pub state: FiredState,
    /// The time at which the trigger was reserved or fired.
    pub fire_time: DateTime<Utc>,
    /// The time it stands for.
    pub scheduled_fire_time: DateTime<Utc>,
    /// The last sign of life; none if it is too young for one, or runs on a node of Quartz.
    pub heartbeat: Option<Heartbeat>,
}

/// The last sign of life of a running fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heartbeat {
    /// The time at which the heartbeat came, by the store's clock.
    pub time: DateTime<Utc>,
    /// The time for which the fire may be silent after it, without the tolerance.
    pub limit: Duration,
    /// The progress of its job.
    pub progress: Option<Progress>,
    /// The time at which the job had last made progress, by the store's clock; none if the job need
    /// not say.
    pub progress_time: Option<DateTime<Utc>>,
    /// The time for which it may go without progress; none if that does not matter.
    pub progress_limit: Option<Duration>,
}

impl Heartbeat {
    /// True if the fire has been silent, or its job without progress, for longer than it may, at
    /// this time of the store's clock.
    pub fn is_overdue(&self, now: DateTime<Utc>) -> bool {
        let is_over = |since: DateTime<Utc>, limit| (now - since).to_std().is_ok_and(|silence| silence > limit);
        let progress = self.progress_time.zip(self.progress_limit);
        is_over(self.time, self.limit) || progress.is_some_and(|(since, limit)| is_over(since, limit))
    }
}

/// A node as its row shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstanceStatus {
    /// The name.
    pub instance: String,
    /// The time of the last check-in, by the store's clock.
    pub last_checkin: DateTime<Utc>,
    /// The interval at which it means to check in.
    pub checkin_interval: Duration,
    /// The check-in is recent enough, by the rule that declares nodes dead.
    pub alive: bool,
    /// The node takes work, by what it said with its last check-in: it is no observer, not in
    /// standby, not ending, and neither drained nor on the blacklist. A node of Quartz counts as
    /// one that does, and so does one that says nothing.
    pub takes_work: bool,
    /// The number of fires it is executing.
    pub running: usize,
    /// The node is a node of Quartz, not ours.
    pub foreign: bool,
    /// The report of the node with its last check-in. None of a node of Quartz, and of one that
    /// says nothing.
    pub node: Option<NodeRow>,
}

impl InstanceStatus {
    /// The node of a row.
    pub(super) fn of(row: InstanceRow, alive: bool, takes_work: bool, running: usize, node: Option<NodeRow>) -> Self {
        Self {
            alive,
            takes_work,
            running,
            foreign: row.incarnation.is_none(),
            last_checkin: moment(row.last_checkin_ms),
            checkin_interval: length(row.checkin_interval_ms),
            node,
            instance: row.name,
        }
    }

    /// True if `name` is the node's instance id, or the node name of which it tells.
    pub fn is_named(&self, name: &str) -> bool {
        self.instance == name || self.node.as_ref().is_some_and(|row| row.info.node_name == name)
    }

    /// True if the node is alive and takes work: alarms, `check` and the report of an outage count
    /// such nodes.
    pub fn is_working(&self) -> bool {
        self.alive && self.takes_work
    }
}

/// The nodes and the fires of a cluster at a time.
#[derive(Debug)]
pub(crate) struct ClusterNow {
    /// The time, epoch milliseconds.
    pub(crate) now_ms: i64,
    /// The nodes, in order of their names.
    pub(crate) nodes: Vec<InstanceStatus>,
    /// The fires that are reserved or run.
    pub(crate) fires: Vec<FiredTrigger>,
}
