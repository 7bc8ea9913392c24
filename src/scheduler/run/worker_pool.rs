//! `WorkerPool`: a fixed number of threads, each running one fire at a time.

#[cfg(feature = "test-util")]
mod threadless;

use super::task_queue::{BeginLog, TaskQueue};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::listener::{guarded, lifecycle_log};
use crate::signal::{Signal, Woken};
use parking_lot::Mutex;
use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{JoinHandle, ThreadId};
use std::time::Duration;

/// Threads that run tasks of type `T`, one at a time each. Further tasks wait, in its order.
pub(crate) struct WorkerPool<T> {
    tasks: Arc<TaskQueue<T>>,
    load: Arc<Load>,
    crew: Mutex<Crew>,
    /// Starts one more worker of this number; none once the pool is closed.
    hire: Mutex<Option<Hire>>,
}

type Hire = Box<dyn Fn(usize) -> std::io::Result<Worker> + Send>;

/// The threads of the pool, without those that were given up.
#[derive(Default)]
struct Crew {
    workers: Vec<Worker>,
    hired: usize,
}

/// A thread, and by what name the operating system knows it, where it tells.
struct Worker {
    thread: JoinHandle<()>,
    task: Arc<OnceLock<PathBuf>>,
}

impl Worker {
    fn id(&self) -> ThreadId {
        self.thread.thread().id()
    }

    /// True if the thread is gone, though it has a task: its code has ended it in a way that no
    /// handler sees.
    fn is_dead(&self) -> bool {
        self.thread.is_finished() || self.task.get().is_some_and(|path| path.try_exists().is_ok_and(|exists| !exists))
    }
}

/// The number of workers, of those that have something to do, and whom to tell when one has not any
/// longer.
struct Load {
    size: usize,
    busy: AtomicUsize,
    alive: AtomicUsize,
    /// Workers that were given up and are still at their task.
    given_up: Mutex<HashSet<ThreadId>>,
    /// The number of workers that were given up and are not back yet.
    strays: AtomicUsize,
    /// Raised when a task has ended, if no more are left than are waited for.
    freed: Arc<Signal>,
    /// The number of tasks from which down the signal is raised.
    awaited: AtomicUsize,
    /// Raised with it, for whoever waits for the end.
    idle: Signal,
}

impl Load {
    fn new(size: usize, freed: Arc<Signal>) -> Self {
        Self {
            size,
            busy: AtomicUsize::new(0),
            alive: AtomicUsize::new(0),
            given_up: Mutex::default(),
            strays: AtomicUsize::new(0),
            freed,
            awaited: AtomicUsize::new(size.saturating_sub(1)),
            idle: Signal::default(),
        }
    }

    fn free_one(&self) {
        let busy = self.busy.fetch_sub(1, Ordering::SeqCst) - 1;
        // After the count: whoever waits has looked at the count after it has said for how few.
        if busy <= self.awaited.load(Ordering::SeqCst) {
            self.freed.raise();
        }
        if busy == 0 {
            self.idle.raise();
        }
    }
}

