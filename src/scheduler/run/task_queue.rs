//! `TaskQueue`: tasks on their way to workers; wakes no more of them than can begin.

use parking_lot::{Condvar, Mutex, MutexGuard};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// The begin log: a prefetched task begins once the log has it.
pub(crate) trait BeginLog<T>: Send + Sync {
    /// True if the task was prefetched, so that the log must have it before it begins.
    fn is_prefetched(&self, task: &T) -> bool;

    /// Writes down that these tasks begin. The tasks come back as an error if the log cannot be
    /// written now; the queue then tries again. With `is_last` there is no second try, and no
    /// error.
    fn record(&self, tasks: VecDeque<T>, is_last: bool) -> Result<VecDeque<T>, VecDeque<T>>;
}

/// The time for which a worker waits for other idle workers before it writes the log for few tasks:
/// each write is a way to the store.
const LINGER: Duration = Duration::from_micros(300);

/// The part of the workers, or of the tasks, for which a worker writes the log without lingering:
/// nobody waits for a worker at a long task.
const ALMOST_ALL: (usize, usize) = (7, 8);

/// First in, first out. A worker that takes a task and leaves others behind wakes one more worker,
/// so that a batch reaches all workers that are free. A worker that comes back before the woken one
/// looks takes the next task itself, and nobody was woken for the task.
///
/// Prefetched tasks wait for the [`BeginLog`]. An idle worker writes the log for as many tasks as
/// there are idle workers, so that a task in the log begins at once.
pub(crate) struct TaskQueue<T> {
    state: Mutex<State<T>>,
    ready: Condvar,
    /// The largest number of workers that are woken at a time: more would not find a processor.
    most_waking: usize,
    begin_log: Option<Arc<dyn BeginLog<T>>>,
    /// The number of workers.
    workers: usize,
}

struct State<T> {
    tasks: VecDeque<T>,
    /// The prefetched tasks that the begin log does not have yet.
    prefetched: VecDeque<T>,
    /// The number of tasks that a worker is writing to the begin log.
    recording: usize,
    /// The number of workers that wait, with those that were woken and have not looked yet.
    sleeping: usize,
    /// The number of workers that were woken and have not looked yet.
    waking: usize,
    closed: bool,
}

impl<T> State<T> {
    /// The number of workers that have nothing to do, with the one that asks.
    fn idle(&self) -> usize {
        self.sleeping + 1
    }

    /// True if tasks wait for the begin log, and nobody writes to it.
    fn may_record(&self) -> bool {
        self.recording == 0 && !self.prefetched.is_empty()
    }
}

impl<T> TaskQueue<T> {
    pub(crate) fn new(workers: usize, begin_log: Option<Arc<dyn BeginLog<T>>>) -> Self {
        let (tasks, prefetched) = (VecDeque::new(), VecDeque::new());
        let state = State { tasks, prefetched, recording: 0, sleeping: 0, waking: 0, closed: false };
        let most_waking = std::thread::available_parallelism().map_or(1, usize::from);
        Self { state: Mutex::new(state), ready: Condvar::new(), most_waking, begin_log, workers }
    }

    /// Adds these tasks, and says how many they were; none if the queue is closed.
    pub(crate) fn put(&self, tasks: &mut VecDeque<T>) -> usize {
        let mut state = self.state.lock();
        if state.closed {
            return 0;
        }
        let count = tasks.len();
        for task in tasks.drain(..) {
            match self.begin_log.as_ref().is_some_and(|log| log.is_prefetched(&task)) {
                true => state.prefetched.push_back(task),
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
        let (prefetched, others) =
            std::mem::take(&mut state.prefetched).into_iter().partition::<VecDeque<T>, _>(&wanted);
        state.prefetched = others;
        withdrawn.extend(prefetched);
        withdrawn
    }

    pub(crate) fn len(&self) -> usize {
        let state = self.state.lock();
        state.tasks.len() + state.prefetched.len() + state.recording
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
            if state.may_record() {
                let most = state.prefetched.len().min(self.workers);
                if ALMOST_ALL.1 * state.idle() >= ALMOST_ALL.0 * most || has_lingered {
                    self.record(&mut state);
                } else {
                    self.sleep(&mut state, Some(LINGER));
                    has_lingered = true;
                }
                continue;
            }
            if state.closed && state.recording == 0 {
                return None;
            }
            self.sleep(&mut state, None);
        }
    }

    /// The next task for one of so many idle workers that are no threads; none if there is none.
    #[cfg(feature = "test-util")]
    pub(crate) fn take_now(&self, idle: usize) -> Option<T> {
        let mut state = self.state.lock();
        if state.tasks.is_empty() && state.may_record() {
            state.sleeping = idle.saturating_sub(1);
            self.record(&mut state);
            state.sleeping = 0;
        }
        state.tasks.pop_front()
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
            // The wake of a close is not counted.
            state.waking = state.waking.saturating_sub(1);
        }
    }

