//! Job files: jobs and triggers in XML, in Quartz's format `job_scheduling_data` 2.0.
//!
//! A file is read as a whole before anything is stored. [`JobFile::read`] gives its values, or
//! every problem at once with file, line and element.
//! [`Scheduler::import`](crate::Scheduler::import) and
//! [`Catalogue::import`](crate::store::Catalogue::import) store the values in one transaction.

mod contents;
mod document;
mod loading;
pub(crate) mod plan;
mod problem;
mod reader;
mod reader_trigger;
mod shape;
mod time;

use crate::job::JobDetail;
use crate::key::{JobKey, TriggerKey};
use crate::trigger::Trigger;
use std::collections::BTreeSet;

pub use problem::{JobFileError, JobFileErrors};

/// The group of the jobs with which Java nodes watch their job files; no job file deletes in it.
pub const LOADER_GROUP: &str = "JobSchedulingDataLoaderPlugin";

/// A job file: the jobs and triggers that it deletes and stores, and how it treats those that are
/// stored already.
///
/// The format and its rules are Quartz's. Elements stand in the order of the schema. Without the
/// directives `overwrite-existing-data` is true and `ignore-duplicates` false. A time without an
/// offset is in the machine's time zone, as is a cron expression without a `time-zone`. A
/// `job-class` is a job type: register the job under the Java class name.
///
/// ```
/// use carnelian::job_file::JobFile;
///
/// let text = r#"
///     <job-scheduling-data xmlns="http://www.quartz-scheduler.org/xml/JobSchedulingData" version="2.0">
///         <schedule>
///             <job>
///                 <name>report</name>
///                 <job-class>org.example.ReportJob</job-class>
///             </job>
///             <trigger>
///                 <cron>
///                     <name>nightly</name>
///                     <job-name>report</job-name>
///                     <cron-expression>0 30 2 * * ?</cron-expression>
///                     <time-zone>Europe/Paris</time-zone>
///                 </cron>
///             </trigger>
///         </schedule>
///     </job-scheduling-data>"#;
/// let file = JobFile::parse("jobs.xml", text.as_bytes(), chrono_tz::UTC)?;
/// assert_eq!(file.jobs().map(|job| job.job_type()).collect::<Vec<_>>(), ["org.example.ReportJob"]);
/// assert_eq!(file.triggers().count(), 1);
///
/// let wrong = text.replace("<job-name>report</job-name>", "<job-nam>report</job-nam>");
/// let errors = JobFile::parse("jobs.xml", wrong.as_bytes(), chrono_tz::UTC).unwrap_err();
/// assert_eq!(errors.errors()[0].line(), Some(9));
/// # Ok::<(), carnelian::job_file::JobFileErrors>(())
/// ```
#[doc(alias = "XMLSchedulingDataProcessor")]
#[derive(Clone, Debug)]
pub struct JobFile {
    pub(crate) name: String,
    pub(crate) commands: Commands,
    pub(crate) directives: Directives,
    pub(crate) jobs: Vec<FileJob>,
    pub(crate) triggers: Vec<FileTrigger>,
    pub(crate) protected_job_groups: BTreeSet<String>,
    pub(crate) protected_trigger_groups: BTreeSet<String>,
    pub(crate) keeps_unchanged: bool,
}

/// `pre-processing-commands`. A group `*` is every group.
#[derive(Clone, Debug, Default)]
pub(crate) struct Commands {
    pub job_groups: Vec<String>,
    pub trigger_groups: Vec<String>,
    pub jobs: Vec<JobKey>,
    pub triggers: Vec<TriggerKey>,
}

impl Commands {
    pub(crate) fn is_empty(&self) -> bool {
        self.job_groups.is_empty() && self.trigger_groups.is_empty() && self.jobs.is_empty() && self.triggers.is_empty()
    }
}

/// `processing-directives`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directives {
    pub overwrite: bool,
    pub ignore: bool,
    pub relative: bool,
}

impl Default for Directives {
    fn default() -> Self {
        Self { overwrite: true, ignore: false, relative: false }
    }
}

/// A job of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileJob {
    pub line: usize,
    /// Without the two flags that Java takes from annotations of the class.
    pub detail: JobDetail,
    /// Flags of the class, if somebody knows them.
    pub flags: Option<JobFlags>,
}

/// Flags that a Java job class has by annotations, and no job file has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobFlags {
    /// `@DisallowConcurrentExecution`.
    pub disallow_concurrent_execution: bool,
    /// `@PersistJobDataAfterExecution`.
    pub persist_job_data_after_execution: bool,
}

/// A trigger of a file.
#[derive(Clone, Debug)]
pub(crate) struct FileTrigger {
    pub line: usize,
    pub trigger: Trigger,
    pub start: Start,
}

/// The time at which a trigger of a file starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// The time at which the file is stored.
    Now,
    /// Milliseconds after it is stored.
    After(i64),
    /// Epoch milliseconds.
    At(i64),
}

impl JobFile {
    /// The name of the file, as it was given.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The jobs it defines, in order.
    pub fn jobs(&self) -> impl Iterator<Item = &JobDetail> {
        self.jobs.iter().map(|job| &job.detail)
    }

    /// The triggers it defines, in order; one without a start has none yet.
    pub fn triggers(&self) -> impl Iterator<Item = &Trigger> {
        self.triggers.iter().map(|trigger| &trigger.trigger)
    }

    /// Says if the file replaces jobs and triggers that exist: the directive
    /// `overwrite-existing-data`.
    pub fn overwrites_existing_data(&self) -> bool {
        self.directives.overwrite
    }

    /// Says if the file passes over jobs and triggers that exist and are not replaced, which is an
    /// error otherwise: the directive `ignore-duplicates`.
    pub fn ignores_duplicates(&self) -> bool {
        self.directives.ignore
    }

    /// Sets what the directive `overwrite-existing-data` says, whatever stands in the file.
    pub fn overwrite_existing_data(mut self, yes: bool) -> Self {
        self.directives.overwrite = yes;
        self
    }

    /// Protects a group from all commands of the file that delete jobs. [`LOADER_GROUP`] always is.
    #[doc(alias = "addJobGroupToNeverDelete")]
    pub fn never_delete_job_group(mut self, group: impl Into<String>) -> Self {
        self.protected_job_groups.insert(group.into());
        self
    }

    /// Protects a group from all commands of the file that delete triggers. [`LOADER_GROUP`] is
    /// always protected.
    #[doc(alias = "addTriggerGroupToNeverDelete")]
    pub fn never_delete_trigger_group(mut self, group: impl Into<String>) -> Self {
        self.protected_trigger_groups.insert(group.into());
        self
    }

    /// Leaves a stored trigger that equals the file's as it is, with its state, its count and its
    /// next fire time, also if the file's commands name it or its job. Default: no, as in Quartz,
    /// where overwriting begins the trigger anew.
    pub fn keep_unchanged(mut self, yes: bool) -> Self {
        self.keeps_unchanged = yes;
        self
    }

    /// Adds the flags of job types, which no job file has and Java takes from annotations. A job
    /// whose type gets none here keeps its stored flags. A new job of such a type has none.
    pub fn with_flags(mut self, of_type: impl Fn(&str) -> Option<JobFlags>) -> Self {
        for job in &mut self.jobs {
            job.flags = of_type(job.detail.job_type()).or(job.flags);
        }
        self
    }
}
