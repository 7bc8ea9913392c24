//! The history in a map.

use super::MemorySession;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::{HistoryLogRows, HistoryRows, HistoryUpkeepRows};
use crate::store::row::{EndRow, FiredRow, HistoryFilter, HistoryRow, LogRow, PolicyRow, RunSample};
use std::cmp::Reverse;
use std::collections::BTreeMap;

impl HistoryRows for MemorySession<'_> {
    fn end_fired(&mut self, ids: &[String], ends: Vec<EndRow>) -> Result<Vec<String>> {
        self.changes()?;
        let mut ends = ends.into_iter().peekable();
        let mut there = Vec::with_capacity(ids.len());
        for id in ids {
            let end = ends.next_if(|end| end.fire_id == *id);
            let Some(fired) = self.tables.fired.remove(id) else { continue };
            if let Some(end) = end {
                self.tables.history.put(id.clone(), row(&fired, end));
            }
            there.push(id.clone());
        }
        debug_assert!(ends.next().is_none(), "an end of no fire that was asked for, or in another order");
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
        Ok(self.wanted(filter).into_iter().cloned().collect())
    }

    fn run_samples(&mut self, filter: &HistoryFilter<'_>) -> Result<Vec<RunSample>> {
        self.reads()?;
        let sample = |row: &HistoryRow| RunSample { job: row.job.clone(), outcome: row.outcome, run_ms: row.run_ms };
        Ok(self.wanted(filter).into_iter().map(sample).collect())
    }
}

impl HistoryLogRows for MemorySession<'_> {
    fn insert_logs(&mut self, rows: &[LogRow]) -> Result<()> {
        self.reads()?;
        for row in rows {
            if self.tables.history_log.get(&row.fire_id).is_some() {
                return Err(self.duplicate("log of fire", &row.fire_id));
            }
            self.tables.history_log.put(row.fire_id.clone(), row.clone());
        }
        Ok(())
    }

    fn log_of(&mut self, fire_id: &str) -> Result<Option<LogRow>> {
        self.reads()?;
        Ok(self.tables.history_log.get(fire_id).cloned())
    }
}

impl HistoryUpkeepRows for MemorySession<'_> {
    fn history_end_after(&mut self, newer: u64) -> Result<Option<i64>> {
        self.reads()?;
        let mut ends: Vec<i64> = self.tables.history.values().map(|row| row.ended_ms).collect();
        ends.sort_unstable_by_key(|end| Reverse(*end));
        Ok(usize::try_from(newer).ok().and_then(|newer| ends.get(newer).copied()))
    }

    fn history_before(&mut self, job: Option<&JobKey>, before_ms: i64) -> Result<u64> {
        self.reads()?;
        Ok(self.before(job, before_ms).count() as u64)
    }

    fn history_by_job(&mut self, since_ms: i64, more_than: u64, limit: usize) -> Result<Vec<(JobKey, u64)>> {
        self.reads()?;
        let mut counts: BTreeMap<&JobKey, u64> = BTreeMap::new();
        for job in self.tables.history.values().filter(|row| row.ended_ms >= since_ms).filter_map(|r| r.job.as_ref()) {
            *counts.entry(job).or_default() += 1;
        }
        let mut counts: Vec<(JobKey, u64)> =
            counts.into_iter().filter(|(_, n)| *n > more_than).map(|(job, n)| (job.clone(), n)).collect();
        counts.sort_by_key(|(_, n)| Reverse(*n));
        counts.truncate(limit);
        Ok(counts)
    }

    fn oldest_history(&mut self, job: Option<&JobKey>, before_ms: i64, limit: usize) -> Result<Vec<String>> {
        self.reads()?;
        let mut old: Vec<(i64, &str)> =
            self.before(job, before_ms).map(|row| (row.ended_ms, row.fire_id.as_str())).collect();
        old.sort_unstable();
        Ok(old.into_iter().take(limit).map(|(_, id)| id.to_owned()).collect())
    }

    fn surplus_history(&mut self, job: &JobKey, newer: u64, limit: usize) -> Result<Vec<String>> {
        let filter = HistoryFilter { job: Some(job), limit: usize::MAX, ..HistoryFilter::default() };
        let rows = self.history(&filter)?;
        let newer = usize::try_from(newer).unwrap_or(usize::MAX);
        Ok(rows.into_iter().skip(newer).take(limit).map(|row| row.fire_id).collect())
    }

    fn delete_history(&mut self, fire_ids: &[String]) -> Result<usize> {
        self.reads()?;
        for id in fire_ids {
            self.tables.history_log.remove(id);
        }
        Ok(fire_ids.iter().filter(|id| self.tables.history.remove(*id).is_some()).count())
    }

    fn policies_with(&mut self, word: &str) -> Result<Vec<PolicyRow>> {
        self.reads()?;
        let with = self.tables.jobs.values().filter(|job| job.policy.as_ref().is_some_and(|text| text.contains(word)));
        let row = |job: &crate::store::row::JobRow| PolicyRow {
            job: job.key.clone(),
            job_type: job.job_type.clone(),
            policy: job.policy.clone(),
        };
        Ok(with.map(row).collect())
    }
}

impl MemorySession<'_> {
    fn wanted(&self, filter: &HistoryFilter<'_>) -> Vec<&HistoryRow> {
        let mut rows: Vec<&HistoryRow> = self.tables.history.values().filter(|row| filter.accepts(row)).collect();
        rows.sort_by_key(|row| Reverse((row.ended_ms, &row.fire_id)));
        rows.truncate(filter.limit);
        rows
    }

    fn before<'s>(&'s self, job: Option<&'s JobKey>, before_ms: i64) -> impl Iterator<Item = &'s HistoryRow> {
        let is_its = move |row: &&HistoryRow| job.is_none_or(|job| row.job.as_ref() == Some(job));
        self.tables.history.values().filter(is_its).filter(move |row| row.ended_ms < before_ms)
    }
}

fn row(fired: &FiredRow, end: EndRow) -> HistoryRow {
    HistoryRow {
        fire_id: end.fire_id,
        trigger: fired.trigger.clone(),
        job: fired.job.clone(),
        job_type: end.job_type,
        instance: Some(fired.instance.clone()),
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
