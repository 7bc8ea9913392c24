//! Heartbeats and orders to stop in maps.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::ExecutionRows;
use crate::store::row::{CancelRow, FiredState, HeartbeatRow};

impl MemorySession<'_> {
    fn runs(&self, fire_id: &str) -> bool {
        self.tables.fired.get(fire_id).is_some_and(|fire| fire.state == FiredState::Executing)
    }
}

impl ExecutionRows for MemorySession<'_> {
    fn put_heartbeats(&mut self, rows: &[HeartbeatRow]) -> Result<()> {
        self.reads()?;
        for row in rows.iter().filter(|row| self.runs(&row.fire_id)).collect::<Vec<_>>() {
            self.tables.put_row(row);
        }
        Ok(())
    }

    fn notable_heartbeats(&mut self, instance: &str, now_ms: i64, future_ms: i64) -> Result<Vec<HeartbeatRow>> {
        self.reads()?;
        let notable = |row: &HeartbeatRow| {
            (row.instance == instance && row.beat_ms == now_ms)
                || row.beat_ms.saturating_add(row.limit_ms) < now_ms
                || row.beat_ms > future_ms
        };
        Ok(self.tables.rows().filter(notable).collect())
    }

    fn request_cancels(&mut self, fire_ids: &[String], who: &str) -> Result<usize> {
        self.reads()?;
        let new = |id: &&String| self.runs(id) && self.tables.cancels.get(*id).is_none();
        let new: Vec<String> = fire_ids.iter().filter(new).cloned().collect();
        for fire_id in &new {
            let row = CancelRow { fire_id: fire_id.clone(), who: who.to_owned() };
            self.tables.cancels.put(fire_id.clone(), row);
        }
        Ok(new.len())
    }

    fn cancels_for(&mut self, instance: &str) -> Result<Vec<CancelRow>> {
        self.reads()?;
        let its = |row: &&CancelRow| self.tables.fired.get(&row.fire_id).is_some_and(|f| f.instance == instance);
        Ok(self.tables.cancels.values().filter(its).cloned().collect())
    }
}
