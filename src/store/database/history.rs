//! `HistoryRows`: the history in a session.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{Cell, HistoryFilter, TableDef};
use std::ops::Range;

/// Rows of our side table of the history.
pub trait HistoryRows {
    /// Rows of the history as this declaration shows them, the newest first.
    fn select_history(&mut self, table: &'static TableDef, filter: &HistoryFilter<'_>) -> Result<Vec<Vec<Cell>>>;
    /// The jobs of which more than `more_than` rows ended at `since_ms` or later, with how many;
    /// those with most first, at most `limit`.
    fn history_by_job(&mut self, since_ms: i64, more_than: u64, limit: usize) -> Result<Vec<(JobKey, u64)>>;
    /// Deletes the first `limit` rows that ended in these milliseconds, with what their runs have
    /// logged, and the rows that ended in the same millisecond as the last of them. Returns how
    /// many there were, and the first millisecond in which others may have ended.
    fn delete_ended(&mut self, ended_ms: Range<i64>, limit: usize) -> Result<(usize, i64)>;
}
