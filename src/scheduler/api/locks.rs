//! Locks of the application, through the scheduler.

use super::handle::Scheduler;
use crate::error::{Error, Result};
use crate::random;
use crate::scheduler::lock_keeper::{LockGuard, SHORTEST_RENEWAL};
use crate::signal::Signal;
use std::time::Duration;

/// The time for which [`Scheduler::lock`] waits.
const USUAL_WAIT: Duration = Duration::from_secs(30);

/// The longest pause between two attempts to take a lock that another holds.
const LONGEST_PAUSE: Duration = Duration::from_millis(200);

/// Locks of the application: for whatever only one node, process or thread may do at a time. Locks
/// need no job, and no started scheduler.
impl Scheduler {
    /// Takes the lock of this name, or gives none if anybody holds it, even this very thread.
    ///
    /// The lock holds for `ttl` (100 ms to 366 days). This node renews it at least every third of
    /// that time as long as the guard lives. After the death of its holder the lock is free when
    /// its time is over, by the store's clock.
    ///
    /// ```
    /// use carnelian::Scheduler;
    /// use std::time::Duration;
    ///
    /// let scheduler = Scheduler::builder().build()?;
    /// let guard = scheduler.try_lock("reindex", Duration::from_secs(30))?.expect("nobody holds it");
    /// assert!(scheduler.try_lock("reindex", Duration::from_secs(30))?.is_none());
    /// guard.check()?; // before each step
    /// assert!(guard.release()?);
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Invalid`] for a name or a time that cannot be stored, [`Error::ShutDown`] after a
    /// shutdown, and what can go wrong with the store.
    pub fn try_lock(&self, name: &str, ttl: Duration) -> Result<Option<LockGuard>> {
        self.open_store()?;
        self.inner.locks.try_lock(name, self.instance_id(), ttl)
    }

    /// As [`Scheduler::lock_within`], for 30 seconds.
    ///
    /// # Errors
    /// As [`Scheduler::lock_within`].
    pub fn lock(&self, name: &str, ttl: Duration) -> Result<LockGuard> {
        self.lock_within(name, ttl, USUAL_WAIT)
    }

    /// Takes the lock of this name, waiting for at most `limit` until it is free. Waiting callers
    /// are in no order.
    ///
    /// # Errors
    /// [`Error::Locked`] if it was not free in time; else as [`Scheduler::try_lock`].
    pub fn lock_within(&self, name: &str, ttl: Duration, limit: Duration) -> Result<LockGuard> {
        let clock = &self.inner.node.clock;
        let end = clock.ticks().saturating_add(limit);
        let mut pause = SHORTEST_RENEWAL;
        loop {
            if let Some(guard) = self.try_lock(name, ttl)? {
                return Ok(guard);
            }
            let now = clock.ticks();
            if now >= end {
                let (_, held) = self.open_store()?.locks().held()?;
                let holder = held.into_iter().find(|row| row.name == name).map(|row| row.instance);
                return Err(Error::Locked { name: name.to_owned(), holder: holder.unwrap_or_default(), waited: limit });
            }
            // Not in step with others who wait.
            let until = now.saturating_add(pause.mul_f64(0.5 + random::share() / 2.0)).min(end);
            clock.wait(&Signal::default(), Some(until));
            pause = pause.saturating_mul(2).min(LONGEST_PAUSE);
        }
    }
}
