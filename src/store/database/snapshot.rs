//! `SnapshotRows`: everything that the invariants speak of.

use crate::error::Result;
use crate::store::row::{Snapshot, SnapshotPlace};

/// The rows of all tables of which the invariants speak.
pub trait SnapshotRows {
    /// Reads the next page of everything the invariants speak of into `snapshot`, which is whole as
    /// soon as this returns false.
    fn snapshot_page(&mut self, place: &mut SnapshotPlace, snapshot: &mut Snapshot) -> Result<bool>;
}
