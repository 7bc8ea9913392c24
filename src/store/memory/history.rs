//! The history in a map.

use super::MemorySession;
use crate::error::Result;
use crate::store::database::HistoryRows;
use crate::store::row::{EndRow, FiredRow, HistoryFilter, HistoryRow};
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl HistoryRows for MemorySession<'_> {
    fn end_fired(&mut self, ids: &[String], ends: &[EndRow]) -> Result<Vec<String>> {
        self.changes()?;
        let mut ends: BTreeMap<&str, &EndRow> = ends.iter().map(|end| (end.fire_id.as_str(), end)).collect();
        let mut there = Vec::new();
        for id in ids {
            let Some(fired) = self.tables.fired.remove(id) else { continue };
            if let Some(end) = ends.remove(id.as_str()) {
                self.tables.history.put(id.clone(), row(fired, end.clone()));
            }
            there.push(id.clone());
        }
        Ok(there)
    }

    fn put_history(&mut self, rows: &[HistoryRow]) -> Result<()> {
        self.reads()?;
        for row in rows {
            self.tables.history.put(row.fire_id.clone(), row.clone());
        }
        Ok(())
    }

    fn history(&mut self, filter: &HistoryFilter<'_>) -> Result<Vec<HistoryRow>> {
        self.reads()?;
        let is_wanted = |row: &&HistoryRow| {
            filter.fire_id.is_none_or(|id| row.fire_id == id)
                && filter.job.is_none_or(|job| row.job.as_ref() == Some(job))
                && filter.trigger.is_none_or(|trigger| row.trigger == *trigger)
                && (filter.outcomes.is_empty() || filter.outcomes.contains(&row.outcome))
                && row.ended_ms >= filter.since_ms
        };
        let mut rows: Vec<&HistoryRow> = self.tables.history.values().filter(is_wanted).collect();
        rows.sort_by_key(|row| Reverse((row.ended_ms, &row.fire_id)));
        Ok(rows.into_iter().take(filter.limit).cloned().collect())
    }

    fn history_end_after(&mut self, newer: u64) -> Result<Option<i64>> {
        self.reads()?;
        let mut ends: Vec<i64> = self.tables.history.values().map(|row| row.ended_ms).collect();
        ends.sort_unstable_by_key(|end| Reverse(*end));
        Ok(usize::try_from(newer).ok().and_then(|newer| ends.get(newer).copied()))
    }

    fn forget_history(&mut self, before_ms: i64, limit: usize) -> Result<usize> {
        self.reads()?;
        let old = self.tables.history.values().filter(|row| row.ended_ms < before_ms);
        let mut old: Vec<(i64, String)> = old.map(|row| (row.ended_ms, row.fire_id.clone())).collect();
        old.sort_unstable();
        old.truncate(limit);
        Ok(old.iter().filter(|(_, id)| self.tables.history.remove(id).is_some()).count())
    }
}

fn row(fired: FiredRow, end: EndRow) -> HistoryRow {
    HistoryRow {
        fire_id: fired.fire_id,
        trigger: fired.trigger,
        job: fired.job,
        job_type: end.job_type,
        instance: Some(fired.instance),
        scheduled_ms: fired.scheduled_ms,
        fired_ms: Some(fired.fired_ms),
        ended_ms: end.ended_ms,
        run_ms: end.run_ms,
        outcome: end.outcome,
        attempt: end.attempt,
        root_fire_id: end.root_fire_id,
        error: end.error,
        result: end.result,
    }
}
