//! Monitoring: the health of a node, its counters, the nodes of the cluster, and alarms.
//!
//! [`Scheduler::health`](crate::Scheduler::health) and
//! [`Scheduler::instances`](crate::Scheduler::instances) ask;
//! [`SchedulerListener::alarm`](crate::listener::SchedulerListener::alarm) hears of
//! alarms. [`Scheduler::doctor`](crate::Scheduler::doctor),
//! [`Scheduler::explain`](crate::Scheduler::explain) and
//! [`Scheduler::check`](crate::Scheduler::check) look for the reasons.

pub use crate::alarm::{Alarm, AlarmJob, AlarmKind};
pub use crate::scheduler::{CounterValues, Executor, Health, SchedulerStatus, ServiceHealth, ServiceState, StopStep};
pub use crate::store::row::{FiredState, NodeRow, Progress};
pub use crate::store::{
    CheckBounds, CheckReport, Explanation, Finding, Heartbeat, InstanceStatus, Repair, TriggerCheck,
};
