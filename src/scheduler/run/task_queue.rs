//! `TaskQueue`: tasks on their way to workers; wakes no more of them than can begin.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The gate before prefetched tasks: they may begin once that is written down.
pub(crate) trait Gate<T>: Send + Sync {
    /// True if the task waits here.
    fn holds(&self, task: &T) -> bool;

    /// Writes down that these begin. The tasks are handed back if that could not be done now, and
    /// are tried again; not with `is_last`, where there is no again.
    fn open(&self, tasks: VecDeque<T>, is_last: bool) -> Result<VecDeque<T>, VecDeque<T>>;
}

/// The time for which a worker waits for others to have nothing to do either, before it opens the
/// gate for few: each time is a way to the store.
const LINGER: Duration = Duration::from_micros(300);

/// The part of the workers, or of the tasks, for which the gate is opened without lingering: a
/// worker at a long task is not waited for.
const ALMOST_ALL: (usize, usize) = (7, 8);

/// First in, first out. A worker that takes a task and leaves others behind wakes one more worker,
/// so that a batch reaches all that are free; one that is back before those are awake takes the
/// next task itself, and nobody was woken for it.
///
/// Tasks that were taken ahead wait at the [`Gate`]. A worker with nothing else to do opens it for
/// as many as there are such workers: what is written down as begun begins at once.
pub(crate) struct TaskQueue<T> {
    state: Mutex<State<T>>,
    ready: Condvar,
    /// The most workers that are woken at a time: more would not find a processor.
    most_waking: usize,
    gate: Option<Arc<dyn Gate<T>>>,
    /// The number of workers.
    workers: usize,
}

struct State<T> {
    tasks: VecDeque<T>,
    /// The tasks that wait at the gate.
    ahead: VecDeque<T>,
    /// The number of tasks at the gate now, while a worker opens it for them.
    opening: usize,
    /// Workers that wait, with those that were woken and have not looked yet.
    sleeping: usize,
    /// The workers that were woken and have not looked yet.
    waking: usize,
    closed: bool,
}

impl<T> State<T> {
    /// The number of workers that have nothing to do, with the one that asks.
    fn idle(&self) -> usize {
        self.sleeping + 1
    }

    /// True if tasks wait at the gate, and nobody opens it.
    fn is_gate_free(&self) -> bool {
        self.opening == 0 && !self.ahead.is_empty()
    }
}

impl<T> TaskQueue<T> {
    pub(crate) fn new(workers: usize, gate: Option<Arc<dyn Gate<T>>>) -> Self {
        let (tasks, ahead) = (VecDeque::new(), VecDeque::new());
        let state = State { tasks, ahead, opening: 0, sleeping: 0, waking: 0, closed: false };
        let most_waking = std::thread::available_parallelism().map_or(1, usize::from);
        Self { state: Mutex::new(state), ready: Condvar::new(), most_waking, gate, workers }
    }

    /// Adds these tasks, and says how many they were; none if the queue is closed.
    pub(crate) fn put(&self, tasks: &mut VecDeque<T>) -> usize {
        let mut state = self.state.lock();
        if state.closed {
            return 0;
        }
        let count = tasks.len();
        for task in tasks.drain(..) {
            match self.gate.as_ref().is_some_and(|gate| gate.holds(&task)) {
                true => state.ahead.push_back(task),
                false => state.tasks.push_back(task),
            }
        }
        self.wake(&mut state);
        count
    }

    /// Takes out those that nobody has taken, and that are wanted.
    pub(crate) fn withdraw(&self, wanted: impl Fn(&T) -> bool) -> VecDeque<T> {
        let mut state = self.state.lock();
        let (mut withdrawn, others) = std::mem::take(&mut state.tasks).into_iter().partition::<VecDeque<T>, _>(&wanted);
        state.tasks = others;
        let (ahead, others) = std::mem::take(&mut state.ahead).into_iter().partition::<VecDeque<T>, _>(&wanted);
        state.ahead = others;
        withdrawn.extend(ahead);
        withdrawn
    }

    pub(crate) fn len(&self) -> usize {
        let state = self.state.lock();
        state.tasks.len() + state.ahead.len() + state.opening
    }

