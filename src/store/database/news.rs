//! What nodes tell each other through the database, and what they may hold one at a time: announcements, looks, locks.

use crate::error::Result;
use crate::store::row::{ClusterMembers, Exclusions, Heard, LockRow, News, PlacementView, PollResult, TypeVersions};

/// The row of our side table of changes, and what one look at the scheduler tells.
pub trait ChangeRows {
    /// Announces that there is something for other nodes to see, once in a transaction for each kind of news. They hear of
    /// it, or see it with their next look, when the transaction is committed.
    fn announce(&mut self, news: News) -> Result<()>;
    /// The time, the counters of changes, and the earliest time within `horizon_ms` from now,
    /// however late, at which [`TriggerRows::due`](super::TriggerRows::due) would find something;
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
    /// The time, every instance, the names of instances that have fired rows, and all that decides where work may run; in one
    /// statement.
    fn read_members(&mut self) -> Result<(ClusterMembers, PlacementView)>;
    /// The time, and how many beats of the scheduler are overdue, or come from a moment more than `tolerance_ms` ahead; in one
    /// statement.
    fn doubtful_heartbeats(&mut self, tolerance_ms: i64) -> Result<(i64, i64)>;
}

/// Rows of our side table of locks of the application.
pub trait LockRows {
    /// Every lock, in order of name; also those whose time is over and that nobody has taken over.
    fn locks(&mut self) -> Result<Vec<LockRow>>;
    /// The lock of this name.
    fn lock_row(&mut self, name: &str) -> Result<Option<LockRow>>;
    /// Writes a lock that nobody holds, or in the place of one whose time was over when this was taken; a unique key is
    /// violated if another holds it.
    fn take_lock(&mut self, row: &LockRow) -> Result<()>;
    /// Moves on the ends of those of these locks, by name and holder, whose time is not over; returns how many there were.
    fn renew_locks(&mut self, locks: &[(String, String)], now_ms: i64) -> Result<usize>;
    /// Deletes those of these locks, by name and holder, that are there; returns how many there were.
    fn release_locks(&mut self, locks: &[(String, String)]) -> Result<usize>;
    /// Deletes locks whose time was over before `before_ms`; returns how many there were.
    fn forget_locks(&mut self, before_ms: i64) -> Result<usize>;
}

/// Hears what other nodes announce, on a connection of its own.
pub trait Ear: Send {
    /// Connects, in the place of what was connected before. Announcements committed from now on are heard.
    ///
    /// # Errors
    /// What the database reports.
    fn connect(&mut self) -> Result<()>;
    /// What was announced since it was asked last, without waiting.
    ///
    /// # Errors
    /// That the connection is lost: something may have been missed.
    fn hear(&mut self) -> Result<Heard>;
}
