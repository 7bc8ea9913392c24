//! Reads that pages have in common: each is made at most every five seconds, for all pages.

use crate::error::Result;
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

/// The last result of a read, and when it was made.
#[derive(Debug)]
struct Fresh<T>(Mutex<Option<(Duration, Arc<T>)>>);

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
        let known = match last.take().filter(|(seen, _)| now.saturating_sub(*seen) < FRESH) {
            Some(fresh) => fresh,
            None => (now, Arc::new(read()?)),
        };
        *last = Some(known.clone());
        Ok(known)
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
        let bad = [FireOutcome::Failed, FireOutcome::TimedOut, FireOutcome::Lost];
        let find = || {
            let last = store.history().find(&HistoryQuery::new().limit(LAST_FIRES))?;
            Ok(last.into_iter().filter(|row| bad.contains(&row.outcome)).take(FEW).collect())
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
}
