//! Work that can be stored without looking at anything beside it.

use super::{JobRow, TriggerRow};

/// New jobs and triggers, each of a key of its own.
#[derive(Clone, Debug, Default)]
pub struct PlainWork {
    /// New jobs, without policy and marks.
    pub jobs: Vec<JobRow>,
    /// New triggers of these jobs, or of jobs that are stored: simple ones in state `WAITING` that have not fired, without a
    /// calendar and without options. One whose start is `START_WHEN_STORED` starts now.
    pub triggers: Vec<TriggerRow>,
    /// Whether it must not be stored while a node of Quartz is a member.
    pub not_beside_quartz: bool,
}
