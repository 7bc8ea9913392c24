//! Clean-up: what has been kept long enough is forgotten.

use super::CleanUpPass;
use crate::error::Result;
use crate::store::row::{CommitRow, LockRow, RequestRow};
use crate::store::{HistoryPruning, TxMode, Upkeep, locks};

/// The time for which tokens of commits are known: a caller that asks after one does so at once.
const COMMITS_KEPT_MS: i64 = 3_600_000;

/// The time for which a request is known after it was taken: a caller that repeats one does so
/// within days.
const REQUESTS_KEPT_MS: i64 = 7 * 24 * 3_600_000;

impl Upkeep<'_> {
    /// Forgets the history that is too old or too much (see
    /// [`History::prune`](crate::store::History::prune)), and tokens of commits, locks and requests
    /// that nobody will ask after (LT-86). Takes no lock; a batch of the history in each
    /// transaction.
    ///
    /// # Errors
    /// The error of the database that is left after the bounded retries; what was forgotten before
    /// stays so.
    pub fn clean_up(&self) -> Result<CleanUpPass> {
        let requests = self.forget_requests()?;
        let history = self.store.history().prune(&HistoryPruning::new())?;
        Ok(CleanUpPass { history: usize::try_from(history).unwrap_or(usize::MAX), requests })
    }

    /// Forgets old tokens of commits, locks of the application that nobody holds, and old requests;
    /// returns how many of the latter.
    pub(crate) fn forget_requests(&self) -> Result<usize> {
        self.store.retrying(
            "forget old commit tokens, locks and requests",
            TxMode::OwnRows,
            |s| {
                let now = s.now_ms()?;
                s.rows::<CommitRow>().below("made_ms", now - COMMITS_KEPT_MS).delete()?;
                s.rows::<LockRow>().below("expires_ms", now - locks::REMEMBERED_MS).delete()?;
                s.rows::<RequestRow>().below("made_ms", now - REQUESTS_KEPT_MS).delete()
            },
            &mut |_, _| Ok(false), // what was forgotten is not found again
        )
    }
}
