//! The demo jobs, their event log and the life of a node, shared by `demo_node` and `failover`.

pub mod effects;
pub mod jobs;
pub mod log;
pub mod node;
