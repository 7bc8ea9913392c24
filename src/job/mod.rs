//! Jobs: what is to run. Here its stored form, [`JobDetail`]; the code itself is registered with the scheduler.

mod continuation;
mod definition;
mod detail;
mod outcome;
mod policy;
mod retry;

pub use continuation::{Continuation, On, Parent};
pub use definition::{JobDefinition, OnChange};
pub use detail::{JobDetail, JobDetailBuilder};
pub use outcome::FireOutcome;
pub use policy::{JobPolicy, OnDead, StuckAction};
pub use retry::RetryPolicy;

pub(crate) use retry::RetryHint;