impl<T: Send + 'static> WorkerPool<T> {
    /// Starts `size` threads named `{prefix}-N` that run `work`; `freed` is raised whenever one
    /// becomes free. Prefetched tasks wait for the `begin_log`.
    pub(crate) fn start(
        size: usize,
        prefix: &str,
        freed: Arc<Signal>,
        begin_log: Option<Arc<dyn BeginLog<T>>>,
        work: impl Fn(T) + Send + Sync + 'static,
    ) -> Result<Self> {
        let tasks = Arc::new(TaskQueue::new(size, begin_log));
        let load = Arc::new(Load::new(size, freed));
        let work: Arc<dyn Fn(T) + Send + Sync> = Arc::new(work);
        let (prefix, shared, queue) = (prefix.to_owned(), Arc::clone(&load), Arc::clone(&tasks));
        let hire = move |number| {
            let (tasks, load, work) = (Arc::clone(&queue), Arc::clone(&shared), Arc::clone(&work));
            let task: Arc<OnceLock<PathBuf>> = Arc::default();
            let own = Arc::clone(&task);
            let thread = std::thread::Builder::new().name(format!("{prefix}-{number}")).spawn(move || {
                if let Some(path) = own_task() {
                    let _ = own.set(path);
                }
                worker_loop(&tasks, &load, &*work);
            })?;
            Ok(Worker { thread, task })
        };
        let pool = Self { tasks, load, crew: Mutex::default(), hire: Mutex::new(Some(Box::new(hire))) };
        for _ in 0..size {
            if let Err(why) = pool.hire_one() {
                pool.close();
                return Err(Error::Refused(format!("a worker thread could not be started: {why}")));
            }
        }
        Ok(pool)
    }

    /// One more worker, unless the pool is closed.
    fn hire_one(&self) -> std::io::Result<()> {
        let hire = self.hire.lock();
        let Some(hire) = &*hire else { return Ok(()) };
        let mut crew = self.crew.lock();
        crew.hired += 1;
        self.load.alive.fetch_add(1, Ordering::SeqCst);
        let worker = hire(crew.hired).inspect_err(|_| {
            self.load.alive.fetch_sub(1, Ordering::SeqCst);
        })?;
        crew.workers.push(worker);
        Ok(())
    }

    /// Takes a worker out of the pool that will not, or cannot, end its task, and puts another in
    /// its place.
    ///
    /// `claim` says whether the task is to be given up at all; it is asked when the worker can no
    /// longer go back to the pool unseen. There are never more such threads at a time than workers,
    /// so that jobs which never end cannot fill the machine: beyond that the worker keeps its
    /// place.
    pub(crate) fn abandon(&self, worker: ThreadId, claim: impl FnOnce() -> bool) -> bool {
        let load = &self.load;
        let mut given_up = load.given_up.lock();
        let dead = self.crew.lock().workers.iter().find(|one| one.id() == worker).map(Worker::is_dead);
        let leaves = dead == Some(false) && load.strays.load(Ordering::SeqCst) < load.size;
        if leaves {
            // Before the claim: a worker that comes back after it looks here.
            load.strays.fetch_add(1, Ordering::SeqCst);
        }
        if !claim() {
            if leaves {
                load.strays.fetch_sub(1, Ordering::SeqCst);
            }
            return false;
        }
        if leaves {
            given_up.insert(worker);
        }
        drop(given_up);
        if leaves || dead == Some(true) {
            self.replace(worker);
        }
        true
    }

    /// Another thread for one that is lost to the pool.
    fn replace(&self, worker: ThreadId) {
        if let Err(why) = self.hire_one() {
            lifecycle_log::error(&format!("no thread can be had in the place of a lost worker: {why}"));
            if self.load.given_up.lock().remove(&worker) {
                // The thread keeps its place, and comes back when its task ends.
                self.load.strays.fetch_sub(1, Ordering::SeqCst);
            }
            return;
        }
        self.crew.lock().workers.retain(|one| one.id() != worker);
        self.load.alive.fetch_sub(1, Ordering::SeqCst);
        self.load.free_one();
        self.load.idle.raise();
    }

    /// Workers whose threads are gone.
    pub(crate) fn dead(&self) -> Vec<ThreadId> {
        if self.tasks.is_closed() {
            return Vec::new(); // closed: they end as they should
        }
        self.crew.lock().workers.iter().filter(|worker| worker.is_dead()).map(Worker::id).collect()
    }

    /// The number of threads that were given up and are still at their task.
    pub(crate) fn strays(&self) -> usize {
        self.load.strays.load(Ordering::SeqCst)
    }

    /// The number of threads.
    pub(crate) fn size(&self) -> usize {
        self.load.size
    }

    /// True if there is a thread that takes tasks by itself.
    pub(crate) fn has_threads(&self) -> bool {
        self.load.alive.load(Ordering::SeqCst) > 0
    }

    /// The number of workers that have nothing to do.
    pub(crate) fn free(&self) -> usize {
        self.load.size.saturating_sub(self.load.busy.load(Ordering::SeqCst))
    }

    /// The number of tasks: those that workers are at, and those that wait.
    pub(crate) fn busy(&self) -> usize {
        self.load.busy.load(Ordering::SeqCst)
    }

    /// The number of tasks that no worker has taken.
    pub(crate) fn waiting(&self) -> usize {
        self.tasks.len()
    }

    /// Takes tasks for its workers, in their order; none if the pool is closed. Never waits.
    pub(crate) fn submit(&self, tasks: &mut VecDeque<T>) {
        let count = tasks.len();
        if count == 0 {
            return;
        }
        // Before they are there: a worker that is done with one counts itself out.
        self.load.busy.fetch_add(count, Ordering::SeqCst);
        let taken = self.tasks.put(tasks);
        self.load.busy.fetch_sub(count - taken, Ordering::SeqCst);
    }

    /// Takes back what no worker has taken, as far as it is wanted.
    pub(crate) fn withdraw(&self, wanted: impl Fn(&T) -> bool) -> VecDeque<T> {
        let tasks = self.tasks.withdraw(wanted);
        if self.load.busy.fetch_sub(tasks.len(), Ordering::SeqCst) == tasks.len() {
            self.load.idle.raise();
        }
        tasks
    }

    /// From now on whoever waits for tasks to end is told when no more are left than so many, and
    /// not of each before.
    pub(crate) fn await_busy(&self, most: usize) {
        self.load.awaited.store(most, Ordering::SeqCst);
    }

    /// Takes no more tasks; the threads end after those they have.
    pub(crate) fn close(&self) {
        self.tasks.close();
        drop(self.hire.lock().take());
    }

    /// Waits until no worker has a task; false if some still have at `deadline`.
    pub(crate) fn wait_idle(&self, clock: &dyn Clock, deadline: Duration) -> bool {
        while self.load.busy.load(Ordering::SeqCst) > 0 {
            if clock.wait(&self.load.idle, Some(deadline)) == Woken::TimedOut {
                return self.load.busy.load(Ordering::SeqCst) == 0;
            }
        }
        true
    }

    /// Waits for the threads of a closed pool; false if some have not ended at `deadline`.
    pub(crate) fn wait_ended(&self, clock: &dyn Clock, deadline: Duration) -> bool {
        while self.load.alive.load(Ordering::SeqCst) > 0 {
            if clock.wait(&self.load.idle, Some(deadline)) == Woken::TimedOut {
                return self.load.alive.load(Ordering::SeqCst) == 0;
            }
        }
        let me = std::thread::current().id();
        let workers = std::mem::take(&mut self.crew.lock().workers);
        for worker in workers.into_iter().filter(|worker| worker.id() != me && !worker.is_dead()) {
            let _ = worker.thread.join();
        }
        true
    }
}

