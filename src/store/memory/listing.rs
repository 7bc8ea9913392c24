//! Pages of triggers and jobs in maps.

use super::MemorySession;
use super::jobs::is_marked;
use crate::error::Result;
use crate::key::TriggerKey;
use crate::store::database::ListingRows;
use crate::store::row::{Grouped, JobQuery, JobRow, ListOrder, Listed, TriggerQuery, TriggerRow, TriggerSummary};
use std::collections::BTreeSet;

/// The place of a trigger in a list.
fn place(order: ListOrder, next_ms: Option<i64>, key: &TriggerKey) -> (i64, String, String) {
    let next_ms = match order {
        ListOrder::Key => 0,
        ListOrder::NextFireTime => next_ms.unwrap_or(i64::MAX),
    };
    (next_ms, key.name().to_owned(), key.group().to_owned())
}

fn is_in(groups: Option<&[String]>, group: &str) -> bool {
    groups.is_none_or(|groups| groups.iter().any(|one| one == group))
}

impl MemorySession<'_> {
    fn triggers_of(&self, query: &TriggerQuery, groups: Option<&[String]>) -> Vec<&TriggerRow> {
        let marks = query.filter.asks_for_marks();
        let has_marks = |row: &TriggerRow| {
            !marks || self.tables.jobs.get(&row.job).is_some_and(|job| is_marked(job, &query.filter))
        };
        let takes = |row: &&TriggerRow| {
            is_in(groups, row.key.group())
                && query.job.as_ref().is_none_or(|job| row.job == *job)
                && query.kind.as_ref().is_none_or(|kind| row.kind == *kind)
                && query.state.is_none_or(|state| row.state == state.name())
                && has_marks(row)
        };
        self.tables.triggers.values().filter(takes).collect()
    }

    fn jobs_of(&self, query: &JobQuery, groups: Option<&[String]>) -> Vec<&JobRow> {
        let takes = |row: &&JobRow| {
            is_in(groups, row.key.group())
                && query.job_type.as_ref().is_none_or(|job_type| *row.job_type == **job_type)
                && (!query.filter.asks_for_marks() || is_marked(row, &query.filter))
        };
        self.tables.jobs.values().filter(takes).collect()
    }
}

impl ListingRows for MemorySession<'_> {
    fn trigger_page(&mut self, query: &TriggerQuery, groups: Option<&[String]>) -> Result<Vec<TriggerSummary>> {
        self.reads()?;
        let place_of = |row: &TriggerRow| place(query.order, row.next_ms, &row.key);
        let mut rows = self.triggers_of(query, groups);
        if let Some((key, next_ms)) = &query.after {
            let after = place(query.order, *next_ms, key);
            rows.retain(|row| place_of(row) > after);
        }
        rows.sort_by_key(|row| place_of(row));
        let listed = |row: &TriggerRow| TriggerSummary::from(row.clone());
        Ok(rows.into_iter().take(query.limit.unwrap_or(usize::MAX)).map(listed).collect())
    }

    fn job_page(&mut self, query: &JobQuery, groups: Option<&[String]>) -> Result<Vec<JobRow>> {
        self.reads()?;
        let place_of = |row: &JobRow| (row.key.name().to_owned(), row.key.group().to_owned());
        let mut rows = self.jobs_of(query, groups);
        if let Some(key) = &query.after {
            let after = (key.name().to_owned(), key.group().to_owned());
            rows.retain(|row| place_of(row) > after);
        }
        rows.sort_by_key(|row| place_of(row));
        let without_data = |row: &JobRow| JobRow { data: None, ..row.clone() };
        Ok(rows.into_iter().take(query.limit.unwrap_or(usize::MAX)).map(without_data).collect())
    }

    fn count_listed(&mut self, query: Listed<'_>, groups: Option<&[String]>) -> Result<usize> {
        self.reads()?;
        Ok(match query {
            Listed::Triggers(query) => self.triggers_of(query, groups).len(),
            Listed::Jobs(query) => self.jobs_of(query, groups).len(),
        })
    }

    fn groups(&mut self, of: Grouped) -> Result<Vec<String>> {
        self.reads()?;
        let groups: BTreeSet<&str> = match of {
            Grouped::Jobs => self.tables.jobs.values().map(|row| row.key.group()).collect(),
            Grouped::Triggers => self.tables.triggers.keys().map(TriggerKey::group).collect(),
        };
        Ok(groups.into_iter().map(str::to_owned).collect())
    }
}
