//! The result of a poll of the scheduler, and the notifications that nodes send each other.

use super::InstanceRow;

/// A change of which a transaction notifies other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notification {
    /// Jobs or triggers have changed: something may be due, or reserved no longer.
    Change,
    /// A run is to stop.
    Cancel,
}

/// The kinds of notifications that have come since the last call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notifications {
    /// [`Notification::Change`].
    pub change: bool,
    /// [`Notification::Cancel`].
    pub cancel: bool,
}

/// The result of one poll of the scheduler. The counters say only whether something has changed
/// since another poll.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PollResult {
    /// The store's time.
    pub now_ms: i64,
    /// The earliest time at which there is something to acquire.
    pub earliest_ms: Option<i64>,
    /// The earliest time for which another node of ours has reserved a trigger.
    pub reserved_ms: Option<i64>,
    /// Moved on by [`Notification::Change`].
    pub changes: i64,
    /// Moved on by [`Notification::Cancel`].
    pub cancels: i64,
}

/// An instance that has fired rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithFires {
    /// The name of the instance.
    pub instance: String,
    /// The first and the last id of its fires, in the order of texts.
    pub ids: [String; 2],
}

/// The members of the cluster as one read sees them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterMembers {
    /// The store's time.
    pub now_ms: i64,
    /// Every instance, in order of name.
    pub instances: Vec<InstanceRow>,
    /// The instances that have fired rows.
    pub with_fires: Vec<WithFires>,
    /// The last fence; none if the scheduler's row is missing.
    pub fence: Option<i64>,
}

/// A counter that has come so far begins anew: it must fit into the number type of every database.
pub(in crate::store) const LAST_COUNT: i64 = 1 << 53;
