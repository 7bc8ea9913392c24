//! `ClusterRows`: the instances of a cluster, its load and its order; and what nodes poll.

use super::fires::Owner;
use crate::error::Result;
use crate::store::row::{
    ClusterMembers, Departure, Exclusions, GroupRuns, InstanceRow, InstanceSelection, Late, LoadRow, NodeRow,
    PlacementView, PollResult, TypeVersions,
};

/// The pass over side rows that stand for nothing any longer.
#[derive(Clone, Copy, Debug)]
pub enum Strays<'a> {
    /// Counts those of all side tables.
    Count,
    /// Deletes those of these tables.
    Delete(&'a [String]),
}

/// Rows of `SCHEDULER_STATE` and our side table of instances.
pub trait ClusterRows {
    /// The time, every instance, the names of instances that have fired rows, and all that decides
    /// where work may run; in one statement.
    fn read_members(&mut self) -> Result<(ClusterMembers, PlacementView)>;
    /// Every instance.
    fn instances(&mut self, which: InstanceSelection<'_>) -> Result<Vec<InstanceRow>>;
    /// Sets the check-in time of `owner`'s row, if it is still of this incarnation, and writes the
    /// row of the node then; returns whether it was.
    fn touch_instance(&mut self, owner: &Owner, now_ms: i64, node: Option<&NodeRow>) -> Result<bool>;
    /// Writes the row of an instance, whether or not there is one.
    fn put_instance(&mut self, row: &InstanceRow) -> Result<()>;

    /// Deletes the rows of an instance; returns whether there were any that the departure asks for.
    fn delete_instance(&mut self, name: &str, departure: Departure) -> Result<bool>;
    /// Looks for, or deletes, side rows that stand for nothing any longer: their state row, their
    /// trigger is gone. Returns the tables that had some, with how many.
    fn stray_side_rows(&mut self, which: Strays<'_>) -> Result<Vec<(String, usize)>>;

    /// The time, every instance with its executing fires, and the triggers that wait although they
    /// were due before a time, of which at most `most` are looked at; in one statement.
    fn read_cluster_load(&mut self, late: Late, most: usize) -> Result<(i64, LoadRow)>;
    /// The number of triggers in each state; reads all triggers.
    fn count_states(&mut self) -> Result<Vec<(String, usize)>>;
}

/// Rows of our side tables of nodes that take no work and of limits of groups.
pub trait PlacementRows {
    /// All that decides where work may run, in one statement.
    fn placement_view(&mut self) -> Result<PlacementView>;

    /// The number of executing fires of jobs of these groups, by instance.
    fn runs_of_groups(&mut self, groups: &[String]) -> Result<Vec<GroupRuns>>;
}

/// Polls over several tables, in one statement each.
pub trait PollRows {
    /// The time, the counters of changes, and the earliest time within `horizon_ms` from now,
    /// however late, at which a [`DueQuery`](crate::store::row::DueQuery) would find something;
    /// without a horizon at any time. Also the earliest time for which a node of ours, other than
    /// `instance`, has reserved a trigger. In one statement.
    fn poll(
        &mut self,
        instance: &str,
        horizon_ms: Option<i64>,
        misfire_threshold_ms: i64,
        job_types: &[String],
        versions: &TypeVersions,
        excluded: &Exclusions,
    ) -> Result<PollResult>;
    /// The time, and how many beats of the scheduler are overdue, or come from a moment more than
    /// `tolerance_ms` ahead; in one statement.
    fn doubtful_heartbeats(&mut self, tolerance_ms: i64) -> Result<(i64, i64)>;
}
