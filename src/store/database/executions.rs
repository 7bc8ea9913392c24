//! `ExecutionRows`: heartbeats of running fires, orders to stop, begin marks, and held locks.

use super::fires::Owner;
use crate::error::Result;
use crate::rules::begun::BeginMark;
use crate::store::row::{Cell, HeartbeatRow, TableDef};

/// The fate of a row that is there already when one of its key is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfThere {
    /// The new row is written over it.
    Replaced,
    /// The old row stays, and nothing is written.
    Kept,
}

/// Rows of our side tables of what runs.
///
/// A session writes them without the scheduler's lock: a row of a fire that is gone means nothing,
/// and is swept.
pub trait ExecutionRows {
    /// Writes rows of a table that has one for a fire, of those of these fires that are executing.
    /// With `IfThere::Kept` returns how many were new.
    fn put_of_executing(&mut self, table: &'static TableDef, rows: Vec<Vec<Cell>>, there: IfThere) -> Result<usize>;
    /// The beats of an instance of this moment, and those of whatever instance that are overdue at
    /// it or come from a moment after `future_ms`.
    fn notable_heartbeats(&mut self, instance: &str, now_ms: i64, future_ms: i64) -> Result<Vec<HeartbeatRow>>;

    /// Notes which prefetched fires have begun, by one statement. False if the owner was
    /// declared dead, or a later mark is there.
    fn note_begun(&mut self, owner: &Owner, mark: &BeginMark) -> Result<bool>;

    /// Moves on the ends of those of these locks of the application, by name and holder, whose time
    /// is not over; returns how many there were.
    fn renew_locks(&mut self, locks: &[(String, String)], now_ms: i64) -> Result<usize>;
}
