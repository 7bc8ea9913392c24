//! What a session reads and writes of the history.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::*;

/// Rows of our side table of the history.
pub trait HistoryRows {
    /// Deletes fired rows, as [`FiredRows::delete_fired`](super::FiredRows::delete_fired), and writes into the history what became of those that were
    /// there and are among `ends`, which are in the order of `ids`.
    fn end_fired(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>>;
    /// Writes rows of the history, in the place of those of the same fires.
    fn put_history(&mut self, rows: &[HistoryRow]) -> Result<()>;
    /// Rows of the history, the newest first.
    fn history(&mut self, filter: &HistoryFilter<'_>) -> Result<Vec<HistoryRow>>;
    /// As [`HistoryRows::history`], what a summary needs of them.
    fn run_samples(&mut self, filter: &HistoryFilter<'_>) -> Result<Vec<RunSample>>;
}

/// Rows of our side table of what runs have logged. They go with the rows of the history.
pub trait HistoryLogRows {
    /// Writes what runs have logged.
    fn insert_logs(&mut self, rows: &[LogRow]) -> Result<()>;
    /// What a run has logged.
    fn log_of(&mut self, fire_id: &str) -> Result<Option<LogRow>>;
}

/// What it takes to forget the history.
pub trait HistoryUpkeepRows {
    /// When the fire ended that has `newer` newer ones in the history; none if there are not so many.
    fn history_end_after(&mut self, newer: u64) -> Result<Option<i64>>;
    /// How many rows ended before `before_ms`, of one job or of all.
    fn history_before(&mut self, job: Option<&JobKey>, before_ms: i64) -> Result<u64>;
    /// The jobs of which more than `more_than` rows ended at `since_ms` or later, with how many; those with most first, at
    /// most `limit`.
    fn history_by_job(&mut self, since_ms: i64, more_than: u64, limit: usize) -> Result<Vec<(JobKey, u64)>>;
    /// The fires of the oldest rows that ended before `before_ms`, of one job or of all, at most `limit`.
    fn oldest_history(&mut self, job: Option<&JobKey>, before_ms: i64, limit: usize) -> Result<Vec<String>>;
    /// The fires of rows of a job that have `newer` newer ones, at most `limit`.
    fn surplus_history(&mut self, job: &JobKey, newer: u64, limit: usize) -> Result<Vec<String>>;
    /// Deletes rows, with what their runs have logged; returns how many there were.
    fn delete_history(&mut self, fire_ids: &[String]) -> Result<usize>;
    /// The jobs whose policies have this word in them.
    fn policies_with(&mut self, word: &str) -> Result<Vec<PolicyRow>>;
}
