//! A summary of the history: how many fires of each job ended how, and how long they ran.

use super::HistoryQuery;
use crate::error::Result;
use crate::rules::run_times::{SummaryRow, summarise};
use crate::store::JobStore;

/// The most rows that a summary looks at, the newest.
const MOST_ROWS: usize = 200_000;

/// How many fires of each job ended how, and how long they ran.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HistorySummary {
    /// A row for each job and outcome, in order.
    pub rows: Vec<SummaryRow>,
    /// How many fires were looked at.
    pub fires: usize,
    /// Whether those are all that were asked for, and not only the newest.
    pub is_complete: bool,
}

impl JobStore {
    /// What [`JobStore::history`] would find, summed up; the limit and the page of the query do not count, and fires that run
    /// are left out. Of more than 200,000 fires the newest are looked at.
    ///
    /// # Errors
    /// What the database reports after the bounded retries.
    pub fn history_summary(&self, query: &HistoryQuery) -> Result<HistorySummary> {
        let mut filter = query.filter();
        (filter.limit, filter.after) = (MOST_ROWS + 1, None);
        let mut samples = self.read("sum up the history", |s| s.run_samples(&filter))?;
        let is_complete = samples.len() <= MOST_ROWS;
        samples.truncate(MOST_ROWS);
        let fires = samples.len();
        let samples = samples.into_iter().map(|sample| (sample.job, sample.outcome, sample.run_ms));
        Ok(HistorySummary { rows: summarise(samples), fires, is_complete })
    }
}