    /// Writes the begin log for as many tasks as there are idle workers, this one among them.
    fn record(&self, state: &mut MutexGuard<'_, State<T>>) {
        let Some(log) = &self.begin_log else { return };
        let count = state.prefetched.len().min(state.idle());
        let group: VecDeque<T> = state.prefetched.drain(..count).collect();
        state.recording = count;
        self.wake(state);
        let is_last = state.closed;
        let recorded = MutexGuard::unlocked(state, || log.record(group, is_last));
        state.recording = 0;
        match recorded {
            Ok(group) => state.tasks.extend(group),
            Err(group) => group.into_iter().rev().for_each(|task| state.prefetched.push_front(task)),
        }
        self.wake(state);
        if state.closed {
            self.ready.notify_all();
        }
    }

    /// Wakes workers, so that some are on their way while tasks wait and workers sleep. Every
    /// change of the tasks or the sleepers calls this.
    fn wake(&self, state: &mut State<T>) {
        let to_record = usize::from(state.recording == 0 && !state.prefetched.is_empty());
        let wanted = (state.tasks.len() + to_record).min(state.sleeping).min(self.most_waking);
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

    /// A begin log for even numbers that keeps its records, and fails so many times first.
    struct EvenLog {
        records: Mutex<Vec<VecDeque<u32>>>,
        fails: Mutex<u32>,
    }

    impl BeginLog<u32> for EvenLog {
        fn is_prefetched(&self, task: &u32) -> bool {
            task.is_multiple_of(2)
        }

        fn record(&self, tasks: VecDeque<u32>, _: bool) -> Result<VecDeque<u32>, VecDeque<u32>> {
            let mut fails = self.fails.lock();
            if *fails > 0 {
                *fails -= 1;
                return Err(tasks);
            }
            self.records.lock().push(tasks.clone());
            Ok(tasks)
        }
    }

    #[test]
    fn what_waits_at_the_gate_begins_in_order_once_it_is_opened() {
        let log = Arc::new(EvenLog { records: Mutex::default(), fails: Mutex::new(2) });
        let queue = TaskQueue::new(1, Some(Arc::clone(&log) as Arc<dyn BeginLog<u32>>));
        assert_eq!(queue.put(&mut VecDeque::from([2, 4, 1, 6])), 4);
        assert_eq!((queue.len(), queue.take()), (4, Some(1)), "what need not wait goes first");
        // Nobody else is idle: one task at a time is recorded.
        assert_eq!([queue.take(), queue.take()], [Some(2), Some(4)]);
        assert_eq!(*log.records.lock(), [[2], [4]]);
        assert_eq!((queue.withdraw(|_| true), queue.len()), (VecDeque::from([6]), 0));
        assert_eq!(queue.put(&mut VecDeque::from([8])), 1);
        queue.close();
        assert_eq!((queue.take(), queue.take()), (Some(8), None));
    }

    /// No more begin than there are workers that have nothing to do.
    #[test]
    fn the_gate_is_opened_for_as_many_as_can_begin_at_once() {
        const WORKERS: usize = 4;
        let log = Arc::new(EvenLog { records: Mutex::default(), fails: Mutex::default() });
        let queue = Arc::new(TaskQueue::new(WORKERS, Some(Arc::clone(&log) as Arc<dyn BeginLog<u32>>)));
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
        let records = log.records.lock();
        assert!(records.iter().all(|group| (1..=WORKERS).contains(&group.len())), "{records:?}");
        assert!(records.iter().flatten().is_sorted());
    }

    /// Wakes a worker that has just lingered for long enough, and is not back yet; false if it came
    /// back too early for that.
    fn wakes_in_vain() -> bool {
        let log = Arc::new(EvenLog { records: Mutex::default(), fails: Mutex::default() });
        let queue = Arc::new(TaskQueue::new(4, Some(log as Arc<dyn BeginLog<u32>>)));
        queue.put(&mut VecDeque::from([2, 4, 6, 8]));
        let (inside, (sender, taken)) = (Arc::clone(&queue), std::sync::mpsc::channel());
        let worker = std::thread::spawn(move || std::iter::from_fn(|| inside.take()).try_for_each(|n| sender.send(n)));
        let await_sleep = || loop {
            let state = queue.state.lock();
            if state.sleeping > 0 || state.prefetched.is_empty() {
                return state;
            }
        };
        let mut state = await_sleep();
        let lingers = state.sleeping > 0 && !state.prefetched.is_empty();
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
