//! Jobs: what is to run. Here its stored form, [`JobDetail`]; the code itself is registered with the scheduler.

mod definition;
mod detail;
mod filter;
mod marks;
mod outcome;
mod policy;
mod retry;

pub use definition::{JobDefinition, OnChange};
pub use detail::{JobDetail, JobDetailBuilder};
pub use filter::JobFilter;
pub use marks::JobMarks;
pub use outcome::FireOutcome;
pub use policy::{JobPolicy, OnDead, StuckAction};
pub use retry::RetryPolicy;

pub(crate) use retry::RetryHint;
