//! `SnapshotRows`: everything that the invariants speak of.

use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::row::{Snapshot, SnapshotPlace};

/// The rows of all tables of which the invariants speak.
pub trait SnapshotRows {
    /// Reads the next page of everything the invariants speak of into `snapshot`, which is whole as
    /// soon as this returns false.
    fn snapshot_page(&mut self, place: &mut SnapshotPlace, snapshot: &mut Snapshot) -> Result<bool>;
    /// Deletes rows of kinds that belong to no trigger; returns their keys.
    fn delete_stray_schedules(&mut self) -> Result<Vec<TriggerKey>>;
}
