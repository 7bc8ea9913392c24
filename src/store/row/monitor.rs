//! What one look at the load of a cluster brings.

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
    /// How much work is parked, up to the limit asked for.
    pub parked: usize,
    /// Every instance with the number of its executing fires, in order of their names.
    pub instances: Vec<(InstanceRow, usize)>,
    /// What they say of themselves, at least as far as it decides whether they take work.
    pub infos: BTreeMap<String, NodeInfo>,
    /// What keeps them from work, likewise.
    pub blacklist: Vec<BlacklistRow>,
}

/// Since when a trigger or a reservation must be overdue to be counted.
#[derive(Clone, Copy, Debug)]
pub enum Late {
    /// It was due before this time.
    Before(i64),
    /// It was due more than so many milliseconds ago.
    MoreThan(i64),
}
