//! `LockGuard`: a lock of the application while it is held; and the thread that renews what this
//! node holds.

use crate::clock::{Clock, Moment};
use crate::debug_fields::debug_fields;
use crate::error::{Error, Result};
use crate::listener::{guarded, lifecycle_log};
use crate::signal::Signal;
use crate::store::JobStore;
use crate::store::row::LockRow;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The shortest pause between two renewals.
pub(crate) const SHORTEST_RENEWAL: Duration = Duration::from_millis(20);

/// The state of a held lock, which its guard and the keeper share.
struct HeldLock {
    name: String,
    holder: String,
    instance: String,
    fence: i64,
    ttl: Duration,
    /// Before the store was asked last: it is held for certain for its time to live from then on.
    asked: Mutex<Moment>,
    /// Once it was lost it stays so.
    lost: AtomicBool,
}

impl HeldLock {
    /// True if its time is not over by this process's ticks; once it is, it stays so.
    fn is_in_time(&self, now: &Moment) -> bool {
        if now.ticks >= self.asked.lock().ticks.saturating_add(self.ttl) {
            self.lost.store(true, Ordering::SeqCst);
        }
        !self.lost.load(Ordering::SeqCst)
    }

    /// Not after a pause that the ticks do not know of, until it is renewed: the store knows
    /// whether it was too long.
    fn is_held(&self, clock: &dyn Clock) -> bool {
        let now = Moment::now(clock);
        self.is_in_time(&now) && !now.was_paused_since(&self.asked.lock())
    }

    fn key(&self) -> (String, String) {
        (self.name.clone(), self.holder.clone())
    }
}

/// The locks that a node holds, and the thread that renews them: it is there as long as there are
/// some.
pub(crate) struct LockKeeper {
    store: JobStore,
    clock: Arc<dyn Clock>,
    thread_name: String,
    state: Mutex<KeeperState>,
    changed: Signal,
}

#[derive(Default)]
struct KeeperState {
    /// By holder.
    held: BTreeMap<String, Arc<HeldLock>>,
    has_thread: bool,
}

impl LockKeeper {
    pub(crate) fn new(store: JobStore, clock: Arc<dyn Clock>, name: &str) -> Arc<Self> {
        let thread_name = format!("{name}-locks");
        Arc::new(Self { store, clock, thread_name, state: Mutex::default(), changed: Signal::default() })
    }

    /// Takes a lock if it is free.
    pub(crate) fn try_lock(self: &Arc<Self>, name: &str, instance: &str, ttl: Duration) -> Result<Option<LockGuard>> {
        let asked = Mutex::new(Moment::now(&*self.clock));
        let Some(row) = self.store.locks().try_lock(name, instance, ttl)? else { return Ok(None) };
        let LockRow { name, holder, instance, fence, .. } = row;
        let held = Arc::new(HeldLock { name, holder, instance, fence, ttl, asked, lost: AtomicBool::new(false) });
        let guard = LockGuard { keeper: Arc::clone(self), held: Arc::clone(&held), is_released: false };
        // The guard is there first: if there is no thread to be had, its end releases the lock.
        self.keep(held)?;
        Ok(Some(guard))
    }

    fn keep(self: &Arc<Self>, held: Arc<HeldLock>) -> Result<()> {
        let mut state = self.state.lock();
        state.held.insert(held.holder.clone(), held);
        if !state.has_thread {
            let keeper = Arc::clone(self);
            std::thread::Builder::new()
                .name(self.thread_name.clone())
                .spawn(move || keeper.run())
                .map_err(|why| Error::Refused(format!("no thread to renew locks could be started: {why}")))?;
            state.has_thread = true;
        }
        drop(state);
        self.changed.raise();
        Ok(())
    }

    /// Renews until nothing is held.
    fn run(&self) {
        let mut last = self.clock.ticks();
        loop {
            let Some(interval) = self.interval() else { return };
            let at = last.saturating_add(interval);
            if self.clock.ticks() < at {
                // Also raised when what is held changes: perhaps there is less time, or nothing
                // left to do.
                self.clock.wait(&self.changed, Some(at));
                continue;
            }
            last = self.clock.ticks();
            if let Err(panic) = guarded(|| self.renew()) {
                lifecycle_log::service_panicked("locks", &panic);
            }
        }
    }

