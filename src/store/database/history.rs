//! `HistoryRows`: the history in a session.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::{Cell, HistoryOf, HistoryQuery, TableDef};
use std::ops::Range;

/// Rows of our side table of the history.
pub trait HistoryRows {
    /// Rows of the history as this declaration shows them, the newest first.
    fn select_history(&mut self, table: &'static TableDef, query: &HistoryQuery) -> Result<Vec<Vec<Cell>>>;
    /// Jobs with the number of their rows that ended at `since_ms` or later.
    fn history_by_job(&mut self, since_ms: i64, of: HistoryOf<'_>) -> Result<Vec<(JobKey, u64)>>;
    /// Deletes the first `limit` rows that ended in these milliseconds, with what their runs have
    /// logged, and the rows that ended in the same millisecond as the last of them. Returns how
    /// many there were, and the first millisecond in which others may have ended.
    fn delete_ended(&mut self, ended_ms: Range<i64>, limit: usize) -> Result<(usize, i64)>;
}
