//! Fires that do not begin, though they were taken: what becomes of their work.

use super::completion_queue::OwnedCompletion;
use super::run_handle::FireTask;
use super::run_result::outcome_of_stop;
use crate::error::FailureClass;
use crate::job::FireOutcome;
use crate::key::RECOVERY_GROUP;
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::store::{Completion, CompletionInstruction, Ending, RerunReason, Unfired};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The end of a fire that no worker has begun, noted as one that is to be recorded: its work goes
/// on in a fire of its own, at its time, unless somebody wanted it to stop. None if it is another
/// node's by now, or was ended in its place.
pub(crate) fn end_unbegun(node: &Node, task: &FireTask, why: &str) -> Option<OwnedCompletion> {
    let handle = &task.handle;
    if handle.is_lost() {
        lifecycle_log::not_started(handle.fire_id(), "the fire belongs to another node now");
        node.count_fire(&handle.job, FireOutcome::Lost, None);
        return None;
    }
    handle.begin_end().then(|| interrupted(node, task, why))
}

/// Takes fires back that no worker has begun, as if they had never been taken; returns the ends of
/// those for which that is not possible, and whose work goes on in fires of their own, and the
/// fires that the store could not take now. Fires that somebody wanted to stop end.
pub(crate) fn unfire(
    node: &Node,
    tasks: impl IntoIterator<Item = FireTask>,
    why: &str,
) -> (Vec<OwnedCompletion>, Vec<FireTask>) {
    let is_wanted = |task: &FireTask| task.handle.stop_reason().is_none() && !task.handle.is_lost();
    let (wanted, others): (Vec<_>, Vec<_>) = tasks.into_iter().partition(is_wanted);
    let mut ended: Vec<OwnedCompletion> = others.iter().filter_map(|task| end_unbegun(node, task, why)).collect();
    // Fires that were ended in their places meanwhile are not ours to give back.
    let (wanted, others_since): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|task| task.handle.begin_end());
    let mut kept = BTreeSet::new();
    for of_one in wanted.chunk_by(|a, b| a.handle.owner == b.handle.owner) {
        let bundles: Vec<_> = of_one.iter().map(|task| &*task.bundle).collect();
        let Some(owner) = of_one.first().map(|task| &task.handle.owner) else { continue };
        let unfired = match node.store.firing().unfire(owner, &bundles) {
            Ok(unfired) => unfired,
            Err(error) if error.is_transient() && error.failure_class() != Some(FailureClass::CommitUnknown) => {
                ::log::debug!("fires cannot be taken back yet instance={} error={error}", node.instance);
                kept.extend(of_one.iter().map(|task| task.bundle.fence));
                continue;
            }
            Err(error) => {
                // Completions find their rows gone if the answer was lost.
                ::log::debug!("fires are ended since they cannot be taken back error={error}");
                vec![Unfired::Stands; of_one.len()]
            }
        };
        for (task, unfired) in of_one.iter().zip(unfired) {
            match unfired {
                Unfired::Done => lifecycle_log::given_back(task.handle.fire_id(), why),
                Unfired::Stands => ended.push(interrupted(node, task, why)),
                Unfired::Gone => {
                    lifecycle_log::not_started(task.handle.fire_id(), "the fire belongs to another node now");
                    node.count_fire(&task.handle.job, FireOutcome::Lost, None);
                }
            }
        }
    }
    let (kept, wanted): (Vec<_>, Vec<_>) = wanted.into_iter().partition(|task| kept.contains(&task.bundle.fence));
    kept.iter().for_each(|task| task.handle.run_again());
    for fire in others.iter().chain(&others_since).chain(&wanted) {
        // After its end is noted, so that it is known all the time.
        node.running_fires.remove(fire.handle.fire_id());
        node.prefetch.unbegun().leave([fire.bundle.fence]);
    }
    (ended, kept)
}

/// The end of a fire that has not begun, and that nobody else ends.
fn interrupted(node: &Node, task: &FireTask, why: &str) -> OwnedCompletion {
    let FireTask { bundle, handle, due } = task;
    let now = node.clock.ticks();
    let outcome = handle.stop_reason().map_or(FireOutcome::Interrupted, outcome_of_stop);
    // A recovery stays one: it has not begun here.
    let is_recovery = bundle.trigger.key().group() == RECOVERY_GROUP;
    let reason = if is_recovery { RerunReason::Died } else { RerunReason::Interrupted };
    let rerun = || bundle.rerun_order(reason, due.saturating_sub(now));
    let rerun = (outcome == FireOutcome::Interrupted).then(rerun);
    // A checkpoint goes with the end, unless the work goes on.
    let checkpoint = bundle.rerun.as_ref().and_then(|rerun| rerun.root_fire_id.clone());
    let error = Some(format!("it had not begun: {why}"));
    let completion = Completion {
        ending: Ending { outcome, error, at: Some(now), ..Ending::default() },
        checkpoint,
        rerun,
        has_heartbeat: handle.has_heartbeats(),
        has_stop_order: handle.has_stop_order(),
        ..bundle.completion(CompletionInstruction::NoInstruction, None)
    };
    lifecycle_log::given_back(handle.fire_id(), why);
    node.count_fire(&handle.job, outcome, None);
    node.unrecorded.add(handle);
    OwnedCompletion { owner: Arc::clone(&handle.owner), completion }
}
