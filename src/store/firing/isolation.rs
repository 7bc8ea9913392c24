//! Isolated fires: their ends touch no row but their own, so that these are recorded beside
//! acquisitions.

use super::{Completion, CompletionInstruction, FireBundle};
use crate::rules::overlap::may_wait;

/// A fire shares no trigger and no job with others: its trigger's row went with the fire, its job
/// stays whatever ends, and nobody waits for its end.
fn begins_isolated(removed: bool, durable: bool, nonconcurrent: bool, followed: bool) -> bool {
    removed && durable && !nonconcurrent && !followed
}

impl FireBundle {
    /// The end of the fire is probably isolated, as far as can be said when it begins.
    pub(super) fn may_end_isolated(&self) -> bool {
        let job = &self.job;
        begins_isolated(self.removed, job.durable, job.disallow_concurrent_execution, self.followed)
            && !job.persist_job_data_after_execution
            && self.spread_on.is_none()
            && !may_wait(self.trigger.policies.overlap)
    }
}

impl Completion {
    /// The end of the fire touches no row but its own, and a complete trigger that was put back for
    /// it, which nobody else takes.
    pub(super) fn is_isolated(&self) -> bool {
        let tells = self.failed || self.revived || self.by_job || self.may_be_waited_for;
        let has_side_rows = self.has_heartbeat || self.has_stop_order;
        let writes =
            self.job_data.is_some() || self.checkpoint.is_some() || self.rerun.is_some() || self.spread_on.is_some();
        begins_isolated(self.last && self.removed, self.durable, self.nonconcurrent, self.followed)
            && !tells
            && !has_side_rows
            && !writes
            && self.instruction == CompletionInstruction::NoInstruction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_lone_fire_is_isolated() {
        let rows = (0..16).map(|bits| [1, 2, 4, 8].map(|bit| bits & bit != 0));
        let isolated: Vec<_> = rows.filter(|[a, b, c, d]| begins_isolated(*a, *b, *c, *d)).collect();
        assert_eq!(isolated, [[true, true, false, false]]);
    }
}
