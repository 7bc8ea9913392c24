//! `Session`: one transaction on the rows of one scheduler.

use super::cluster::{ClusterRows, PlacementRows, PollRows};
use super::executions::ExecutionRows;
use super::fires::FiredRows;
use super::history::HistoryRows;
use super::jobs::JobRows;
use super::listing::ListingRows;
use super::locking::Lock;
use super::table::TableRows;
use super::triggers::TriggerRows;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::row::{CommitRow, Notification, Snapshot, SnapshotPlace};

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

/// The rows of all tables of which the invariants speak.
pub trait SnapshotRows {
    /// Reads the next page of everything the invariants speak of into `snapshot`, which is whole as
    /// soon as this returns false.
    fn snapshot_page(&mut self, place: &mut SnapshotPlace, snapshot: &mut Snapshot) -> Result<bool>;
    /// Deletes rows of kinds that belong to no trigger; returns their keys.
    fn delete_stray_schedules(&mut self) -> Result<Vec<TriggerKey>>;
}

impl dyn Session + '_ {
    /// Notes that the transaction of this token was committed, so that an unknown outcome can be
    /// looked up.
    pub fn mark_commit(&mut self, token: &str) -> Result<()> {
        let made_ms = self.now_ms()?;
        self.insert(&CommitRow { token: token.to_owned(), made_ms })
    }

    /// The time at which the transaction of this token was committed, if it was.
    pub fn committed_ms(&mut self, token: &str) -> Result<Option<i64>> {
        Ok(self.row::<CommitRow>(token)?.map(|row| row.made_ms))
    }
}
