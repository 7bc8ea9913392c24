//! `Leftovers`: what the acquirer could not settle before its end. The completer settles it, since
//! it goes on until the last job has ended.

use super::doubts::Doubts;
use crate::error::Result;
use crate::listener::lifecycle_log;
use crate::scheduler::node::Node;
use crate::scheduler::run::completion_queue::CompletionQueue;
use crate::scheduler::run::run_handle::FireTask;
use crate::scheduler::run::unbegun::unfire;
use crate::store::Owner;
use parking_lot::Mutex;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

/// The remains of the acquirer at its end; nothing before.
#[derive(Default)]
pub(crate) struct Leftovers {
    left: Mutex<Option<Left>>,
}

struct Left {
    /// The incarnation under which all of it was acquired.
    owner: Owner,
    doubts: Doubts,
    /// Fires that have not begun, and that the store could not take back.
    tasks: VecDeque<FireTask>,
}

impl Leftovers {
    pub(super) fn leave(&self, owner: Owner, doubts: Doubts, tasks: VecDeque<FireTask>) {
        *self.left.lock() = Some(Left { owner, doubts, tasks });
    }

    /// Gives back what has not begun; true if the store could not take back some of it now.
    ///
    /// # Errors
    /// An error that passes: all that is left is tried again.
    pub(crate) fn settle(&self, node: &Node, queue: &CompletionQueue) -> Result<bool> {
        let mut left = self.left.lock();
        let is_ours = |left: &&mut Left| node.lease.is_of(&left.owner);
        match left.as_mut().filter(is_ours).map(|left| left.settle(node, queue)) {
            Some(Ok(is_left)) => return Ok(is_left),
            Some(Err(error)) if error.is_transient() => return Err(error),
            Some(Err(error)) => lifecycle_log::leave_failed(&node.instance, &error.to_string()),
            None => {}
        }
        left.take().into_iter().for_each(|left| left.forget(node, queue));
        Ok(false)
    }

    /// Leaves what is not settled to the nodes that find this one gone.
    pub(crate) fn forget(&self, node: &Node, queue: &CompletionQueue) {
        self.left.lock().take().into_iter().for_each(|left| left.forget(node, queue));
    }
}

impl Left {
    fn settle(&mut self, node: &Node, queue: &CompletionQueue) -> Result<bool> {
        let Self { owner, doubts, tasks } = self;
        let shared = Arc::new(owner.clone());
        while let Some((acquisition, _)) = doubts.settle_next(node, queue, owner)? {
            node.tell_deferred(&acquisition);
            let now = node.clock.ticks();
            let task = |bundle| FireTask::new(bundle, Arc::clone(&shared), None, now);
            tasks.extend(acquisition.fired.into_iter().map(task));
            // If this fails, the node releases them when it leaves.
            node.store.firing().release(&acquisition.reserved)?;
        }
        let (ended, kept) = unfire(node, std::mem::take(tasks), "the node ends");
        tasks.extend(kept);
        if !ended.is_empty() {
            queue.hand_back(node, ended);
        }
        let known = || -> BTreeSet<String> {
            let mut known = node.known_fires();
            known.extend(tasks.iter().map(|task| task.handle.fire_id().to_owned()));
            known
        };
        doubts.recover_forgotten(node, owner, known)?;
        Ok(!tasks.is_empty())
    }

    fn forget(mut self, node: &Node, queue: &CompletionQueue) {
        self.doubts.forget(node, queue, &self.owner);
        // The rows of prefetched fires say that they have not begun: a node that finds this one
        // gone gives them back. The others count as begun there.
        for task in self.tasks {
            lifecycle_log::not_started(task.handle.fire_id(), "the node ends, and the store cannot take it back");
        }
    }
}
