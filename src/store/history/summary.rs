//! `HistorySummary`: fires of each job by outcome, and how long they ran.

use super::History;
use crate::epoch::length;
use crate::error::Result;
use crate::rules::run_times::{SummaryRow, summarise};
use crate::store::row::{HistoryQuery, RunSample, TrendSample};

/// The most rows that a summary looks at, the newest.
const MOST_ROWS: usize = 200_000;

/// The number of fires of each job and outcome, and how long they ran.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistorySummary {
    /// A row for each job and outcome, in order.
    pub rows: Vec<SummaryRow>,
    /// The number of fires that were looked at.
    pub fires: usize,
    /// True if all fires of the query were looked at, and not only the newest.
    pub is_complete: bool,
}

impl History<'_> {
    /// The fires that [`History::find`] would find, summed up; the limit and the page of the query
    /// do not count, and fires that run are left out. Of more than 200,000 fires the newest are
    /// looked at.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn summary(&self, query: &HistoryQuery) -> Result<HistorySummary> {
        let query = HistoryQuery { after: None, ..query.clone().limit(MOST_ROWS + 1) };
        let mut samples: Vec<RunSample> = self.store.read("sum up the history", |s| s.history(&query))?;
        let is_complete = samples.len() <= MOST_ROWS;
        samples.truncate(MOST_ROWS);
        let fires = samples.len();
        let samples = samples.into_iter().map(|sample| (sample.job, sample.outcome, sample.run_ms.map(length)));
        Ok(HistorySummary { rows: summarise(samples), fires, is_complete })
    }

    /// The fires that ended at this time or later, epoch milliseconds, the newest first and at most
    /// so many; as trends need them.
    ///
    /// # Errors
    /// Failures of the database after the bounded retries.
    pub fn samples_since(&self, since_ms: i64, limit: usize) -> Result<Vec<TrendSample>> {
        let query = HistoryQuery { since_ms: Some(since_ms), ..HistoryQuery::new().limit(limit) };
        self.store.glance("look at the last fires", |s| s.history(&query))
    }
}
