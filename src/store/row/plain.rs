//! New work that asks for nothing special.

use super::{JobRow, TriggerRow};

/// New jobs and triggers, each of a key of its own.
#[derive(Clone, Debug, Default)]
pub struct PlainWork {
    /// New jobs, without policy and marks.
    pub jobs: Vec<JobRow>,
    /// New triggers of these jobs, or of jobs that are stored: simple ones that have not fired,
    /// without a calendar and without options. They get the states they are to begin in when they
    /// are stored; one whose start is `START_WHEN_STORED` starts then.
    pub triggers: Vec<TriggerRow>,
    /// Whether it must not be stored while a node of Quartz is a member.
    pub not_beside_quartz: bool,
}
