//! What a session reads and writes of work: checkpoints and requests.

use crate::error::Result;
use crate::key::JobKey;
use crate::store::row::*;

/// Rows of our side tables of checkpoints and requests.
pub trait WorkRows {
    /// How far the work has come that began with this fire.
    fn checkpoint(&mut self, root_fire_id: &str) -> Result<Option<CheckpointRow>>;
    /// Writes a checkpoint in the place of the last; false, and nothing is written, if a later fire has written one.
    fn put_checkpoint(&mut self, row: &CheckpointRow) -> Result<bool>;
    /// Deletes checkpoints; those that are not there are ignored.
    fn delete_checkpoints(&mut self, root_fire_ids: &[String]) -> Result<()>;
    /// Those of these requests that were taken before.
    fn requests(&mut self, request_ids: &[String]) -> Result<Vec<RequestRow>>;
    /// Notes that requests were taken.
    fn insert_requests(&mut self, requests: &[RequestRow]) -> Result<()>;
    /// Forgets requests taken before `before_ms`; returns how many there were.
    fn forget_requests(&mut self, before_ms: i64) -> Result<usize>;
    /// Requests that a job stands for get another in its place.
    fn rename_in_requests(&mut self, from: &JobKey, to: &JobKey) -> Result<()>;
}
