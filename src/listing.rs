//! Listing: the stored triggers and jobs in pages.
//!
//! [`Scheduler::list_triggers`](crate::Scheduler::list_triggers) and
//! [`Scheduler::list_jobs`](crate::Scheduler::list_jobs) answer such queries. A page begins behind
//! a key, not at a number: what is stored or deleted meanwhile moves nothing, and the last page
//! costs as little as the first.

pub use crate::store::row::{JobQuery, ListOrder, Page, TriggerQuery};
