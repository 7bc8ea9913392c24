//! `Session`: one transaction on the rows of one scheduler.

use super::executions::ExecutionRows;
use super::fires::FiredRows;
use super::history::HistoryRows;
use super::instances::ClusterRows;
use super::jobs::JobRows;
use super::listing::ListingRows;
use super::locking::Lock;
use super::placement::PlacementRows;
use super::polls::PollRows;
use super::snapshot::SnapshotRows;
use super::table::TableRows;
use super::triggers::TriggerRows;
use crate::error::Result;
use crate::store::row::{Notification, Snapshot, SnapshotPlace};

/// One transaction on the rows of one scheduler.
pub trait Session:
    TableRows
    + JobRows
    + ListingRows
    + TriggerRows
    + FiredRows
    + ClusterRows
    + PollRows
    + ExecutionRows
    + HistoryRows
    + PlacementRows
    + SnapshotRows
{
    /// The transaction's one `now`, in epoch milliseconds, by the database's clock (or the node's,
    /// as set).
    fn now_ms(&mut self) -> Result<i64>;

    /// Takes a further lock. Panics in debug builds if the order is wrong.
    fn lock(&mut self, lock: Lock) -> Result<()>;

    /// Notifies other nodes of a change, once in a transaction for each kind of notification. Other
    /// nodes receive it, or see its counter with their next poll, when the transaction is
    /// committed.
    fn notify(&mut self, what: Notification) -> Result<()>;
}

impl dyn Session + '_ {
    /// Reads everything the invariants speak of.
    pub fn snapshot(&mut self) -> Result<Snapshot> {
        let (mut place, mut snapshot) = (SnapshotPlace::default(), Snapshot::default());
        while self.snapshot_page(&mut place, &mut snapshot)? {}
        Ok(snapshot)
    }
}
