//! `TaskQueue`: tasks on their way to workers; wakes no more of them than can begin.

use parking_lot::{Condvar, Mutex};
use std::collections::VecDeque;

/// First in, first out. Whoever takes a task and leaves others behind wakes one more worker, so that a batch reaches all
/// that are free; one that is back before those are awake takes the next task itself, and nobody was woken for it.
pub(super) struct TaskQueue<T> {
    state: Mutex<State<T>>,
    ready: Condvar,
    /// So many are woken at a time: more would not find a processor.
    most_waking: usize,
}

struct State<T> {
    tasks: VecDeque<T>,
    /// Workers that wait, with those that were woken and have not looked yet.
    sleeping: usize,
    /// Those that were woken and have not looked yet.
    waking: usize,
    closed: bool,
}

impl<T> TaskQueue<T> {
    pub(super) fn new() -> Self {
        let state = State { tasks: VecDeque::new(), sleeping: 0, waking: 0, closed: false };
        let most_waking = std::thread::available_parallelism().map_or(1, usize::from);
        Self { state: Mutex::new(state), ready: Condvar::new(), most_waking }
    }

    /// Adds these tasks, and says how many they were; none if the queue is closed.
    pub(super) fn put(&self, tasks: &mut VecDeque<T>) -> usize {
        let mut state = self.state.lock();
        if state.closed {
            return 0;
        }
        let count = tasks.len();
        state.tasks.append(tasks);
        self.wake(&mut state);
        count
    }

    /// Takes out those that nobody has taken, and that are wanted.
    pub(super) fn withdraw(&self, wanted: impl Fn(&T) -> bool) -> VecDeque<T> {
        let mut state = self.state.lock();
        let (wanted, others) = std::mem::take(&mut state.tasks).into_iter().partition(wanted);
        state.tasks = others;
        wanted
    }

    pub(super) fn len(&self) -> usize {
        self.state.lock().tasks.len()
    }

    /// The next task, waited for; none once the queue is closed and empty.
    pub(super) fn take(&self) -> Option<T> {
        let mut state = self.state.lock();
        loop {
            if let Some(task) = state.tasks.pop_front() {
                self.wake(&mut state);
                return Some(task);
            }
            if state.closed {
                return None;
            }
            state.sleeping += 1;
            self.ready.wait(&mut state);
            state.sleeping -= 1;
            // That of a close is not counted.
            state.waking = state.waking.saturating_sub(1);
        }
    }

    /// While tasks wait and workers sleep, some are on their way: whatever changes one of these calls this.
    fn wake(&self, state: &mut State<T>) {
        let wanted = state.tasks.len().min(state.sleeping).min(self.most_waking);
        while state.waking < wanted {
            state.waking += 1;
            self.ready.notify_one();
        }
    }

    /// Takes no more tasks; those that are there are still taken.
    pub(super) fn close(&self) {
        self.state.lock().closed = true;
        self.ready.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::Barrier;

    /// Every task of a batch holds its worker until all have begun: each must have reached a worker of its own.
    #[test]
    fn a_batch_reaches_as_many_workers_as_it_has_tasks() {
        const WORKERS: usize = 8;
        let queue: Arc<TaskQueue<Arc<Barrier>>> = Arc::new(TaskQueue::new());
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let queue = Arc::clone(&queue);
                std::thread::spawn(move || {
                    let mut taken = 0;
                    while let Some(barrier) = queue.take() {
                        barrier.wait();
                        taken += 1;
                    }
                    taken
                })
            })
            .collect();
        for round in 0..200 {
            let count = 1 + round % WORKERS;
            let barrier = Arc::new(Barrier::new(count + 1));
            let mut batch: VecDeque<_> = (0..count).map(|_| Arc::clone(&barrier)).collect();
            assert_eq!(queue.put(&mut batch), count);
            barrier.wait();
        }
        queue.close();
        assert_eq!(queue.put(&mut VecDeque::from([Arc::new(Barrier::new(1))])), 0);
        let taken: usize = workers.into_iter().map(|worker| worker.join().unwrap()).sum();
        assert_eq!(taken, (0..200).map(|round| 1 + round % WORKERS).sum::<usize>());
    }

    #[test]
    fn what_is_in_a_closed_queue_is_still_taken() {
        let queue = TaskQueue::new();
        assert_eq!((queue.put(&mut VecDeque::from([1, 2, 3])), queue.take()), (3, Some(1)));
        assert_eq!((queue.withdraw(|task| *task > 2), queue.len()), (VecDeque::from([3]), 1));
        assert_eq!((queue.withdraw(|_| true), queue.len()), (VecDeque::from([2]), 0));
        assert_eq!(queue.put(&mut VecDeque::from([4, 5])), 2);
        queue.close();
        assert_eq!((queue.take(), queue.take(), queue.take()), (Some(4), Some(5), None));
    }
}
