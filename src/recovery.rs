//! Recovery: work whose node or run died, that was parked, or that no node was there for.
//!
//! [`Scheduler::parked`](crate::Scheduler::parked),
//! [`Scheduler::outages`](crate::Scheduler::outages) and
//! [`Scheduler::recovery_mode`](crate::Scheduler::recovery_mode) ask. A [`DeadFireHandler`]
//! decides.

pub use crate::store::row::{Outage, Parked, RecoveryModeRow};
pub use crate::store::{
    DeadFire, DeadFireDecision, DeadFireHandler, FailedFire, MAX_CHECKPOINT_BYTES, Recovered, Recovering, Rerun,
    RerunReason,
};
