//! History: what ran, how it ended, and what it logged.
//!
//! [`Scheduler::history`](crate::Scheduler::history) asks with a [`HistoryQuery`],
//! [`Scheduler::prune_history`](crate::Scheduler::prune_history) deletes by a [`HistoryPruning`].
//! With [`CaptureLog`] the lines that a run logs are kept with it.

pub use crate::job::{CapturedLine, FireOutcome, LogLine, RunMarks};
pub use crate::scheduler::CaptureLog;
pub use crate::store::row::{ActionRow, HistoryRow, LastRunRow};
pub use crate::store::{ActionQuery, HistoryPruning, HistoryQuery, HistorySummary, RunRecord, SummaryRow};
