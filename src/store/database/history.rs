//! `HistoryRows`: the history in a session.

use super::Session;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::*;

/// Rows of our side table of the history.
pub trait HistoryRows {
    /// Deletes fired rows, as [`FiredRows::delete_fired`](super::FiredRows::delete_fired), and
    /// writes into the history what became of those that were there and are among `ends`, which are
    /// in the order of `ids`.
    fn end_fired(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>>;
    /// Writes rows of the history, in the place of those of the same fires.
    fn put_history(&mut self, rows: &[HistoryRow]) -> Result<()>;
    /// Rows of the history, the newest first.
    fn history(&mut self, filter: &HistoryFilter<'_>) -> Result<Vec<HistoryRow>>;
    /// The rows of [`HistoryRows::history`], as far as a summary needs them.
    fn run_samples(&mut self, filter: &HistoryFilter<'_>) -> Result<Vec<RunSample>>;
}

/// The reads with which the history is pruned.
pub trait HistoryUpkeepRows {
    /// The jobs of which more than `more_than` rows ended at `since_ms` or later, with how many;
    /// those with most first, at most `limit`.
    fn history_by_job(&mut self, since_ms: i64, more_than: u64, limit: usize) -> Result<Vec<(JobKey, u64)>>;

    /// The jobs whose policies have this word in them.
    fn policies_with(&mut self, word: &str) -> Result<Vec<PolicyRow>>;
}

/// The most bytes of lines in one statement, so that no server finds the statement too long.
const MOST_BYTES: usize = 500_000;

impl dyn Session + '_ {
    /// Writes what runs have logged.
    pub fn insert_logs(&mut self, rows: &[LogRow]) -> Result<()> {
        let mut rest = rows;
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |row: &&LogRow| {
                let is_first = bytes == 0;
                bytes += row.lines.len();
                is_first || bytes <= MOST_BYTES
            };
            let (batch, further) = rest.split_at(rest.iter().take_while(fits).count());
            self.insert_all(batch)?;
            rest = further;
        }
        Ok(())
    }
}
