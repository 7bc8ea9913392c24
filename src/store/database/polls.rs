//! `PollRows`: what nodes read again and again while nothing happens.

use crate::error::Result;
use crate::store::row::{Exclusions, PollResult, TypeVersions};

/// Polls over several tables, in one statement each.
pub trait PollRows {
    /// The time, the counters of changes, and the earliest time within `horizon_ms` from now,
    /// however late, at which a [`DueQuery`](crate::store::row::DueQuery) would find something;
    /// without a horizon at any time. Also the earliest time for which a node of ours, other than
    /// `instance`, has reserved a trigger. In one statement.
    fn poll(
        &mut self,
        instance: &str,
        horizon_ms: Option<i64>,
        misfire_threshold_ms: i64,
        job_types: &[String],
        versions: &TypeVersions,
        excluded: &Exclusions,
    ) -> Result<PollResult>;
    /// The time, and how many beats of the scheduler are overdue, or come from a moment more than
    /// `tolerance_ms` ahead; in one statement.
    fn doubtful_heartbeats(&mut self, tolerance_ms: i64) -> Result<(i64, i64)>;
}
