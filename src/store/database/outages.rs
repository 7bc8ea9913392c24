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
        let Some(mode) = self.recovery_mode()? else { return Ok(()) };
        if (seen_ms..=now_ms).contains(&mode.last_seen_ms) {
            return Ok(());
        }
        self.rows::<RecoveryModeRow>().set("last_seen_ms", &seen_ms).map(drop)
    }
}
