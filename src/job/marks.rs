//! `JobMarks`: what people and other systems know a job by: business key, tags, owner, name,
//! metadata.

use crate::error::{Error, Result};
use crate::key::{check_name, check_text};
use crate::setters::setters;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The longest business key, owner or name, in characters.
const MAX_CHARS: usize = 190;

/// The longest tag, in characters.
const MAX_TAG_CHARS: usize = 100;

/// The most tags of a job.
const MAX_TAGS: usize = 50;

/// The longest marks as they are stored, in bytes.
const MAX_MARKS_BYTES: usize = 16_000;

/// Marks by which people and other systems know a job. The scheduler only finds jobs by them, see
/// [`JobFilter`](crate::JobFilter).
///
/// Marks are stored with the job, in side tables, and are deleted with it: a node of Quartz knows
/// nothing of them.
///
/// ```
/// use carnelian::{IfExists, JobDetail, JobFilter, JobKey, JobMarks, Scheduler};
///
/// let scheduler = Scheduler::builder().build()?;
/// let marks = JobMarks::new().biz_key("order-17").owner("ada").tag("billing").tag("v2").metadata("team", "books");
/// let job = JobDetail::builder(JobKey::named("invoice"), "mail").durable(true).marks(marks).build()?;
/// scheduler.add_job(&job, IfExists::Refuse)?;
/// let found = scheduler.find_jobs(&JobFilter::new().tag("billing").owner("ada"))?;
/// assert_eq!(found[0].marks().get_biz_key(), Some("order-17"));
/// assert!(scheduler.find_jobs(&JobFilter::new().tag("v1"))?.is_empty());
/// # Ok::<(), carnelian::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
#[must_use = "they do nothing until a job is given them"]
pub struct JobMarks {
    #[serde(skip_serializing_if = "Option::is_none")]
    biz_key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    tags: BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    metadata: BTreeMap<String, String>,
}

/// The marks of a job that has none.
pub(super) static NO_MARKS: JobMarks =
    JobMarks { biz_key: None, name: None, owner: None, tags: BTreeSet::new(), metadata: BTreeMap::new() };

impl JobMarks {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    setters! {
        /// The name of the work in the business, such as the number of an order; at most 190
        /// characters. Several jobs may have the same.
        pub fn biz_key(key: impl Into<String>) { self.biz_key = Some(key.into()) }

        /// A name for people, at most 190 characters.
        pub fn name(name: impl Into<String>) { self.name = Some(name.into()) }

        /// The person or team responsible, at most 190 characters.
        pub fn owner(owner: impl Into<String>) { self.owner = Some(owner.into()) }
    }

    /// Adds a tag, at most 100 characters; at most 50 tags.
    pub fn tag(mut self, tag: impl Into<String>) -> Self {
        self.tags.insert(tag.into());
        self
    }

    /// Adds an entry of other metadata. All marks together may take 16,000 bytes.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// The name of the work in the business.
    pub fn get_biz_key(&self) -> Option<&str> {
        self.biz_key.as_deref()
    }

    /// The name for people.
    pub fn get_name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// The person or team responsible.
    pub fn get_owner(&self) -> Option<&str> {
        self.owner.as_deref()
    }

    /// The tags, in order.
    pub fn tags(&self) -> impl ExactSizeIterator<Item = &str> {
        self.tags.iter().map(String::as_str)
    }

    /// The entries of metadata, in order of their keys.
    pub fn get_metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// True if there is nothing in them.
    pub fn is_empty(&self) -> bool {
        *self == NO_MARKS
    }

    /// Checks that they can be stored.
    pub(crate) fn check(&self) -> Result<()> {
        for (what, text) in [("business key", &self.biz_key), ("display name", &self.name), ("owner", &self.owner)] {
            text.as_deref().map_or(Ok(()), |text| mark(what, text, MAX_CHARS))?;
        }
        if self.tags.len() > MAX_TAGS {
            return Err(Error::invalid("tags", self.tags.len().to_string(), format!("expected at most {MAX_TAGS}")));
        }
        self.tags.iter().try_for_each(|tag| mark("tag", tag, MAX_TAG_CHARS))?;
        for (key, value) in &self.metadata {
            check_name("key of metadata", key)?;
            check_text("metadata", value, MAX_MARKS_BYTES)?;
        }
        self.encode().map(drop)
    }

    /// As they are stored; none if there are none.
    pub(crate) fn encode(&self) -> Result<Option<String>> {
        if self.is_empty() {
            return Ok(None);
        }
        let text = serde_json::to_string(self).map_err(|why| Error::invalid("marks", "", why.to_string()))?;
        if text.len() > MAX_MARKS_BYTES {
            let found = format!("{} bytes", text.len());
            return Err(Error::invalid(
                "marks",
                found,
                format!("expected at most {MAX_MARKS_BYTES}: shorten metadata"),
            ));
        }
        Ok(Some(text))
    }

    /// As they were stored, perhaps by a later version: what is not known here is passed over.
    pub(crate) fn decode(text: &str) -> std::result::Result<Self, String> {
        serde_json::from_str(text).map_err(|why| format!("MARKS: {why}"))
    }
}

/// Checks a text that jobs are looked for by: not empty, and what every database keeps as it is.
pub(crate) fn mark(what: &'static str, text: &str, limit: usize) -> Result<()> {
    check_text(what, text, limit)?;
    if text.trim() != text || text.is_empty() {
        return Err(Error::invalid(what, text, "expected a text without spaces at its ends"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_can_be_read_also_if_a_later_version_says_more() {
        let marks = JobMarks::new().biz_key("k").name("n").owner("o").tag("b").tag("a").metadata("x", "ü\n1");
        let text = marks.encode().unwrap().unwrap();
        assert_eq!(JobMarks::decode(&text).unwrap(), marks);
        let later = text.replacen('{', r#"{"colour": "red","#, 1);
        assert_eq!(JobMarks::decode(&later).unwrap(), marks);
        assert_eq!(JobMarks::new().encode().unwrap(), None);
        assert!(JobMarks::decode("[").is_err());
    }

    #[test]
    fn mistakes_are_named() {
        let many = (0..51).fold(JobMarks::new(), |marks, n| marks.tag(n.to_string()));
        for (marks, hint) in [
            (JobMarks::new().biz_key(""), "business key"),
            (JobMarks::new().owner(" ada"), "spaces at its ends"),
            (JobMarks::new().name("x".repeat(191)), "at most 190"),
            (JobMarks::new().tag("x".repeat(101)), "at most 100"),
            (many, "at most 50"),
            (JobMarks::new().metadata("", "v"), "key of metadata"),
            (JobMarks::new().metadata("k", "v".repeat(16_000)), "at most 16000"),
        ] {
            let error = marks.check().expect_err(hint).to_string();
            assert!(error.contains(hint), "{error}");
        }
    }
}
