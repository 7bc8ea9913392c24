//! `Dispatcher`: keeps fires until the times at which their jobs are to begin, and hands them to
//! the workers then.

use super::service::{Next, Service};
use crate::error::Result;
use crate::scheduler::node::Node;
use crate::scheduler::run::run_handle::FireTask;
use crate::scheduler::run::worker_pool::WorkerPool;
use parking_lot::Mutex;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Fires that are begun in the store, and whose times are to come.
#[derive(Default)]
pub(crate) struct Precommitted {
    /// By time, and among equals in the order in which they came.
    fires: Mutex<BTreeMap<(Duration, u64), FireTask>>,
}

impl Precommitted {
    /// Keeps a fire until its time.
    pub(crate) fn add(&self, node: &Node, task: FireTask) {
        let mut fires = self.fires.lock();
        let due = task.due;
        let after = fires.range(..=(due, u64::MAX)).next_back().filter(|((at, _), _)| *at == due);
        let place = after.map_or(0, |((_, place), _)| place + 1);
        fires.insert((due, place), task);
        if fires.first_key_value().is_some_and(|(first, _)| *first == (due, place)) {
            node.services.dispatcher.wake();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.fires.lock().len()
    }

    /// The fires whose time has come, in their order; and the time of the next one.
    fn take_due(&self, now: Duration) -> (VecDeque<FireTask>, Option<Duration>) {
        let mut fires = self.fires.lock();
        let later = fires.split_off(&(now, u64::MAX));
        let due = std::mem::replace(&mut *fires, later);
        (due.into_values().collect(), fires.first_key_value().map(|((at, _), _)| *at))
    }

    /// Takes out all of them.
    pub(crate) fn withdraw(&self) -> VecDeque<FireTask> {
        std::mem::take(&mut *self.fires.lock()).into_values().collect()
    }
}

/// The service that begins fires in time.
pub(crate) struct Dispatcher {
    node: Arc<Node>,
    pool: Arc<WorkerPool<FireTask>>,
    precommitted: Arc<Precommitted>,
}

impl Dispatcher {
    pub(crate) fn new(node: Arc<Node>, pool: Arc<WorkerPool<FireTask>>, precommitted: Arc<Precommitted>) -> Self {
        Self { node, pool, precommitted }
    }
}

impl Service for Dispatcher {
    fn run_once(&mut self) -> Result<Next> {
        let (mut due, next) = self.precommitted.take_due(self.node.clock.ticks());
        // A pool that takes nothing has ended, after the acquirer has taken back what was here.
        self.pool.submit(&mut due);
        Ok(next.map_or(Next::WhenSignalled, Next::At))
    }
}