    /// The time at which to renew next: a third of the shortest time, so that two attempts may
    /// fail. None, and the thread is to end, if nothing is held.
    fn interval(&self) -> Option<Duration> {
        let mut state = self.state.lock();
        let shortest = state.held.values().map(|held| held.ttl / 3).min();
        if shortest.is_none() {
            state.has_thread = false;
        }
        shortest.map(|interval| interval.max(SHORTEST_RENEWAL))
    }

    fn renew(&self) {
        let begun = Moment::now(&*self.clock);
        let held: Vec<Arc<HeldLock>> =
            self.state.lock().held.values().filter(|held| held.is_in_time(&begun)).cloned().collect();
        let keys: Vec<_> = held.iter().map(|held| held.key()).collect();
        if keys.is_empty() {
            return;
        }
        match self.store.locks().renew(&keys) {
            Ok(lost) => {
                for held in held {
                    if lost.contains(&held.key()) {
                        self.set_lost(&held);
                    } else {
                        *held.asked.lock() = begun;
                    }
                }
            }
            Err(error) => lifecycle_log::locks_not_renewed(keys.len(), &error.to_string()),
        }
    }

    /// A lock that was released while it was renewed is not lost: it is kept no longer.
    fn set_lost(&self, held: &HeldLock) {
        if self.state.lock().held.contains_key(&held.holder) && !held.lost.swap(true, Ordering::SeqCst) {
            lifecycle_log::lock_lost(&held.name, held.fence, &held.instance);
        }
    }

    /// From here on the keeper says nothing of it.
    fn forget(&self, held: &HeldLock) {
        self.state.lock().held.remove(&held.holder);
        self.changed.raise();
    }
}

/// A lock of the application, held until this is released or dropped. Made by
/// [`Scheduler::try_lock`](crate::Scheduler::try_lock), [`Scheduler::lock`](crate::Scheduler::lock)
/// and [`Scheduler::lock_within`](crate::Scheduler::lock_within).
///
/// The node renews it as long as the guard lives. A process that stops for longer than the lock's
/// time to live loses it: when it goes on, [`LockGuard::is_held`] is false, at once and without
/// asking the store; of a virtual machine that was paused as a whole that is so as soon as its wall
/// clock is right again. Only the resource that the lock is for can refuse what such a process had
/// under way: give it [`LockGuard::fence`] with each write, and have it refuse a smaller one than
/// it has seen.
#[must_use = "the lock is released when its guard is dropped"]
pub struct LockGuard {
    keeper: Arc<LockKeeper>,
    held: Arc<HeldLock>,
    is_released: bool,
}

impl LockGuard {
    /// The lock's name.
    pub fn name(&self) -> &str {
        &self.held.name
    }

    /// Larger than that of every earlier taking of the lock, whoever took it.
    pub fn fence(&self) -> i64 {
        self.held.fence
    }

    /// True if the lock is still this guard's, as far as the node knows; asks nothing of the store.
    pub fn is_held(&self) -> bool {
        self.held.is_held(&*self.keeper.clock)
    }

    /// The error to end with if the lock is lost: for `guard.check()?` before each step.
    ///
    /// # Errors
    /// [`Error::Fenced`] if it is lost.
    pub fn check(&self) -> Result<()> {
        if self.is_held() {
            return Ok(());
        }
        Err(Error::Fenced {
            subject: format!("lock `{}`", self.held.name),
            reason: "its time was over, or somebody took it away: others may hold it by now".to_owned(),
        })
    }

    /// Releases the lock; false if it was lost before.
    ///
    /// # Errors
    /// What can go wrong with the store; the lock is then free when its time is over.
    pub fn release(mut self) -> Result<bool> {
        self.is_released = true;
        self.keeper.forget(&self.held);
        self.keeper.store.locks().release(&self.held.name, &self.held.holder)
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if self.is_released {
            return;
        }
        self.keeper.forget(&self.held);
        if let Err(error) = self.keeper.store.locks().release(&self.held.name, &self.held.holder) {
            lifecycle_log::lock_not_released(&self.held.name, self.held.fence, &error.to_string());
        }
    }
}

debug_fields! { LockGuard { name = me.held.name, fence = me.held.fence } finish_non_exhaustive |me| }
