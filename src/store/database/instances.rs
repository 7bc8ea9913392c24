//! `ClusterRows`: the instances of a cluster and its load.

use super::owner::Owner;
use crate::error::Result;
use crate::store::row::{ClusterMembers, InstanceRow, InstanceSelection, Late, LoadRow, NodeRow, PlacementView};

/// Rows of `SCHEDULER_STATE` and our side table of instances.
pub trait ClusterRows {
    /// The time, every instance, the names of instances that have fired rows, and all that decides
    /// where work may run; in one statement.
    fn read_members(&mut self) -> Result<(ClusterMembers, PlacementView)>;
    /// Every instance.
    fn instances(&mut self, which: InstanceSelection<'_>) -> Result<Vec<InstanceRow>>;
    /// Sets the check-in time of `owner`'s row, if it is still of this incarnation; returns whether
    /// it was.
    fn touch_instance(&mut self, owner: &Owner, now_ms: i64) -> Result<bool>;
    /// As [`ClusterRows::touch_instance`] at the time of the node's row, which is written then too.
    fn touch_node(&mut self, owner: &Owner, node: &NodeRow) -> Result<bool>;
    /// Writes the row of an instance, whether or not there is one.
    fn put_instance(&mut self, row: &InstanceRow) -> Result<()>;

    /// Deletes what is left of an instance of ours if a node of Quartz has checked in under its
    /// name since.
    fn forget_replaced(&mut self, name: &str) -> Result<()>;
    /// Deletes the rows of an instance, with `seen_ms` only if its last check-in is still that one;
    /// returns whether there were any.
    fn delete_instance(&mut self, name: &str, seen_ms: Option<i64>) -> Result<bool>;
    /// The number of side rows that stand for nothing any longer: their state row, their trigger is
    /// gone. With `sweeps` they are deleted.
    fn stray_side_rows(&mut self, sweeps: bool) -> Result<usize>;

    /// The time, every instance with its executing fires, and the triggers that wait although they
    /// were due before a time, of which at most `most` are looked at; in one statement.
    fn read_cluster_load(&mut self, late: Late, most: usize) -> Result<(i64, LoadRow)>;
    /// The number of triggers in each state; reads all triggers.
    fn count_states(&mut self) -> Result<Vec<(String, usize)>>;
}
