//! `StoredBeginLog`: prefetched fires begin once the store knows it, so that peers give back those
//! that have not begun when the node dies.

use super::run_handle::FireTask;
use super::task_queue::BeginLog;
use crate::error::{Error, Result};
use crate::listener::guarded;
use crate::scheduler::node::Node;
use crate::scheduler::services::service::is_loud;
use crate::signal::Signal;
use crate::store::Owner;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// After so many marks what was left of fires that have ended since is forgotten.
const TIDIED_AFTER: i64 = 64;

/// The pause before a mark is tried again that the store could not take.
const AGAIN: Duration = Duration::from_millis(100);

/// The first failure in a row is warned of, and then each so many later: every four seconds.
const LOUD_EVERY: u32 = 40;

/// The begin log of a node, in the store.
pub(crate) struct StoredBeginLog {
    node: Arc<Node>,
    /// Marks in a row that the store could not take.
    errors: AtomicU64,
}

impl BeginLog<FireTask> for StoredBeginLog {
    fn is_prefetched(&self, task: &FireTask) -> bool {
        task.bundle.prefetched
    }

    fn record(&self, tasks: VecDeque<FireTask>, is_last: bool) -> Result<VecDeque<FireTask>, VecDeque<FireTask>> {
        // Fires of an earlier incarnation are another node's by now, and find it out on their
        // workers.
        let Some(owner) = tasks.back().map(|task| Arc::clone(&task.handle.owner)) else { return Ok(tasks) };
        let (ours, lost): (Vec<_>, Vec<_>) = tasks.iter().partition(|task| task.handle.owner == owner);
        let fences: Vec<i64> = ours.iter().map(|task| task.bundle.fence).collect();
        let node = &*self.node;
        if !lost.is_empty() {
            node.prefetch.unbegun().leave(lost.iter().map(|task| task.bundle.fence));
        }
        let noted = guarded(|| self.record_begun(&owner, &fences));
        match noted.unwrap_or_else(|panic| Err(Error::Refused(format!("it panicked: {panic}")))) {
            Ok(()) => {
                self.errors.store(0, Ordering::Relaxed);
                Ok(tasks)
            }
            Err(error) if error.is_fenced() => {
                // The workers wait until it is known whose the fires are.
                node.lease.doubt(&owner);
                node.services.cluster.wake();
                Ok(tasks)
            }
            Err(error) if is_last => {
                // The rows of these fires say that they have not begun: a node that finds this one
                // gone gives them back.
                say(|| ::log::warn!("fires are left to other nodes instance={} error={error}", node.instance));
                for task in &tasks {
                    task.handle.revoke();
                }
                // A later mark says that all have begun but those that wait: they are among these.
                node.prefetch.unbegun().enter(fences);
                Ok(tasks)
            }
            Err(error) => {
                let errors = self.errors.fetch_add(1, Ordering::Relaxed) + 1;
                let level = if is_loud(errors, LOUD_EVERY) { ::log::Level::Warn } else { ::log::Level::Debug };
                let why = "fires wait: it cannot be noted that they begin";
                say(|| ::log::log!(level, "{why} instance={} error={error}", node.instance));
                node.prefetch.unbegun().enter(fences);
                let again = node.clock.ticks().saturating_add(AGAIN);
                node.clock.wait(&Signal::default(), Some(again));
                Err(tasks)
            }
        }
    }
}

/// Says a line. Other workers wait meanwhile, for ever if a logger that panics ended this one.
fn say(line: impl FnOnce()) {
    drop(guarded(line));
}

impl StoredBeginLog {
    pub(crate) fn new(node: &Arc<Node>) -> Self {
        Self { node: Arc::clone(node), errors: AtomicU64::new(0) }
    }

    fn record_begun(&self, owner: &Owner, fences: &[i64]) -> Result<()> {
        let node = &*self.node;
        let mark = node.prefetch.unbegun().begin(fences.iter().copied());
        node.store.firing().note_begun(owner, &mark)?;
        if mark.number % TIDIED_AFTER == 0 {
            // A begun fire is of use for its recovery until its end is recorded.
            let first = node.prefetch.unbegun().first_waiting();
            let fence = |id: &String| id.rsplit_once('-').and_then(|(_, fence)| fence.parse().ok());
            let first = node.all_fires().iter().filter_map(fence).fold(first, i64::min);
            if let Err(error) = node.store.firing().forget_ended_batches(owner, first) {
                ::log::debug!("what has ended is not forgotten yet instance={} error={error}", node.instance);
            }
        }
        Ok(())
    }
}
