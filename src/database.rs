//! Databases of the application: pools and connections of its own that the scheduler uses.
//!
//! [`SchedulerBuilder::pool`](crate::SchedulerBuilder::pool) takes a pool.
//! [`JobContext::complete_in`](crate::JobContext::complete_in) and
//! [`Scheduler::schedule_in`](crate::Scheduler::schedule_in) take a connection with an open
//! transaction.

pub use crate::store::{CallersConnection, CallersPool};
