//! The life of a run: from the code that is registered to the completion that the store takes.

pub(crate) mod begin_log;
pub(crate) mod capture_log;
mod checkpoint;
pub(crate) mod completion_queue;
pub(crate) mod context;
pub(crate) mod heartbeat_entry;
pub(crate) mod interrupt_monitor;
pub(crate) mod job;
pub(crate) mod job_error;
pub(crate) mod job_type;
mod payload;
pub(crate) mod registry;
pub(crate) mod run_handle;
pub(crate) mod run_result;
pub(crate) mod run_shell;
mod shard;
pub(crate) mod stop_reason;
mod task_queue;
pub(crate) mod unbegun;
pub(crate) mod worker_pool;

pub use capture_log::CaptureLog;
pub use context::JobContext;
pub use job::Job;
pub use job_error::{JobError, Outcome};
pub use job_type::JobType;
pub use run_handle::RunningJob;
pub use shard::Shard;
pub use stop_reason::StopReason;
