//! `PlacementRows`: nodes that take no work, and limits of groups.

use crate::error::Result;
use crate::store::row::{GroupRuns, PlacementView};

/// Rows of our side tables of nodes that take no work and of limits of groups.
pub trait PlacementRows {
    /// All that decides where work may run, in one statement.
    fn placement_view(&mut self) -> Result<PlacementView>;

    /// The number of executing fires of jobs of these groups, by instance.
    fn runs_of_groups(&mut self, groups: &[String]) -> Result<Vec<GroupRuns>>;
}
