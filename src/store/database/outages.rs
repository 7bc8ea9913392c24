//! The recovery mode in a session.

use super::session::Session;
use crate::error::Result;
use crate::store::row::RecoveryModeRow;

impl dyn Session + '_ {
    /// The row of the recovery mode; none before the first registration. Every change is under
    /// `STATE_ACCESS`.
    pub fn recovery_mode(&mut self) -> Result<Option<RecoveryModeRow>> {
        self.rows().first()
    }

    /// Notes that somebody who is gone was alive at this time; nothing if somebody was seen later.
    pub fn note_seen(&mut self, seen_ms: i64) -> Result<()> {
        self.rows::<RecoveryModeRow>().below("last_seen_ms", seen_ms).set("last_seen_ms", &seen_ms).map(drop)
    }
}