/// The path under which the operating system shows this thread as long as it lives; none where it
/// does not.
fn own_task() -> Option<PathBuf> {
    let own = std::fs::read_link("/proc/thread-self").ok()?;
    Some(PathBuf::from("/proc/self/task").join(own.file_name()?))
}

/// The loop of a worker until the pool is closed. The work of a node's pool is
/// [`RunShell::run`](super::run_shell::RunShell::run). Nothing that happens in a task ends the
/// loop.
fn worker_loop<T>(tasks: &TaskQueue<T>, load: &Load, work: &(dyn Fn(T) + Send + Sync)) {
    while let Some(task) = tasks.take() {
        if let Err(panic) = guarded(|| work(task)) {
            lifecycle_log::service_panicked("worker", &panic);
        }
        if load.strays.load(Ordering::SeqCst) > 0 && load.given_up.lock().remove(&std::thread::current().id()) {
            // Another has its place.
            load.strays.fetch_sub(1, Ordering::SeqCst);
            return;
        }
        load.free_one();
    }
    load.alive.fetch_sub(1, Ordering::SeqCst);
    load.idle.raise();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::{ManualClock, SystemClock};
    use crossbeam_channel::{bounded, unbounded};

    const LONG: Duration = Duration::from_secs(60);

    /// Gives the task back if nobody takes it.
    fn submit<T: Send + 'static>(pool: &WorkerPool<T>, task: T) -> std::result::Result<(), T> {
        let mut tasks = VecDeque::from([task]);
        pool.submit(&mut tasks);
        tasks.pop_front().map_or(Ok(()), Err)
    }

    #[test]
    fn a_worker_survives_any_panic_and_says_when_it_is_free() {
        struct DropBomb;
        impl Drop for DropBomb {
            fn drop(&mut self) {
                panic!("in drop");
            }
        }
        let (clock, freed) = (SystemClock::default(), Arc::new(Signal::default()));
        let (done, results) = unbounded();
        let pool = WorkerPool::start(1, "test-worker", Arc::clone(&freed), None, move |task: u32| {
            done.send((task, std::thread::current().id())).expect("a receiver");
            match task {
                0 => panic!("text"),
                1 => std::panic::panic_any(7),
                2 => std::panic::panic_any(DropBomb),
                _ => {}
            }
        })
        .expect("threads");
        let mut threads = std::collections::HashSet::new();
        for task in 0..4 {
            assert_eq!(submit(&pool, task), Ok(()));
            let (ran, thread) = results.recv().expect("a result");
            assert_eq!(ran, task);
            threads.insert(thread);
            assert_eq!(clock.wait(&freed, Some(LONG)), Woken::Raised);
            assert_eq!(pool.free(), 1);
        }
        assert_eq!(threads.len(), 1);
        pool.close();
        assert!(pool.wait_ended(&clock, LONG));
        assert_eq!(submit(&pool, 9), Err(9));
    }

    #[test]
    fn what_no_worker_has_taken_can_be_taken_back() {
        let (go, gate) = bounded::<()>(0);
        let pool = WorkerPool::start(2, "test-worker", Arc::default(), None, move |_: u32| {
            let _ = gate.recv();
        })
        .expect("threads");
        assert_eq!((pool.size(), pool.free(), pool.busy()), (2, 2, 0));
        pool.submit(&mut VecDeque::from([1, 2]));
        while pool.waiting() > 0 {
            std::thread::yield_now();
        }
        pool.submit(&mut VecDeque::from([3, 4]));
        assert_eq!((pool.free(), pool.busy(), pool.waiting()), (0, 4, 2));
        assert_eq!(pool.withdraw(|_| true), VecDeque::from([3, 4]));
        assert_eq!((pool.busy(), pool.waiting(), pool.withdraw(|_| true)), (2, 0, VecDeque::new()));
        let still = ManualClock::default();
        assert!(!pool.wait_idle(&still, Duration::ZERO));
        drop(go);
        assert!(pool.wait_idle(&SystemClock::default(), LONG));
    }

    #[test]
    fn a_worker_that_will_not_end_is_replaced_and_goes_when_it_does_end() {
        let (clock, freed) = (SystemClock::default(), Arc::new(Signal::default()));
        let (go, gate) = bounded::<()>(0);
        let (done, results) = unbounded();
        let pool = WorkerPool::start(1, "test-worker", freed, None, move |stays: bool| {
            let _ = done.send(std::thread::current().id());
            if stays {
                let _ = gate.recv();
            }
        })
        .expect("threads");
        assert_eq!(submit(&pool, true), Ok(()));
        let stray = results.recv().expect("a result");
        assert_eq!((pool.free(), pool.abandon(stray, || true)), (0, true));
        assert_eq!((pool.free(), pool.size(), pool.strays()), (1, 1, 1));
        assert_eq!(submit(&pool, true), Ok(()));
        let other = results.recv().expect("a result");
        assert_ne!(other, stray);
        assert!(!pool.abandon(other, || false), "its task is not given up");
        assert!(pool.abandon(other, || true));
        assert_eq!((pool.free(), pool.strays()), (0, 1), "no more strays than workers");
        go.send(()).expect("one of them");
        go.send(()).expect("the other");
        while pool.strays() > 0 {
            std::thread::yield_now();
        }
        assert!(pool.wait_idle(&clock, LONG));
        assert_eq!(pool.free(), 1);
        pool.close();
        assert!(pool.wait_ended(&clock, LONG));
    }

    /// A thread that was abandoned is its own business: a shutdown does not wait for it.
    #[test]
    fn a_shutdown_does_not_wait_for_one_that_was_given_up() {
        let (_go, gate) = bounded::<()>(0);
        let (done, results) = unbounded();
        let pool = WorkerPool::start(1, "test-worker", Arc::default(), None, move |(): ()| {
            let _ = done.send(std::thread::current().id());
            let _ = gate.recv();
        })
        .expect("threads");
        assert_eq!(submit(&pool, ()), Ok(()));
        assert!(pool.abandon(results.recv().expect("a result"), || true));
        pool.close();
        assert!(pool.wait_idle(&SystemClock::default(), LONG));
        assert!(pool.wait_ended(&SystemClock::default(), LONG));
    }

    #[test]
    fn a_pool_of_no_threads_ends() {
        let pool = WorkerPool::start(0, "test-worker", Arc::default(), None, |(): ()| ()).expect("no threads");
        assert_eq!((pool.free(), pool.size()), (0, 0));
        assert!(pool.wait_idle(&ManualClock::default(), Duration::ZERO));
        pool.close();
        assert!(pool.wait_ended(&ManualClock::default(), Duration::ZERO));
    }
}
