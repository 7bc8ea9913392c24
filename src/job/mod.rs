//! Jobs: what is to run. Here its stored form, [`JobDetail`]; the code itself is registered with
//! the scheduler.

mod actions;
mod continuation;
mod definition;
mod detail;
mod execution_strategy;
mod filter;
mod marks;
mod outcome;
mod placement;
mod policy;
mod retry;
mod run_log;
mod run_marks;
mod strategy;
mod strategy_fit;
mod submission_state;
mod trace;
mod whole_millis;

pub use actions::{OnDead, StuckAction};
pub use continuation::{Continuation, On, Parent};
pub use definition::{JobDefinition, OnChange};
pub use detail::{JobDetail, JobDetailBuilder};
pub use execution_strategy::{EligibleNode, EveryNode, ExecutionStrategy, NodePart, StrategyError, Tick};
pub use filter::JobFilter;
pub use marks::JobMarks;
pub use outcome::FireOutcome;
pub use placement::{LabelRule, Placement};
pub use policy::JobPolicy;
pub use retry::RetryPolicy;
pub use run_log::{CapturedLine, LogLine};
pub use run_marks::RunMarks;
pub use strategy::Strategy;
pub use submission_state::SubmissionState;

pub(crate) use retry::RetryHint;
pub(crate) use run_log::{RunLog, decode as decode_lines, encode as encode_lines};
pub(crate) use trace::{TRACEPARENT, check_traceparent, trace_id_of, traceparent_of};
