//! What a session reads and writes of running fires: heartbeats and orders to stop.

use crate::error::Result;
use crate::store::row::*;

/// Rows of our side tables of heartbeats and of orders to stop.
///
/// They are written without the scheduler's lock: what they say of a fire that is no longer there means nothing, and is
/// swept.
pub trait ExecutionRows {
    /// Writes signs of life of those of these fires that are executing.
    fn put_heartbeats(&mut self, rows: &[HeartbeatRow]) -> Result<()>;
    /// The beats of an instance of this moment, and those of whatever instance that are overdue at it or come from a
    /// moment after `future_ms`.
    fn notable_heartbeats(&mut self, instance: &str, now_ms: i64, future_ms: i64) -> Result<Vec<HeartbeatRow>>;
    /// Those of these fires' beats that are there.
    fn heartbeats_of(&mut self, fire_ids: &[String]) -> Result<Vec<HeartbeatRow>>;
    /// Every beat.
    fn all_heartbeats(&mut self) -> Result<Vec<HeartbeatRow>>;
    /// Deletes beats.
    fn delete_heartbeats(&mut self, fire_ids: &[String]) -> Result<()>;
    /// Notes that these fires are to stop; returns how many of them are executing and were not noted before.
    fn request_cancels(&mut self, fire_ids: &[String], who: &str) -> Result<usize>;
    /// The orders to stop for the fires of an instance.
    fn cancels_for(&mut self, instance: &str) -> Result<Vec<CancelRow>>;
}
