//! Polls, over maps.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::{PollRows, Session};
use crate::store::row::{Exclusions, HeartbeatRow, PollResult, TypeVersions};

impl PollRows for MemorySession<'_> {
    fn poll(
        &mut self,
        instance: &str,
        horizon_ms: Option<i64>,
        misfire_threshold_ms: i64,
        job_types: &[String],
        versions: &TypeVersions,
        excluded: &Exclusions,
    ) -> Result<PollResult> {
        self.reads()?;
        let now_ms = self.now_ms()?;
        let misfired_before_ms = now_ms.saturating_sub(misfire_threshold_ms);
        let (changes, cancels) = self.tables.changes.get(&()).copied().unwrap_or_default();
        let no_later_than_ms = horizon_ms.map_or(i64::MAX, |horizon_ms| now_ms.saturating_add(horizon_ms));
        let mut waiting = self.waiting(no_later_than_ms, misfired_before_ms, job_types, versions, excluded);
        let earliest_ms = waiting.next().and_then(|trigger| trigger.next_ms);
        drop(waiting);
        let reserved_ms = self.reserved_by_others(instance).next().map(|row| row.scheduled_ms);
        Ok(PollResult { now_ms, earliest_ms, reserved_ms, changes, cancels })
    }

    fn doubtful_heartbeats(&mut self, tolerance_ms: i64) -> Result<(i64, i64)> {
        self.reads()?;
        let now_ms = self.now_ms()?;
        let future_ms = now_ms.saturating_add(tolerance_ms);
        let doubtful = |beat_ms: i64, limit_ms: i64| beat_ms.saturating_add(limit_ms) < now_ms || beat_ms > future_ms;
        let count = self.tables.rows().filter(|row: &HeartbeatRow| doubtful(row.beat_ms, row.limit_ms)).count();
        Ok((now_ms, i64::try_from(count).unwrap_or(i64::MAX)))
    }
}
