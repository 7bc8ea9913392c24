//! Fires that do not begin, though they were taken: what becomes of their work.

use super::ended::outcome_of_stop;
use super::ends::Ended;
use super::node::Node;
use super::running::FireTask;
use crate::job::FireOutcome;
use crate::listener::log;
use crate::store::{Completion, CompletionInstruction, Ending, RerunReason};
use std::sync::Arc;

/// The end of a fire that no worker has begun, noted as one that is to be recorded: its work goes on in a fire of its own, at
/// its time, unless somebody wanted it to stop. None if it is another node's by now, or was ended in its place.
pub(super) fn not_begun(node: &Node, task: &FireTask, why: &str) -> Option<Ended> {
    let FireTask { bundle, handle, due } = task;
    if handle.is_lost() {
        log::not_started(handle.fire_id(), "the fire belongs to another node now");
        node.count_fire(&handle.job, FireOutcome::Lost, None);
        return None;
    }
    if !handle.begin_end() {
        return None;
    }
    let now = node.clock.ticks();
    let outcome = handle.stop_reason().map_or(FireOutcome::Interrupted, outcome_of_stop);
    let rerun = || bundle.rerun_order(RerunReason::Interrupted, due.saturating_sub(now));
    let rerun = (outcome == FireOutcome::Interrupted).then(rerun);
    // Work that is over needs no checkpoint of its chain any more.
    let root = bundle.rerun.as_ref().and_then(|rerun| rerun.root_fire_id.clone());
    let error = Some(format!("it had not begun: {why}"));
    let completion = Completion {
        ending: Ending { outcome, error, at: Some(now), ..Ending::default() },
        checkpoint: root.filter(|_| rerun.is_none()),
        rerun,
        beaten: handle.is_beaten(),
        ..bundle.completion(CompletionInstruction::NoInstruction, None)
    };
    log::given_back(handle.fire_id(), why);
    node.count_fire(&handle.job, outcome, None);
    node.unrecorded.add(handle.fire_id(), handle.is_beaten());
    Some(Ended { owner: Arc::clone(&handle.owner), completion })
}
