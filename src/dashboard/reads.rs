//! Reads that pages have in common: each is made at most every five seconds, for all pages.

use crate::clock::{Clock, SystemClock};
use crate::error::{DatabaseError, Error, Result};
use crate::history::{FireOutcome, HistoryQuery, HistoryRow};
use crate::store::{ClusterLoad, ClusterNow, JobStore, TriggerSummary};
use parking_lot::Mutex;
use std::sync::Arc;
use std::time::Duration;

/// The time for which a read serves every page.
const FRESH: Duration = Duration::from_secs(5);
/// Overdue triggers and parked work beyond so many are not counted.
pub(super) const MOST_COUNTED: usize = 10_000;
/// The rows of the short lists of the overview.
const FEW: usize = 8;
/// The fires that are looked through for failures.
pub(super) const LAST_FIRES: usize = 500;

/// The time for which a failure of the database is every page's: whoever waited for the read does
/// not wait for another one.
const FAILED: Duration = Duration::from_secs(1);

/// The result of a read, and when it was made.
type Made<T> = (Duration, std::result::Result<Arc<T>, DatabaseError>);

/// The last result of a read.
#[derive(Debug)]
struct Fresh<T>(Mutex<Option<Made<T>>>);

impl<T> Default for Fresh<T> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<T> Fresh<T> {
    /// The result, and when it was made. The lock is held while the database is asked: whoever
    /// comes meanwhile gets this answer.
    fn get(&self, now: Duration, read: impl FnOnce() -> Result<T>) -> Result<(Duration, Arc<T>)> {
        let mut last = self.0.lock();
        let age = |seen: &Duration| now.saturating_sub(*seen);
        match &*last {
            Some((seen, Ok(known))) if age(seen) < FRESH => return Ok((*seen, Arc::clone(known))),
            Some((seen, Err(error))) if age(seen) < FAILED => return Err(error.clone().into()),
            _ => *last = None,
        }
        let took = SystemClock::default();
        match read() {
            Ok(known) => {
                let known = Arc::new(known);
                *last = Some((now, Ok(Arc::clone(&known))));
                Ok((now, known))
            }
            Err(Error::Database(error)) => {
                *last = Some((now + took.ticks(), Err(error.clone())));
                Err(error.into())
            }
            Err(other) => Err(other),
        }
    }
}

/// The reads.
#[derive(Debug, Default)]
pub(super) struct Reads {
    load: Fresh<ClusterLoad>,
    cluster: Fresh<ClusterNow>,
    due: Fresh<Vec<TriggerSummary>>,
    failures: Fresh<Vec<HistoryRow>>,
}

impl Reads {
    /// The load, and the store's time now, epoch milliseconds.
    pub(super) fn load(&self, store: &JobStore, now: Duration) -> Result<(Arc<ClusterLoad>, i64)> {
        let after = store.settings().monitor.overdue_after;
        let (seen, load) = self.load.get(now, || store.upkeep().cluster_load(after, MOST_COUNTED))?;
        let since = i64::try_from(now.saturating_sub(seen).as_millis()).unwrap_or(0);
        let now_ms = load.now_ms.saturating_add(since);
        Ok((load, now_ms))
    }

    /// The nodes, and the fires that are reserved or run.
    pub(super) fn cluster(&self, store: &JobStore, now: Duration) -> Result<Arc<ClusterNow>> {
        Ok(self.cluster.get(now, || store.upkeep().cluster_now())?.1)
    }

    /// The triggers that are due first.
    pub(super) fn due(&self, store: &JobStore, now: Duration) -> Result<Arc<Vec<TriggerSummary>>> {
        Ok(self.due.get(now, || store.catalogue().due_next(FEW))?.1)
    }

    /// The failures among the last fires. No index has the outcome: a search for failures alone
    /// would read all fires where few fail.
    pub(super) fn failures(&self, store: &JobStore, now: Duration) -> Result<Arc<Vec<HistoryRow>>> {
        let find = || {
            let last = store.history().find(&HistoryQuery::new().limit(LAST_FIRES))?;
            Ok(last.into_iter().filter(|row| FireOutcome::BAD.contains(&row.outcome)).take(FEW).collect())
        };
        Ok(self.failures.get(now, find)?.1)
    }

    /// Forgets what was read, since somebody has changed something.
    pub(super) fn forget(&self) {
        *self.load.0.lock() = None;
        *self.cluster.0.lock() = None;
        *self.due.0.lock() = None;
        *self.failures.0.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FailureClass;

    #[test]
    fn a_read_serves_for_a_while() {
        let (fresh, mut reads) = (Fresh::default(), 0);
        let mut get = |seconds| {
            let read = || {
                reads += 1;
                Ok(reads)
            };
            *fresh.get(Duration::from_secs(seconds), read).unwrap().1
        };
        assert_eq!([get(10), get(14), get(15), get(19), get(20)], [1, 1, 2, 2, 3]);
    }

    #[test]
    fn whoever_waited_for_a_read_that_failed_does_not_wait_for_another() {
        let (fresh, mut reads) = (Fresh::<()>::default(), 0);
        let mut get = |ms| {
            let read = || {
                reads += 1;
                let message = format!("away {reads}");
                Err(DatabaseError { operation: "look".to_owned(), message, class: FailureClass::Unavailable }.into())
            };
            let error: Error = fresh.get(Duration::from_millis(ms), read).unwrap_err();
            error.to_string().contains("away 1")
        };
        assert_eq!([get(0), get(0), get(900), get(5_000)], [true, true, true, false]);
    }
}
