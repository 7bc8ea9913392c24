//! Lists in pages.

use super::{Catalogue, TriggerSummary};
use crate::epoch::moment;
use crate::error::Result;
use crate::job::JobDetail;
use crate::matcher::GroupMatcher;
use crate::store::Session;
use crate::store::row::{JobQuery, ListedTrigger, Page, TriggerQuery};

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
            let groups = groups_of_triggers(s, query)?;
            s.trigger_page(&wanted, groups.as_deref())
        })?;
        Ok(Page::of(rows.into_iter().map(TriggerSummary::from).collect(), query.limit))
    }

    /// The number of triggers that the query asks for, on all pages. Reads each of them.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn count_triggers(&self, query: &TriggerQuery) -> Result<usize> {
        self.store.glance("count triggers", |s| {
            let groups = groups_of_triggers(s, query)?;
            s.count_triggers(query, groups.as_deref())
        })
    }

    /// The page of jobs that the query asks for, without their data.
    ///
    /// # Errors
    /// Failures of the database.
    pub fn list_jobs(&self, query: &JobQuery) -> Result<Page<JobDetail>> {
        let wanted = JobQuery { limit: query.limit.map(|limit| limit.saturating_add(1)), ..query.clone() };
        let rows = self.store.glance("list jobs", |s| {
            let groups = groups_of_jobs(s, query)?;
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
            let groups = groups_of_jobs(s, query)?;
            s.count_jobs(query, groups.as_deref())
        })
    }
}

fn groups_of_triggers(s: &mut dyn Session, query: &TriggerQuery) -> Result<Option<Vec<String>>> {
    resolved(query.filter.groups_wanted(), || s.trigger_groups())
}

fn groups_of_jobs(s: &mut dyn Session, query: &JobQuery) -> Result<Option<Vec<String>>> {
    resolved(query.filter.groups_wanted(), || s.job_groups())
}

/// The names of the groups that a matcher means; none for all.
fn resolved(
    groups: Option<&GroupMatcher>,
    stored: impl FnOnce() -> Result<Vec<String>>,
) -> Result<Option<Vec<String>>> {
    match groups {
        None | Some(GroupMatcher::Any) => Ok(None),
        Some(GroupMatcher::Equals(group)) => Ok(Some(vec![group.clone()])),
        Some(matcher) => Ok(Some(stored()?.into_iter().filter(|group| matcher.matches(group)).collect())),
    }
}

impl From<ListedTrigger> for TriggerSummary {
    fn from(row: ListedTrigger) -> Self {
        Self {
            key: row.key,
            job: row.job,
            kind: row.kind,
            state: row.state,
            next_fire_time: row.next_ms.map(moment),
            previous_fire_time: row.previous_ms.map(moment),
            priority: row.priority,
            misfire: row.misfire,
        }
    }
}
