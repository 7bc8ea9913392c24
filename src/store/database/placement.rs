//! `PlacementRows`: nodes that take no work, and limits of groups.

use crate::error::Result;
use crate::store::row::{BlacklistKind, BlacklistRow, GroupRuns, LimitRow, Whereabouts};

/// Rows of our side tables of nodes that take no work and of limits of groups.
pub trait PlacementRows {
    /// All that decides where work may run, in one statement.
    fn whereabouts(&mut self) -> Result<Whereabouts>;
    /// Every node that takes no work, in order of the names.
    fn blacklist(&mut self) -> Result<Vec<BlacklistRow>>;
    /// Notes that a node takes no work, in the place of what was noted of the same kind.
    fn put_on_blacklist(&mut self, row: &BlacklistRow) -> Result<()>;
    /// Forgets that a node takes no work; returns how many rows there were.
    fn delete_from_blacklist(&mut self, node: &str, kinds: &[BlacklistKind]) -> Result<usize>;
    /// Forgets what was over before `before_ms`; returns how many rows there were.
    fn forget_blacklist(&mut self, before_ms: i64) -> Result<usize>;
    /// Every limit, in order of the groups.
    fn limits(&mut self) -> Result<Vec<LimitRow>>;
    /// Writes a limit in the place of the last.
    fn put_limit(&mut self, row: &LimitRow) -> Result<()>;
    /// Forgets a limit; returns whether there was one.
    fn delete_limit(&mut self, group: &str) -> Result<bool>;
    /// How many fires of jobs of these groups are executing, by instance.
    fn runs_of_groups(&mut self, groups: &[String]) -> Result<Vec<GroupRuns>>;
}
