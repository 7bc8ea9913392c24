//! A heartbeat of one running fire, as the store takes it.

use super::run_handle::RunHandle;
use crate::scheduler::node::Node;
use crate::store::{FireBundle, FireHeartbeat};
use std::time::Duration;

/// The sign of life of a run.
pub(crate) fn heartbeat_entry(node: &Node, fire: &RunHandle) -> FireHeartbeat {
    let (progress, settings) = (fire.progress(), &node.settings.executions);
    let policy = fire.watched().map(|bundle| bundle.job.policy());
    let stuck = policy.and_then(|policy| policy.stuck_limit()).map(|(after, _)| after);
    let stuck = stuck.or_else(|| fire.reports_progress().then_some(settings.stuck_after));
    let silence_limit = policy.and_then(|policy| policy.max_silence()).into_iter().chain(stuck).min();
    let silence = fire.progressed().map(|at| node.clock.ticks().saturating_sub(at)).filter(|_| silence_limit.is_some());
    FireHeartbeat {
        fire_id: fire.fire_id().to_owned(),
        limit: longest_silence(node, fire.watched()),
        progress,
        silence,
        silence_limit,
    }
}

/// The time for which a run may be silent.
pub(crate) fn longest_silence(node: &Node, bundle: Option<&FireBundle>) -> Duration {
    let settings = &node.settings.executions;
    let missed = bundle.and_then(|bundle| bundle.job.policy().missed_heartbeats());
    settings.heartbeat_interval.saturating_mul(missed.unwrap_or(settings.missed_heartbeat_limit))
}
