//! A pool without threads, whose tasks are taken one at a time by whoever owns it; for simulations.

use super::{Load, WorkerPool};
use crate::scheduler::run::task_queue::{BeginLog, TaskQueue};
use crate::signal::Signal;
use parking_lot::Mutex;
use std::sync::Arc;

impl<T: Send + 'static> WorkerPool<T> {
    /// A pool of `size` workers that are no threads.
    pub(crate) fn without_threads(size: usize, freed: Arc<Signal>, begin_log: Option<Arc<dyn BeginLog<T>>>) -> Self {
        let tasks = Arc::new(TaskQueue::new(size, begin_log));
        Self { tasks, load: Arc::new(Load::new(size, freed)), crew: Mutex::default(), hire: Mutex::default() }
    }

    /// The next task for one of so many idle workers; none if there is none now.
    pub(crate) fn take_now(&self, idle: usize) -> Option<T> {
        self.tasks.take_now(idle)
    }

    /// Notes that the task of a worker has ended.
    pub(crate) fn free_worker(&self) {
        self.load.free_one();
    }
}
