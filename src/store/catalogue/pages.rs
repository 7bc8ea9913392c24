//! Lists in pages.

use super::Catalogue;
use crate::error::Result;
use crate::job::{JobDetail, JobFilter};
use crate::key::{JobKey, TriggerKey};
use crate::matcher::GroupMatcher;
use crate::store::row::{
    DefinitionRow, FiredRow, FiredSelection, FiredState, Grouped, JobQuery, JobSelection, Listed, Page, Parked,
    ParkedRow, TriggerQuery, TriggerSummary,
};
use crate::store::{FiredTrigger, Session};
use crate::trigger::TriggerState;
use std::collections::BTreeSet;

/// The most rows that one statement reads for a page of which many may be left out.
const CHUNK: usize = 500;

/// The fires that a page is to have.
#[derive(Clone, Debug, Default)]
pub struct FireQuery {
    /// Only fires of the groups of jobs, and of jobs with these marks.
    pub filter: JobFilter,
    /// Only fires of this job.
    pub job: Option<JobKey>,
    /// Only fires of this instance.
    pub instance: Option<String>,
    /// Also fires that are reserved.
    pub reserved: bool,
}

impl Catalogue<'_> {
    /// The page of triggers that the query asks for; also those that cannot be fired because a row
    /// is damaged.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn list_triggers(&self, query: &TriggerQuery) -> Result<Page<TriggerSummary>> {
        // One more tells whether there are more.
        let wanted = TriggerQuery { limit: query.limit.map(|limit| limit.saturating_add(1)), ..query.clone() };
        let rows = self.store.glance("list triggers", |s| {
            let groups = groups_of(s, Grouped::Triggers, &query.filter)?;
            s.trigger_page(&wanted, groups.as_deref())
        })?;
        Ok(Page::of(rows, query.limit))
    }

    /// The number of triggers that the query asks for, on all pages. Reads each of them.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn count_triggers(&self, query: &TriggerQuery) -> Result<usize> {
        self.store.glance("count triggers", |s| {
            let groups = groups_of(s, Grouped::Triggers, &query.filter)?;
            s.count_listed(Listed::Triggers(query), groups.as_deref())
        })
    }

    /// The page of jobs that the query asks for, without their data.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn list_jobs(&self, query: &JobQuery) -> Result<Page<JobDetail>> {
        let wanted = JobQuery { limit: query.limit.map(|limit| limit.saturating_add(1)), ..query.clone() };
        let rows = self.store.glance("list jobs", |s| {
            let groups = groups_of(s, Grouped::Jobs, &query.filter)?;
            s.job_page(&wanted, groups.as_deref())
        })?;
        Ok(Page::of(rows.into_iter().map(super::listing::without_data).collect(), query.limit))
    }

    /// The number of jobs that the query asks for, on all pages. Reads each of them.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn count_jobs(&self, query: &JobQuery) -> Result<usize> {
        self.store.glance("count jobs", |s| {
            let groups = groups_of(s, Grouped::Jobs, &query.filter)?;
            s.count_listed(Listed::Jobs(query), groups.as_deref())
        })
    }

    /// At most so many of the declared jobs behind a job, in order of group and name.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn definition_page(&self, after: Option<&JobKey>, limit: Option<usize>) -> Result<Page<DefinitionRow>> {
        let first = JobKey::new("", "");
        let wanted = limit.map_or(usize::MAX, |limit| limit.saturating_add(1));
        let rows = self.store.glance("list definitions", |s| s.definitions_behind(after.unwrap_or(&first), wanted))?;
        Ok(Page::of(rows, limit))
    }

    /// At most so much of the parked work, of a job or of all, behind the work that was parked at
    /// this time with the trigger of this group and name; in the order in which it was parked.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn parked_page(
        &self,
        job: Option<&JobKey>,
        after: (i64, &str, &str),
        limit: Option<usize>,
    ) -> Result<Page<Parked>> {
        let order = ["since_ms", "trigger_group", "trigger_name"];
        let read = |s: &mut dyn Session, last: Option<&ParkedRow>| {
            let (since_ms, group, name) =
                last.map_or(after, |row| (row.since_ms, row.trigger.group(), row.trigger.name()));
            let rows = s.rows().behind(&order, &[&since_ms, &group.to_owned(), &name.to_owned()]);
            rows.by(&order).limit(CHUNK).list()
        };
        let keep = |s: &mut dyn Session, rows: &[ParkedRow]| {
            let mut parked = s.parked_of(rows.to_vec())?;
            parked.retain(|work| job.is_none_or(|job| work.job == *job));
            Ok(parked)
        };
        self.store.glance("list parked work", |s| {
            let Some(job) = job else { return filled(s, limit, read, keep) };
            let query = TriggerQuery::new().job(job.clone()).state(TriggerState::Error).limit(CHUNK);
            let keys: Vec<TriggerKey> = s.trigger_page(&query, None)?.into_iter().map(|row| row.key).collect();
            // The work of a job that has many is soon found among all.
            if keys.len() == CHUNK {
                return filled(s, limit, read, keep);
            }
            let place = |row: &ParkedRow| (row.since_ms, row.trigger.group().to_owned(), row.trigger.name().to_owned());
            let mut rows: Vec<ParkedRow> = s.rows().any_of(&["trigger"], &keys).list()?;
            rows.retain(|row| place(row) > (after.0, after.1.to_owned(), after.2.to_owned()));
            rows.sort_by_cached_key(place);
            Ok(Page::of(s.parked_of(rows)?, limit))
        })
    }

    /// At most so many of the fires that run behind the fire of this time and id, in this order.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn fire_page(&self, query: &FireQuery, after: (i64, &str), limit: Option<usize>) -> Result<Page<FiredTrigger>> {
        let read = |s: &mut dyn Session, last: Option<&FiredRow>| {
            let (fired_ms, id) = last.map_or(after, |row| (row.fired_ms, row.fire_id.as_str()));
            s.fired(FiredSelection::Behind(fired_ms, id, CHUNK))
        };
        let keep = |s: &mut dyn Session, rows: &[FiredRow]| {
            let mut rows = rows.to_vec();
            rows.retain(|row| query.takes(row));
            if query.filter.asks_for_marks() {
                let jobs = crate::key::distinct(rows.iter().filter_map(|row| row.job.as_ref()));
                let jobs = s.jobs(JobSelection::Keys(&jobs))?.into_iter().map(super::listing::without_data);
                let jobs: BTreeSet<JobKey> =
                    jobs.filter(|job| query.filter.takes_marks(job.marks())).map(|job| job.key).collect();
                rows.retain(|row| row.job.as_ref().is_some_and(|job| jobs.contains(job)));
            }
            self.store.upkeep().with_heartbeats(s, rows)
        };
        self.store.glance("list fires", |s| filled(s, limit, read, keep))
    }
}