    /// The next task, waited for; none once the queue is closed and empty.
    pub(crate) fn take(&self) -> Option<T> {
        let mut state = self.state.lock();
        let mut has_lingered = false;
        loop {
            if let Some(task) = state.tasks.pop_front() {
                self.wake(&mut state);
                return Some(task);
            }
            if state.is_gate_free() {
                let most = state.ahead.len().min(self.workers);
                if ALMOST_ALL.1 * state.idle() >= ALMOST_ALL.0 * most || has_lingered {
                    self.open(&mut state);
                } else {
                    self.sleep(&mut state, Some(LINGER));
                    has_lingered = true;
                }
                continue;
            }
            if state.closed && state.opening == 0 {
                return None;
            }
            self.sleep(&mut state, None);
        }
    }

    /// Waits until it is woken, or for so long.
    fn sleep(&self, state: &mut MutexGuard<'_, State<T>>, most: Option<Duration>) {
        state.sleeping += 1;
        let is_woken = match most {
            Some(most) => !self.ready.wait_for(state, most).timed_out(),
            None => {
                self.ready.wait(state);
                true
            }
        };
        state.sleeping -= 1;
        if is_woken {
            // That of a close is not counted.
            state.waking = state.waking.saturating_sub(1);
        }
    }

    /// Opens the gate for as many as there are workers with nothing to do, this one among them.
    fn open(&self, state: &mut MutexGuard<'_, State<T>>) {
        let Some(gate) = &self.gate else { return };
        let count = state.ahead.len().min(state.idle());
        let group: VecDeque<T> = state.ahead.drain(..count).collect();
        state.opening = count;
        self.wake(state);
        let is_last = state.closed;
        let opened = MutexGuard::unlocked(state, || gate.open(group, is_last));
        state.opening = 0;
        match opened {
            Ok(group) => state.tasks.extend(group),
            Err(group) => group.into_iter().rev().for_each(|task| state.ahead.push_front(task)),
        }
        self.wake(state);
        if state.closed {
            self.ready.notify_all();
        }
    }

    /// While tasks wait and workers sleep, some are on their way: whatever changes one of these
    /// calls this.
    fn wake(&self, state: &mut State<T>) {
        let at_gate = usize::from(state.opening == 0 && !state.ahead.is_empty());
        let wanted = (state.tasks.len() + at_gate).min(state.sleeping).min(self.most_waking);
        // A worker that has lingered is on its way by itself, and nobody else may be left to be
        // woken.
        while state.waking < wanted && self.ready.notify_one() {
            state.waking += 1;
        }
    }

