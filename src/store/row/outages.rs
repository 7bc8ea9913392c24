//! Total outages that have ended, and the recovery mode, as rows.

use super::table::{ZeroIsNone, table};

table! {
    /// The row of `CN_RECOVERY_MODE`: who was last seen, and whether a backlog is being drained.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct RecoveryModeRow in "CN_RECOVERY_MODE" by [] {
        /// The last sign of life of any node that has left or was declared dead, epoch milliseconds
        /// by the store's clock.
        pub last_seen_ms: i64,
        /// Since when the cluster is in recovery mode, epoch milliseconds; none if it is not.
        pub since_ms: Option<i64> as ZeroIsNone,
        /// The instance or the person that began the recovery mode.
        pub begun_by: String,
        /// The number of triggers that were overdue then, as far as they were counted.
        pub backlog: i64,
    }
}

table! {
    /// A time in which no node ran, as the first node after it found it; a row of `CN_OUTAGES`.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct Outage in "CN_OUTAGES" by [ended_ms] {
        /// The last sign of life of any node before it, epoch milliseconds by the store's clock.
        pub began_ms: i64,
        /// The time at which the first node registered, epoch milliseconds by the store's clock.
        pub ended_ms: i64,
        /// That node.
        pub instance: String = [instance_name],
        /// Triggers that were overdue at that moment, waiting or held by a dead node; counted up to
        /// 10000.
        pub overdue: i64,
        /// The overdue triggers that fire once now, by their misfire instruction, their policy or
        /// since they are not late enough for either.
        pub fire_now: i64,
        /// The overdue triggers that fire for every missed time.
        pub fire_each: i64,
        /// The overdue triggers that leave out their missed times, or will not fire again.
        pub skipped: i64,
        /// The overdue triggers that nobody can read.
        pub unreadable: i64,
        /// True if there were more than were counted.
        pub uncounted: bool,
        /// Runs that were under way when the last node died.
        pub interrupted: i64,
    }
}
