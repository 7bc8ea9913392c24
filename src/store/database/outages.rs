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
    ///
    /// A node of Quartz writes the time of its own clock, and the clock of a database may be set
    /// back: a time from the future counts as now, and does not stay.
    pub fn note_seen(&mut self, seen_ms: i64) -> Result<()> {
        let now_ms = self.now_ms()?;
        let seen_ms = seen_ms.min(now_ms);
        if self.recovery_mode()?.is_some_and(|mode| mode.last_seen_ms > now_ms) {
            return self.rows::<RecoveryModeRow>().set("last_seen_ms", &seen_ms).map(drop);
        }
        self.rows::<RecoveryModeRow>().below("last_seen_ms", seen_ms).set("last_seen_ms", &seen_ms).map(drop)
    }
}
