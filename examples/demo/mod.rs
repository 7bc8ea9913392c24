//! The demo jobs and their event log, shared by `demo_node` and `failover`.

pub mod jobs;
pub mod log;
