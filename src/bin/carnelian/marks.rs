//! Marks of jobs on the command line: set, searched for, shown.

use crate::value::{self, With};
use carnelian::{GroupMatcher, JobDetail, JobFilter, JobMarks};
use clap::Args;

// Marks by which people and other systems know a job; as a doc comment it would be the help of the
// command.
#[derive(Args)]
#[command(next_help_heading = "Marks")]
pub struct MarkFlags {
    /// The name of the work in the business, such as the number of an order
    #[arg(long, value_name = "KEY")]
    pub biz_key: Option<String>,
    /// A name for people
    #[arg(long, value_name = "TEXT")]
    pub name: Option<String>,
    /// The person or team responsible
    #[arg(long, value_name = "WHO")]
    pub owner: Option<String>,
    /// A word to find the job by; may be repeated
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
    /// One entry of whatever else is to be known of the job; may be repeated
    #[arg(long, value_name = "K=V", value_parser = value::entry)]
    pub meta: Vec<(String, String)>,
}

impl MarkFlags {
    pub fn marks(&self) -> JobMarks {
        let marks = JobMarks::new()
            .with(self.biz_key.as_ref(), JobMarks::biz_key)
            .with(self.name.as_ref(), JobMarks::name)
            .with(self.owner.as_ref(), JobMarks::owner);
        let marks = self.tag.iter().fold(marks, JobMarks::tag);
        self.meta.iter().fold(marks, |marks, (key, value)| marks.metadata(key, value))
    }
}

// The filter of a list; as a doc comment it would be the help of the command.
#[derive(Args)]
pub struct Filter {
    /// Only this group
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Only of jobs with this business key
    #[arg(long, value_name = "KEY")]
    pub biz_key: Option<String>,
    /// Only of jobs of this owner
    #[arg(long, value_name = "WHO")]
    pub owner: Option<String>,
    /// Only of jobs with this tag; repeated: with all of them
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
}

impl Filter {
    pub fn filter(&self) -> JobFilter {
        let filter = JobFilter::new()
            .with(self.group.as_ref().map(GroupMatcher::equals), JobFilter::groups)
            .with(self.biz_key.as_ref(), JobFilter::biz_key)
            .with(self.owner.as_ref(), JobFilter::owner);
        self.tag.iter().fold(filter, JobFilter::tag)
    }
}

/// The marks as lines for people.
pub fn lines(job: &JobDetail) -> Vec<(&'static str, Option<String>)> {
    let marks = job.marks();
    let mut shown = vec![
        ("name", marks.get_name().map(str::to_owned)),
        ("business key", marks.get_biz_key().map(str::to_owned)),
        ("owner", marks.get_owner().map(str::to_owned)),
        ("tags", Some(tags(job)).filter(|tags| !tags.is_empty())),
    ];
    shown.extend(marks.get_metadata().iter().map(|(key, value)| ("metadata", Some(format!("{key} = {value}")))));
    shown
}

/// The tags in one cell of a table.
pub fn tags(job: &JobDetail) -> String {
    job.marks().tags().collect::<Vec<_>>().join(" ")
}
