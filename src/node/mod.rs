//! Node: what a node of the cluster says of itself, and how its machine is doing.

mod labels;
mod role;

pub use labels::{Labels, LabelsError};
pub use role::{NodeActivity, NodeRole};

use std::time::Duration;

/// What a node says of itself with each check-in; in the side table `CN_NODES`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NodeInfo {
    /// The name of the machine or place. Property `carnelian.scheduler.nodeName`.
    pub node_name: String,
    /// What people call the node. Property `carnelian.node.displayName`.
    pub display_name: String,
    /// The application that it is a part of. Property `carnelian.application.name`.
    pub application: String,
    /// The version of the application. Property `carnelian.application.version`.
    pub application_version: Option<String>,
    /// The version of this library.
    pub library_version: String,
    /// What sets it apart from others. Property `carnelian.node.labels`.
    pub labels: Labels,
    /// What it is there for. Property `carnelian.scheduler.role`.
    pub role: NodeRole,
    /// What it was doing.
    pub activity: NodeActivity,
    /// The machine's host name.
    pub host: Option<String>,
    /// The machine's address, as others would see it.
    pub ip: Option<String>,
    /// The number of the process.
    pub pid: u32,
    /// How many workers it has.
    pub pool_size: u32,
    /// How many of them were free.
    pub free_workers: u32,
    /// The fires handed to workers and not ended.
    pub running: u32,
    /// How the machine and the process were doing.
    pub load: MachineLoad,
}

impl NodeInfo {
    /// How many workers were not free.
    pub fn busy_workers(&self) -> u32 {
        self.pool_size.saturating_sub(self.free_workers)
    }
}

/// How a machine and a process on it are doing. What cannot be learned on a system is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MachineLoad {
    /// The processors that this process may use at the same time.
    pub cores: Option<u32>,
    /// How much of all processors of the machine was in use since the last check-in, in thousandths.
    pub host_cpu_permille: Option<u32>,
    /// How much of all processors of the machine this process used since the last check-in, in thousandths.
    pub process_cpu_permille: Option<u32>,
    /// The machine's memory, in bytes.
    pub memory_total: Option<u64>,
    /// How much of it was in use and could not be had at once, in bytes.
    pub memory_used: Option<u64>,
    /// What the process had in memory (resident), in bytes.
    pub process_memory: Option<u64>,
    /// How much the process may have, in bytes; none without a limit below the machine's memory.
    pub memory_limit: Option<u64>,
    /// The threads of the process.
    pub threads: Option<u32>,
}

/// What a node gives to a check-in of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeReport {
    /// What it says.
    pub info: NodeInfo,
    /// How long ago it was started, by its own monotonic clock.
    pub uptime: Duration,
}
