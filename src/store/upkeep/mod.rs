//! The order of the cluster: check-in, failover, misfires, audit.

mod audit;
mod checkin;
mod clean_up;
mod cluster;
mod cluster_load;
mod dead_fire_handler;
mod fences;
mod heartbeat;
mod leaving;
mod membership;
mod misfires;
mod nodes;
mod passes;
mod publishing;
mod recovery;
mod recovery_triggers;
mod reports;
mod status;
mod verdicts;

pub use crate::rules::recovery::DeadFireDecision;
pub(crate) use clean_up::CleanUpWork;
pub use cluster_load::ClusterLoad;
pub use dead_fire_handler::{DeadFire, DeadFireHandler};
pub use heartbeat::{FireHeartbeat, HeartbeatPass, Heartbeats};
pub use membership::Membership;
pub use misfires::LateInOrder;
pub use passes::{AuditPass, CleanUpPass, MisfirePass};
pub use reports::{Checkin, Recovered};
pub(crate) use status::ClusterNow;
pub use status::{FiredTrigger, Heartbeat, InstanceStatus};
