//! `JobFilter`: which jobs are looked for, by their groups and by their marks.

use super::marks::JobMarks;
use crate::matcher::GroupMatcher;
use crate::setters::setters;

/// A filter of jobs, triggers or running fires; everything passes by default. Each condition
/// narrows the search.
///
/// Triggers and fires are found by the marks of their jobs; groups are those of the triggers or
/// fires themselves. A search by marks uses indexes, and does not read the jobs without marks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use = "it finds nothing by itself"]
pub struct JobFilter {
    groups: Option<GroupMatcher>,
    pub(crate) biz_key: Option<String>,
    pub(crate) owner: Option<String>,
    pub(crate) tags: Vec<String>,
}

impl JobFilter {
    /// All of them.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// Only these groups.
        pub fn groups(groups: GroupMatcher) { self.groups = Some(groups) }

        /// Only jobs of this business key.
        pub fn biz_key(key: impl Into<String>) { self.biz_key = Some(key.into()) }

        /// Only jobs of this owner.
        pub fn owner(owner: impl Into<String>) { self.owner = Some(owner.into()) }
    }

    /// Only jobs with this tag; said again: with all of these.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        let tag = tag.into();
        if !self.tags.contains(&tag) {
            self.tags.push(tag);
        }
        self
    }

    /// True if anything but groups is asked for.
    pub(crate) fn asks_for_marks(&self) -> bool {
        self.biz_key.is_some() || self.owner.is_some() || !self.tags.is_empty()
    }

    pub(crate) fn groups_wanted(&self) -> Option<&GroupMatcher> {
        self.groups.as_ref()
    }

    pub(crate) fn takes_group(&self, group: &str) -> bool {
        self.groups.as_ref().is_none_or(|groups| groups.matches(group))
    }

    /// True if a job with these marks is looked for.
    pub(crate) fn takes_marks(&self, marks: &JobMarks) -> bool {
        self.biz_key.as_deref().is_none_or(|key| marks.get_biz_key() == Some(key))
            && self.owner.as_deref().is_none_or(|owner| marks.get_owner() == Some(owner))
            && self.tags.iter().all(|tag| marks.tags().any(|one| one == tag))
    }
}
