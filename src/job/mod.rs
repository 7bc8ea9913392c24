//! Jobs: what is to run. Here its stored form, [`JobDetail`]; the code itself is registered with the scheduler.

mod definition;
mod detail;
mod outcome;
mod placement;
mod policy;
mod retry;

pub use definition::{JobDefinition, OnChange};
pub use detail::{JobDetail, JobDetailBuilder};
pub use outcome::FireOutcome;
pub use placement::{LabelRule, Placement};
pub use policy::{JobPolicy, OnDead, StuckAction};
pub use retry::RetryPolicy;

pub(crate) use retry::RetryHint;
