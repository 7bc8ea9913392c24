//! Backfill: the fires of a past time, run again or for the first time.
//!
//! [`Scheduler::backfill`](crate::Scheduler::backfill) does it, and `carnelian trigger
//! backfill`.

pub use crate::store::{Backfill, Backfilled, BackfilledFire};
