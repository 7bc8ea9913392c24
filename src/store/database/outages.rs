//! What a session reads and writes of outages and of the recovery mode.

use crate::error::Result;
use crate::store::row::{Outage, RecoveryModeRow};

/// Rows of our side tables of outages and of the recovery mode. Every change of the latter is under `STATE_ACCESS`.
pub trait OutageRows {
    /// The row of the recovery mode; none before the first registration.
    fn recovery_mode(&mut self) -> Result<Option<RecoveryModeRow>>;
    /// Writes it in the place of the last.
    fn put_recovery_mode(&mut self, row: &RecoveryModeRow) -> Result<()>;
    /// Notes that somebody who is gone was alive at this time; nothing if somebody was seen later.
    fn note_seen(&mut self, seen_ms: i64) -> Result<()>;
    /// The outages, the last first, at most `most`.
    fn outages(&mut self, most: usize) -> Result<Vec<Outage>>;
    /// Adds one.
    fn insert_outage(&mut self, outage: &Outage) -> Result<()>;
    /// Forgets those that ended before `before_ms`.
    fn forget_outages(&mut self, before_ms: i64) -> Result<usize>;
}