impl FireQuery {
    fn takes(&self, row: &FiredRow) -> bool {
        (self.reserved || row.state == FiredState::Executing)
            && self.job.as_ref().is_none_or(|job| row.job.as_ref() == Some(job))
            && self.instance.as_ref().is_none_or(|name| row.instance == *name)
            && row.job.as_ref().is_none_or(|job| self.filter.takes_group(job.group()))
    }
}

/// A page of what is kept of rows that are read a chunk at a time, each behind the last row of the
/// chunk before.
fn filled<R, T>(
    s: &mut dyn Session,
    limit: Option<usize>,
    read: impl Fn(&mut dyn Session, Option<&R>) -> Result<Vec<R>>,
    keep: impl Fn(&mut dyn Session, &[R]) -> Result<Vec<T>>,
) -> Result<Page<T>> {
    let (mut kept, mut rows) = (Vec::new(), read(s, None)?);
    loop {
        kept.extend(keep(s, &rows)?);
        if rows.len() < CHUNK || limit.is_some_and(|limit| kept.len() > limit) {
            return Ok(Page::of(kept, limit));
        }
        rows = read(s, rows.last())?;
    }
}

/// The names of the groups that a filter means; none for all.
fn groups_of(s: &mut dyn Session, of: Grouped, filter: &JobFilter) -> Result<Option<Vec<String>>> {
    match filter.groups_wanted() {
        None | Some(GroupMatcher::Any) => Ok(None),
        Some(GroupMatcher::Equals(group)) => Ok(Some(vec![group.clone()])),
        Some(matcher) => Ok(Some(s.groups(of)?.into_iter().filter(|group| matcher.matches(group)).collect())),
    }
}
