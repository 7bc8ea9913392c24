//! `WorkerPool`: a fixed number of threads, each running one fire at a time.

use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::listener::{guarded, log};
use crate::signal::{Signal, Woken};
use crossbeam_channel::{Receiver, Sender, TrySendError, bounded};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Threads that run tasks of type `T`; there is room for as many tasks as there are threads.
pub(crate) struct WorkerPool<T> {
    tasks: Mutex<Option<Sender<T>>>,
    load: Arc<Load>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

/// How many workers there are, how many have something to do, and whom to tell when one has not any longer.
struct Load {
    size: usize,
    busy: AtomicUsize,
    alive: AtomicUsize,
    /// Raised when a worker becomes free.
    freed: Arc<Signal>,
    /// Raised with it, for whoever waits for the end.
    idle: Signal,
}

impl Load {
    fn free_one(&self) {
        self.busy.fetch_sub(1, Ordering::SeqCst);
        self.freed.raise();
        self.idle.raise();
    }
}

impl<T: Send + 'static> WorkerPool<T> {
    /// Starts `size` threads named `{prefix}-N` that run `work`; `freed` is raised whenever one becomes free.
    pub(crate) fn start(
        size: usize,
        prefix: &str,
        freed: Arc<Signal>,
        work: impl Fn(T) + Send + Sync + 'static,
    ) -> Result<Self> {
        let (sender, receiver) = bounded(size);
        let load = Load { size, busy: AtomicUsize::new(0), alive: AtomicUsize::new(0), freed, idle: Signal::default() };
        let pool = Self { tasks: Mutex::new(Some(sender)), load: Arc::new(load), threads: Mutex::default() };
        let work: Arc<dyn Fn(T) + Send + Sync> = Arc::new(work);
        for number in 1..=size {
            let (receiver, load, work) = (receiver.clone(), Arc::clone(&pool.load), Arc::clone(&work));
            let name = format!("{prefix}-{number}");
            load.alive.fetch_add(1, Ordering::SeqCst);
            let spawned =
                std::thread::Builder::new().name(name.clone()).spawn(move || labour(&receiver, &load, &*work));
            match spawned {
                Ok(thread) => pool.threads.lock().push(thread),
                Err(why) => {
                    pool.load.alive.fetch_sub(1, Ordering::SeqCst);
                    pool.close();
                    return Err(Error::Refused(format!("the thread `{name}` could not be started: {why}")));
                }
            }
        }
        Ok(pool)
    }

    /// How many threads there are.
    pub(crate) fn size(&self) -> usize {
        self.load.size
    }

    /// How many tasks can be handed over now.
    pub(crate) fn free(&self) -> usize {
        self.load.size.saturating_sub(self.load.busy.load(Ordering::SeqCst))
    }

    /// Hands a task to a free worker; gives it back if there is none, or if the pool is closed. Never waits.
    pub(crate) fn submit(&self, task: T) -> std::result::Result<(), T> {
        let tasks = self.tasks.lock();
        let Some(sender) = &*tasks else { return Err(task) };
        if self.free() == 0 {
            return Err(task);
        }
        self.load.busy.fetch_add(1, Ordering::SeqCst);
        sender.try_send(task).map_err(|refused| {
            self.load.busy.fetch_sub(1, Ordering::SeqCst);
            match refused {
                TrySendError::Full(task) | TrySendError::Disconnected(task) => task,
            }
        })
    }

    /// Takes no more tasks; the threads end after those they have.
    pub(crate) fn close(&self) {
        drop(self.tasks.lock().take());
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
        for thread in self.threads.lock().drain(..).filter(|thread| thread.thread().id() != me) {
            let _ = thread.join();
        }
        true
    }
}

/// What a worker does until the pool is closed. Nothing that happens in a task ends it.
fn labour<T>(tasks: &Receiver<T>, load: &Load, work: &(dyn Fn(T) + Send + Sync)) {
    while let Ok(task) = tasks.recv() {
        if let Err(panic) = guarded(|| work(task)) {
            log::service_panicked("worker", &panic);
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
    use crossbeam_channel::unbounded;

    const LONG: Duration = Duration::from_secs(60);

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
        let pool = WorkerPool::start(1, "test-worker", Arc::clone(&freed), move |task: u32| {
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
            assert_eq!(pool.submit(task), Ok(()));
            let (ran, thread) = results.recv().expect("a result");
            assert_eq!(ran, task);
            threads.insert(thread);
            assert_eq!(clock.wait(&freed, Some(LONG)), Woken::Raised);
            assert_eq!(pool.free(), 1);
        }
        assert_eq!(threads.len(), 1);
        pool.close();
        assert!(pool.wait_ended(&clock, LONG));
        assert_eq!(pool.submit(9), Err(9));
    }

    #[test]
    fn there_is_room_for_as_many_tasks_as_threads() {
        let (go, gate) = bounded::<()>(0);
        let pool = WorkerPool::start(2, "test-worker", Arc::default(), move |(): ()| {
            let _ = gate.recv();
        })
        .expect("threads");
        assert_eq!((pool.size(), pool.free()), (2, 2));
        assert_eq!(pool.submit(()), Ok(()));
        assert_eq!(pool.submit(()), Ok(()));
        assert_eq!((pool.submit(()), pool.free()), (Err(()), 0));
        let still = ManualClock::at(0);
        assert!(!pool.wait_idle(&still, Duration::ZERO));
        drop(go);
        assert!(pool.wait_idle(&SystemClock::default(), LONG));
    }

    #[test]
    fn a_pool_of_no_threads_takes_nothing() {
        let pool = WorkerPool::start(0, "test-worker", Arc::default(), |(): ()| ()).expect("no threads");
        assert_eq!((pool.free(), pool.submit(())), (0, Err(())));
        assert!(pool.wait_idle(&ManualClock::at(0), Duration::ZERO));
        pool.close();
        assert!(pool.wait_ended(&ManualClock::at(0), Duration::ZERO));
    }
}
