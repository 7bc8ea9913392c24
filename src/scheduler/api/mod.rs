//! The handle that applications hold: one file for each group of its methods.

mod builder;
mod calendars;
mod continuations;
mod declared;
mod diagnosis;
mod handle;
mod inspection;
mod instance_id;
mod lifecycle;
mod locks;
mod metadata;
mod parked_work;
mod pausing;
mod placement;
mod readiness;
mod recovery_mode;
mod scheduling;
mod status;
mod submission;
mod type_changes;
mod type_watch;
mod unknown_types;

pub use builder::SchedulerBuilder;
pub use handle::Scheduler;
pub use metadata::SchedulerMetadata;
pub use scheduling::IfExists;
pub use submission::Submission;
