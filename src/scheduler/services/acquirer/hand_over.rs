//! `HandOver`: fires on their way from the store to the workers.

use crate::rules::prefetch::{given_back_at, patience};
use crate::scheduler::node::Node;
use crate::scheduler::run::run_handle::FireTask;
use crate::scheduler::run::worker_pool::WorkerPool;
use crate::scheduler::services::dispatcher::Precommitted;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Fires on their way to the workers.
pub(super) struct HandOver {
    pub(super) pool: Arc<WorkerPool<FireTask>>,
    /// Fired in the store before their time.
    pub(super) precommitted: Arc<Precommitted>,
    /// Fired, and not handed over; normally empty.
    pub(super) tasks: VecDeque<FireTask>,
    /// The time at which fires were last handed over, in ticks.
    pub(super) handed: Duration,
}

impl HandOver {
    pub(super) fn new(pool: Arc<WorkerPool<FireTask>>, precommitted: Arc<Precommitted>) -> Self {
        Self { pool, precommitted, tasks: VecDeque::new(), handed: Duration::ZERO }
    }

    /// Fires that have a worker, or will have one.
    pub(super) fn committed(&self) -> usize {
        self.pool.busy() + self.precommitted.len() + self.tasks.len()
    }

    /// Fires that wait for a worker, or for their time.
    pub(super) fn waiting(&self) -> usize {
        self.pool.waiting() + self.precommitted.len()
    }

    /// Takes back what no worker has begun.
    pub(super) fn withdraw_begun_by_none(&self) -> VecDeque<FireTask> {
        let mut waiting = self.pool.withdraw(|_| true);
        waiting.append(&mut self.precommitted.withdraw());
        waiting
    }

    /// The time at which to look at fires that wait for a worker; none if none waits. Workers that
    /// begin long jobs do not say so.
    pub(super) fn next_check(&self, node: &Node) -> Option<Duration> {
        let next = node.clock.ticks().saturating_add(patience(node.settings.scheduler.take_ahead));
        self.patience_ends(node).map(|at| at.min(next))
    }

    /// The time at which fires that still wait are given back, or this is to be asked again; none
    /// if none waits.
    pub(super) fn patience_ends(&self, node: &Node) -> Option<Duration> {
        let waiting = self.pool.waiting();
        if waiting == 0 {
            return None;
        }
        let (allowed, now) = (node.settings.scheduler.take_ahead, node.clock.ticks());
        let soonest = self.handed.saturating_add(patience(allowed));
        if now < soonest {
            return Some(soonest);
        }
        let is_full = self.pool.busy().saturating_sub(waiting) >= self.pool.size();
        let fires = if is_full { node.running_fires.all() } else { Vec::new() };
        let begun = fires.iter().filter_map(|fire| fire.worker()).map(|(_, begun)| begun).max();
        Some(given_back_at(allowed, self.handed, begun))
    }
}
