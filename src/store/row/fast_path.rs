//! `FastPathWork`: new work without special demands.

use super::{JobRow, TriggerRow};

/// New jobs and triggers, each of a key of its own.
#[derive(Clone, Debug, Default)]
pub struct FastPathWork {
    /// New jobs, without policy and marks.
    pub jobs: Vec<JobRow>,
    /// New triggers of these jobs, or of stored jobs: simple triggers that have not fired, without
    /// a calendar and without options. The states of the triggers are those of new ones. A trigger
    /// whose start is `START_WHEN_STORED` starts when it is stored.
    pub triggers: Vec<TriggerRow>,
    /// True if the work must not be stored while a node of Quartz is a member.
    pub not_beside_quartz: bool,
}
