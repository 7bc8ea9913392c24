//! The load of a cluster, as one look at it brings.

use super::{BlacklistRow, InstanceRow};
use crate::node::NodeInfo;
use std::collections::BTreeMap;

/// The load of a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadRow {
    /// Triggers that wait although they were due before the time asked for, up to the limit asked
    /// for; and fires that are reserved for such a time.
    pub overdue: usize,
    /// The earliest time of those triggers.
    pub oldest_overdue_ms: Option<i64>,
    /// Since when the recovery mode is on.
    pub recovery_since_ms: Option<i64>,
    /// The amount of parked work, up to the limit asked for.
    pub parked: usize,
    /// Every instance with the number of its executing fires, in order of their names.
    pub instances: Vec<(InstanceRow, usize)>,
    /// The rows of `CN_NODES`, at least as far as they decide whether these instances take work.
    pub infos: BTreeMap<String, NodeInfo>,
    /// The blacklist, at least as far as it decides whether these instances take work.
    pub blacklist: Vec<BlacklistRow>,
}

/// Since when a trigger or a reservation must be overdue to be counted.
#[derive(Clone, Copy, Debug)]
pub enum Late {
    /// The trigger or reservation was due before this time.
    Before(i64),
    /// The trigger or reservation was due more than so many milliseconds ago.
    MoreThan(i64),
}
