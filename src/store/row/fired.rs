//! The rows of fires, and that of the last fence.

use super::table::table;
use crate::key::{JobKey, TriggerKey};
use crate::words::words;

/// A row of `FIRED_TRIGGERS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiredRow {
    /// `ENTRY_ID`: never used twice.
    pub fire_id: String,
    /// The trigger.
    pub trigger: TriggerKey,
    /// The instance it belongs to.
    pub instance: String,
    /// `FIRED_TIME`.
    pub fired_ms: i64,
    /// `SCHED_TIME`.
    pub scheduled_ms: i64,
    /// `PRIORITY`: higher fires first.
    pub priority: i32,
    /// The state.
    pub state: FiredState,
    /// None while acquired.
    pub job: Option<JobKey>,
    /// `IS_NONCONCURRENT`.
    pub nonconcurrent: bool,
    /// `REQUESTS_RECOVERY`.
    pub requests_recovery: bool,
}

/// The states of a fired row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiredState {
    /// Reserved, not started.
    Acquired,
    /// The job runs.
    Executing,
}

words! {
    /// The text in `STATE`.
    FiredState { Acquired = "ACQUIRED", Executing = "EXECUTING" }
}

table! {
    /// The row of `CN_FENCES`: the last fence that was drawn.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct FenceRow in "CN_FENCES" by [] {
        /// The fence.
        pub fence: i64,
    }
}
