//! Placement: on which nodes jobs run, and how many at a time.
//!
//! A [`Placement`] and a [`Strategy`] are parts of a [`JobPolicy`](crate::JobPolicy). Drains, the
//! blacklist and the limits of groups are changed with [`Scheduler`](crate::Scheduler).

pub use crate::job::{
    EligibleNode, EveryNode, ExecutionStrategy, LabelRule, NodePart, Placement, Strategy, StrategyError, Tick,
};
pub use crate::store::row::{BlacklistKind, BlacklistRow, LimitRow};
pub use crate::store::{BlacklistEntry, MayRun, Refusal, UnplaceableJob};
