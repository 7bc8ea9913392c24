//! Node: what a node of the cluster says of itself, and how its machine is doing.

mod identity;
mod labels;
mod role;

#[doc(hidden)]
pub use identity::NodeIdentity;
pub use labels::{Labels, LabelsError};
pub use role::{NodeActivity, NodeRole};

use crate::alarm::AlarmKind;
use std::time::Duration;

/// A node's account of itself with each check-in; in the side table `CN_NODES`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeInfo {
    /// The name of the machine or place. Property `carnelian.scheduler.nodeName`.
    pub node_name: String,
    /// The name of the node for people. Property `carnelian.node.displayName`.
    pub display_name: String,
    /// The application that it is a part of. Property `carnelian.application.name`.
    pub application: String,
    /// The version of the application. Property `carnelian.application.version`.
    pub application_version: Option<String>,
    /// The version of this library.
    pub library_version: String,
    /// The labels of the node. Property `carnelian.node.labels`.
    pub labels: Labels,
    /// The role of the node. Property `carnelian.scheduler.role`.
    pub role: NodeRole,
    /// The activity of the node.
    pub activity: NodeActivity,
    /// The machine's host name.
    pub host: Option<String>,
    /// The machine's address, as others would see it.
    pub ip: Option<String>,
    /// The number of the process.
    pub pid: u32,
    /// The number of workers.
    pub pool_size: u32,
    /// The number of free workers.
    pub free_workers: u32,
    /// The fires handed to workers and not ended.
    pub running: u32,
    /// The load of the machine and of the process.
    pub load: MachineLoad,
    /// The alarms that the node has raised.
    pub alarms: Vec<AlarmKind>,
}

impl NodeInfo {
    /// The number of busy workers.
    pub fn busy_workers(&self) -> u32 {
        self.pool_size.saturating_sub(self.free_workers)
    }
}

/// The load of a machine and of a process on it. Values that cannot be learned on a system are
/// none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MachineLoad {
    /// The processors that this process may use at the same time.
    pub cores: Option<u32>,
    /// The use of all processors of the machine since the last check-in, in thousandths.
    pub host_cpu_permille: Option<u32>,
    /// The use of all processors of the machine by this process since the last check-in, in
    /// thousandths.
    pub process_cpu_permille: Option<u32>,
    /// The machine's memory, in bytes.
    pub memory_total: Option<u64>,
    /// The memory that was in use and could not be had at once, in bytes.
    pub memory_used: Option<u64>,
    /// The memory that the process had (resident), in bytes.
    pub process_memory: Option<u64>,
    /// The memory that the process may have, in bytes; none without a limit below the machine's
    /// memory.
    pub memory_limit: Option<u64>,
    /// The threads of the process.
    pub threads: Option<u32>,
}

/// A node's report to a check-in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReport {
    /// The node's account of itself.
    pub info: NodeInfo,
    /// The time since the node's start, by its own monotonic clock.
    pub uptime: Duration,
}
