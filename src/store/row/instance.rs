//! The rows of instances.

/// The instances that are read.
#[derive(Clone, Copy, Debug)]
pub enum InstanceSelection<'a> {
    All,
    Named(&'a str),
}

/// The instance whose rows are deleted, as it has to be for that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Departure {
    /// The instance, however it is.
    Any,
    /// The last check-in is still the one at this time.
    Silent(i64),
    /// A node of Quartz has checked in under its name since: only what is left of ours goes.
    Replaced,
}

/// A row of `SCHEDULER_STATE` with its row in `CN_INSTANCES`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceRow {
    /// `INSTANCE_NAME`.
    pub name: String,
    /// `LAST_CHECKIN_TIME`.
    pub last_checkin_ms: i64,
    /// `CHECKIN_INTERVAL`.
    pub checkin_interval_ms: i64,
    /// None for a node that is not ours: it has no side row, or the side row is of one of ours
    /// whose name it has taken.
    pub incarnation: Option<String>,
    /// Grows with each registration; the smallest is the longest-serving node. 0 for a node that is
    /// not ours.
    pub joined: i64,
}