    /// Takes no more tasks; those that are there are still taken.
    pub(crate) fn close(&self) {
        self.state.lock().closed = true;
        self.ready.notify_all();
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.state.lock().closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Barrier;

    /// Every task of a batch holds its worker until all have begun: each must have reached a worker
    /// of its own.
    #[test]
    fn a_batch_reaches_as_many_workers_as_it_has_tasks() {
        const WORKERS: usize = 8;
        let queue: Arc<TaskQueue<Arc<Barrier>>> = Arc::new(TaskQueue::new(8, None));
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

    /// A gate for even numbers that notes what it was opened for, and fails so many times first.
    struct EvenGate {
        opened: Mutex<Vec<VecDeque<u32>>>,
        fails: Mutex<u32>,
    }

    impl Gate<u32> for EvenGate {
        fn holds(&self, task: &u32) -> bool {
            task.is_multiple_of(2)
        }

        fn open(&self, tasks: VecDeque<u32>, _: bool) -> Result<VecDeque<u32>, VecDeque<u32>> {
            let mut fails = self.fails.lock();
            if *fails > 0 {
                *fails -= 1;
                return Err(tasks);
            }
            self.opened.lock().push(tasks.clone());
            Ok(tasks)
        }
    }

    #[test]
    fn what_waits_at_the_gate_begins_in_order_once_it_is_opened() {
        let gate = Arc::new(EvenGate { opened: Mutex::default(), fails: Mutex::new(2) });
        let queue = TaskQueue::new(1, Some(Arc::clone(&gate) as Arc<dyn Gate<u32>>));
        assert_eq!(queue.put(&mut VecDeque::from([2, 4, 1, 6])), 4);
        assert_eq!((queue.len(), queue.take()), (4, Some(1)), "what need not wait goes first");
        // Nobody else is idle: the gate is opened for one at a time.
        assert_eq!([queue.take(), queue.take()], [Some(2), Some(4)]);
        assert_eq!(*gate.opened.lock(), [[2], [4]]);
        assert_eq!((queue.withdraw(|_| true), queue.len()), (VecDeque::from([6]), 0));
        assert_eq!(queue.put(&mut VecDeque::from([8])), 1);
        queue.close();
        assert_eq!((queue.take(), queue.take()), (Some(8), None));
    }

    /// No more begin than there are workers that have nothing to do.
    #[test]
    fn the_gate_is_opened_for_as_many_as_can_begin_at_once() {
        const WORKERS: usize = 4;
        let gate = Arc::new(EvenGate { opened: Mutex::default(), fails: Mutex::default() });
        let queue = Arc::new(TaskQueue::new(WORKERS, Some(Arc::clone(&gate) as Arc<dyn Gate<u32>>)));
        let workers: Vec<_> = (0..WORKERS)
            .map(|_| {
                let queue = Arc::clone(&queue);
                std::thread::spawn(move || std::iter::from_fn(|| queue.take()).count())
            })
            .collect();
        for round in 0..100 {
            assert_eq!(queue.put(&mut (0..10).map(|n| 20 * round + 2 * n).collect()), 10);
        }
        queue.close();
        assert_eq!(workers.into_iter().map(|worker| worker.join().unwrap()).sum::<usize>(), 1000);
        let opened = gate.opened.lock();
        assert!(opened.iter().all(|group| (1..=WORKERS).contains(&group.len())), "{opened:?}");
        assert!(opened.iter().flatten().is_sorted());
    }

    /// Wakes a worker that has just lingered for long enough, and is not back yet; false if it came
    /// back too early for that.
    fn wakes_in_vain() -> bool {
        let gate = Arc::new(EvenGate { opened: Mutex::default(), fails: Mutex::default() });
        let queue = Arc::new(TaskQueue::new(4, Some(gate as Arc<dyn Gate<u32>>)));
        queue.put(&mut VecDeque::from([2, 4, 6, 8]));
        let (inside, (sender, taken)) = (Arc::clone(&queue), std::sync::mpsc::channel());
        let worker = std::thread::spawn(move || std::iter::from_fn(|| inside.take()).try_for_each(|n| sender.send(n)));
        let await_sleep = || loop {
            let state = queue.state.lock();
            if state.sleeping > 0 || state.ahead.is_empty() {
                return state;
            }
        };
        let mut state = await_sleep();
        let lingers = state.sleeping > 0 && !state.ahead.is_empty();
        #[expect(clippy::disallowed_methods, reason = "a worker waits by the machine's clock")]
        std::thread::sleep(LINGER * 10);
        queue.wake(&mut state);
        drop(state);
        let take = || taken.recv_timeout(Duration::from_secs(20));
        assert_eq!([take(), take(), take(), take()], [Ok(2), Ok(4), Ok(6), Ok(8)]);
        while await_sleep().sleeping == 0 {}
        queue.put(&mut VecDeque::from([10]));
        assert_eq!(take(), Ok(10), "an idle worker is woken");
        queue.close();
        assert_eq!(worker.join().unwrap(), Ok(()));
        lingers
    }

    #[test]
    fn a_worker_that_comes_back_by_itself_does_not_count_as_woken() {
        assert!((0..1000).any(|_| wakes_in_vain()));
    }

    #[test]
    fn what_is_in_a_closed_queue_is_still_taken() {
        let queue = TaskQueue::new(8, None);
        assert_eq!((queue.put(&mut VecDeque::from([1, 2, 3])), queue.take()), (3, Some(1)));
        assert_eq!((queue.withdraw(|task| *task > 2), queue.len()), (VecDeque::from([3]), 1));
        assert_eq!((queue.withdraw(|_| true), queue.len()), (VecDeque::from([2]), 0));
        assert_eq!(queue.put(&mut VecDeque::from([4, 5])), 2);
        queue.close();
        assert_eq!((queue.take(), queue.take(), queue.take()), (Some(4), Some(5), None));
    }
}
