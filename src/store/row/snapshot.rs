//! The snapshot: every row that the invariants speak of.

use super::*;

/// The place up to which a snapshot has been read; its beginning at first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotPlace {
    /// The number of the part that is read.
    pub(in crate::store) part: usize,
    /// The key of the last row of this part that was read; nothing before the first.
    pub(in crate::store) after: Vec<String>,
}

/// Everything that the invariants speak of.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// Every job.
    pub jobs: Vec<JobRow>,
    /// Every trigger.
    pub triggers: Vec<TriggerRow>,
    /// Every fired row.
    pub fired: Vec<FiredRow>,
    /// Every instance.
    pub instances: Vec<InstanceRow>,
    /// The paused groups, with the marker for all.
    pub paused_groups: Vec<String>,
    /// Every calendar.
    pub calendars: Vec<CalendarRow>,
    /// Every recovery row.
    pub recoveries: Vec<RecoveryRow>,
    /// The names of the lock rows.
    pub locks: Vec<String>,
    /// Rows that could not be read: table, key, reason.
    pub unreadable: Vec<(String, String, String)>,
    /// Subtype rows without a trigger: table, key.
    pub stray_schedules: Vec<(String, String)>,
}
