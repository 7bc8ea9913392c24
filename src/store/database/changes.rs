//! Notifications between nodes, and polls.

use crate::error::Result;
use crate::store::row::{Exclusions, Notification, Notifications, PollResult, TypeVersions};

/// The row of our side table of changes, and what one poll of the scheduler tells.
pub trait ChangeRows {
    /// Notifies other nodes of a change, once in a transaction for each kind of notification. Other
    /// nodes receive it, or see its counter with their next poll, when the transaction is
    /// committed.
    fn notify(&mut self, what: Notification) -> Result<()>;
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
    /// The time, and how many beats of the scheduler are overdue, or come from a moment more than
    /// `tolerance_ms` ahead; in one statement.
    fn doubtful_heartbeats(&mut self, tolerance_ms: i64) -> Result<(i64, i64)>;
}

/// Receives the notifications of other nodes, on a connection of its own.
pub trait NotificationSource: Send {
    /// Connects, in the place of what was connected before. Notifications committed from now on are
    /// received.
    ///
    /// # Errors
    /// Errors of the database.
    fn connect(&mut self) -> Result<()>;
    /// The notifications since the last call, without waiting.
    ///
    /// # Errors
    /// The loss of the connection: notifications may have been missed.
    fn received(&mut self) -> Result<Notifications>;
}
