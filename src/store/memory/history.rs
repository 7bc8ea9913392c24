//! The history in a map.

use super::MemorySession;
use super::declared_tables::DeclaredTable;
use crate::error::Result;
use crate::key::JobKey;
use crate::store::database::HistoryRows;
use crate::store::row::{Cell, HistoryOf, HistoryQuery, HistoryRow, LogRow, Table, TableDef};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ops::Range;

impl HistoryRows for MemorySession<'_> {
    fn select_history(&mut self, table: &'static TableDef, query: &HistoryQuery) -> Result<Vec<Vec<Cell>>> {
        self.reads()?;
        let whole = DeclaredTable::of(HistoryRow::DEF);
        Ok(self.wanted(query).into_iter().map(|row| whole.shown(table, &row.cells())).collect())
    }

    fn history_by_job(&mut self, since_ms: i64, of: HistoryOf<'_>) -> Result<Vec<(JobKey, u64)>> {
        self.reads()?;
        let mut counts: BTreeMap<&JobKey, u64> = BTreeMap::new();
        for job in self.tables.history.values().filter(|row| row.ended_ms >= since_ms).filter_map(|r| r.job.as_ref()) {
            *counts.entry(job).or_default() += 1;
        }
        let mut counts: Vec<(JobKey, u64)> = counts.into_iter().map(|(job, rows)| (job.clone(), rows)).collect();
        match of {
            HistoryOf::Jobs(jobs) => counts.retain(|(job, _)| jobs.contains(job)),
            HistoryOf::MoreThan { rows: more_than, limit } => {
                counts.retain(|(_, rows)| *rows > more_than);
                counts.sort_by_key(|(_, rows)| Reverse(*rows));
                counts.truncate(limit);
            }
        }
        Ok(counts)
    }

    fn delete_ended(&mut self, ended_ms: Range<i64>, limit: usize) -> Result<(usize, i64)> {
        self.reads()?;
        let mut ended: Vec<(i64, &String)> =
            self.tables.history.values().map(|row| (row.ended_ms, &row.fire_id)).collect();
        ended.retain(|(end, _)| ended_ms.contains(end));
        ended.sort_unstable();
        let last = limit.checked_sub(1).and_then(|last| ended.get(last));
        let until_ms = last.map_or(ended_ms.end, |(end, _)| end.saturating_add(1));
        let gone: Vec<String> =
            ended.into_iter().take_while(|(end, _)| *end < until_ms).map(|(_, id)| id.clone()).collect();
        for id in &gone {
            self.tables.history.remove(id.as_str());
            self.tables.remove_row::<LogRow>(id);
        }
        Ok((gone.len(), until_ms))
    }
}

impl MemorySession<'_> {
    fn wanted(&self, query: &HistoryQuery) -> Vec<&HistoryRow> {
        let mut rows: Vec<&HistoryRow> = self.tables.history.values().filter(|row| query.accepts(row)).collect();
        rows.sort_by_key(|row| Reverse((row.ended_ms, &row.fire_id)));
        rows.truncate(query.limit.unwrap_or(usize::MAX));
        rows
    }
}
