//! The engine: `api` is the handle that applications hold, `services` the threads of a node, `run`
//! the life of one run.

mod api;
mod counters;
mod engine;
mod health;
mod launch;
mod lease;
mod lock_keeper;
mod metrics;
mod node;
mod quarantine;
mod run;
mod running_fires;
mod services;
mod shutdown;
#[cfg(feature = "test-util")]
pub mod stepped;
mod stop_step;

pub use api::{IfExists, Scheduler, SchedulerBuilder, SchedulerMetadata, Submission};
pub use counters::CounterValues;
pub use health::{Executor, Health, SchedulerStatus, ServiceHealth, ServiceState};
pub use lock_keeper::LockGuard;
#[cfg(feature = "dashboard")]
pub(crate) use metrics::cluster_metrics_text;
pub use run::{CaptureLog, Job, JobContext, JobError, JobType, Outcome, RunningJob, Shard, StopReason};
pub use shutdown::ShutdownReport;
pub use stop_step::StopStep;
