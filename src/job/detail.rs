//! `JobDetail`: the stored definition of a job, with its four flags.

use super::marks::{JobMarks, NO_MARKS};
use super::policy::{JobPolicy, NO_POLICY};
use crate::data_map::{DataValue, JobDataMap};
use crate::error::Result;
use crate::key::{JobKey, check_text};
use crate::setters::setters;
use std::sync::Arc;

/// The stored description of a job: its key, its type and how it runs.
///
/// The type is the name under which the code was registered; to share a job with Java nodes it is
/// the Java class name. Quartz calls the flags `storeDurably`, `requestRecovery`,
/// `@DisallowConcurrentExecution` and `@PersistJobDataAfterExecution`.
///
/// ```
/// use carnelian::{JobDetail, JobKey};
///
/// let job = JobDetail::builder(JobKey::new("billing", "nightly"), "billing.close_day")
///     .description("closes the day's books")
///     .requests_recovery(true)
///     .disallow_concurrent_execution(true)
///     .data("currency", "EUR")
///     .build()?;
/// assert!(!job.is_durable());
/// # Ok::<(), carnelian::Error>(())
/// ```
#[doc(alias = "org.quartz.JobDetail")]
#[derive(Clone, Debug, PartialEq)]
pub struct JobDetail {
    pub(crate) key: JobKey,
    pub(crate) job_type: Arc<str>,
    pub(crate) description: Option<String>,
    pub(crate) durable: bool,
    pub(crate) requests_recovery: bool,
    pub(crate) disallow_concurrent_execution: bool,
    pub(crate) persist_job_data_after_execution: bool,
    pub(crate) data: JobDataMap,
    /// None where it says nothing, as most do: a fire copies its job, which is to stay small.
    pub(crate) policy: Option<Box<JobPolicy>>,
    /// None where there are none, and where they were not read: a run does not see them.
    pub(crate) marks: Option<Box<JobMarks>>,
    pub(crate) version: Option<u32>,
    /// Not stored: a wish for the moment of storing.
    pub(crate) even_if_deprecated: bool,
    /// Not stored either.
    pub(crate) even_beside_quartz: bool,
}

impl JobDetail {
    /// Begins a job of the given key and type.
    pub fn builder(key: JobKey, job_type: impl Into<String>) -> JobDetailBuilder {
        JobDetailBuilder {
            detail: JobDetail {
                key,
                job_type: job_type.into().into(),
                description: None,
                durable: false,
                requests_recovery: false,
                disallow_concurrent_execution: false,
                persist_job_data_after_execution: false,
                data: JobDataMap::new(),
                policy: None,
                marks: None,
                version: None,
                even_if_deprecated: false,
                even_beside_quartz: false,
            },
        }
    }

    /// Begins a job like this one.
    ///
    /// ```
    /// # use carnelian::{JobDetail, JobKey};
    /// # let job = JobDetail::builder(JobKey::new("billing", "nightly"), "billing.close_day").build()?;
    /// let copy = job.to_builder().key(JobKey::new("billing", "by-hand")).durable(true).build()?;
    /// assert_eq!(copy.job_type(), job.job_type());
    /// # Ok::<(), carnelian::Error>(())
    /// ```
    #[doc(alias = "getJobBuilder")]
    pub fn to_builder(&self) -> JobDetailBuilder {
        JobDetailBuilder { detail: self.clone() }
    }

    /// The key of the job.
    pub fn key(&self) -> &JobKey {
        &self.key
    }

    /// The name of its code: what it was registered as, or the Java class.
    #[doc(alias = "JOB_CLASS_NAME")]
    pub fn job_type(&self) -> &str {
        &self.job_type
    }

    /// A note for people.
    pub fn description(&self) -> Option<&str> {
        self.description.as_deref()
    }

    /// True if the job stays stored when no trigger points to it. Default: no.
    #[doc(alias = "storeDurably")]
    pub fn is_durable(&self) -> bool {
        self.durable
    }

    /// True if another node runs it again when its node dies while it runs. Default: no.
    pub fn requests_recovery(&self) -> bool {
        self.requests_recovery
    }

    /// True if at most one fire of it may run in the whole cluster. Default: no.
    #[doc(alias = "DisallowConcurrentExecution")]
    pub fn disallows_concurrent_execution(&self) -> bool {
        self.disallow_concurrent_execution
    }

    /// True if changes a run makes to the job's data are stored after it. Default: no.
    #[doc(alias = "PersistJobDataAfterExecution")]
    pub fn persists_job_data_after_execution(&self) -> bool {
        self.persist_job_data_after_execution
    }

    /// The job's data.
    pub fn data(&self) -> &JobDataMap {
        &self.data
    }

    /// The job's policy about runs that take too long, fall silent or die. Default: that of Quartz.
    pub fn policy(&self) -> &JobPolicy {
        self.policy.as_deref().unwrap_or(&NO_POLICY)
    }

    /// The marks by which people and other systems know the job. Default: none. The job in a run's
    /// context has no marks: ask the scheduler for them.
    pub fn marks(&self) -> &JobMarks {
        self.marks.as_deref().unwrap_or(&NO_MARKS)
    }

    /// The version of its type's data that the job's data are of, if the version was given or
    /// noted. A job that is stored without a version gets that of its type on this node; data of
    /// unknown version count as version 1.
    pub fn version(&self) -> Option<u32> {
        self.version
    }

    /// Checks that every field can be stored.
    pub(crate) fn check(&self) -> Result<()> {
        self.key.check()?;
        check_text("job type", &self.job_type, 250)?;
        if self.job_type.is_empty() {
            return Err(crate::Error::invalid("job type", "", "expected the name the job's code is registered under"));
        }
        if self.version == Some(0) {
            return Err(crate::Error::invalid("version", "0", "expected 1 or more: the first version is 1"));
        }
        if let Some(text) = &self.description {
            check_text("job description", text, 250)?;
        }
        self.marks.as_deref().map_or(Ok(()), JobMarks::check)?;
        self.policy().check(self.requests_recovery, self.disallow_concurrent_execution)
    }
}

/// Builds a [`JobDetail`]; made by [`JobDetail::builder`].
#[derive(Clone, Debug)]
pub struct JobDetailBuilder {
    detail: JobDetail,
}

impl JobDetailBuilder {
    setters! {
        /// Another key than it was begun with.
        #[doc(alias = "withIdentity")]
        pub fn key(key: JobKey) { self.detail.key = key }

        /// Another type than it was begun with.
        #[doc(alias = "ofType")]
        pub fn job_type(job_type: impl Into<String>) { self.detail.job_type = job_type.into().into() }

        /// A note for people, at most 250 characters.
        pub fn description(text: impl Into<String>) { self.detail.description = Some(text.into()) }

        /// See [`JobDetail::is_durable`].
        pub fn durable(yes: bool) { self.detail.durable = yes }

        /// See [`JobDetail::requests_recovery`].
        pub fn requests_recovery(yes: bool) { self.detail.requests_recovery = yes }

        /// See [`JobDetail::disallows_concurrent_execution`].
        pub fn disallow_concurrent_execution(yes: bool) { self.detail.disallow_concurrent_execution = yes }

        /// See [`JobDetail::persists_job_data_after_execution`].
        pub fn persist_job_data_after_execution(yes: bool) { self.detail.persist_job_data_after_execution = yes }

        /// See [`JobPolicy`].
        pub fn policy(policy: JobPolicy) { self.detail.policy = policy.boxed() }

        /// See [`JobMarks`].
        pub fn marks(marks: JobMarks) { self.detail.marks = (!marks.is_empty()).then(|| Box::new(marks)) }

        /// Says of which version of its type's data its data are; from 1. Default: that of the type
        /// where it is stored.
        ///
        /// Data of an earlier version than the type's are upgraded when the job runs, see
        /// [`JobType::upgrade`](crate::JobType::upgrade).
        pub fn version(version: u32) { self.detail.version = Some(version) }
    }

    /// Has it stored even if its type is deprecated, see
    /// [`JobType::deprecated`](crate::JobType::deprecated). Only the moment of storing knows of it.
    pub fn even_if_deprecated(mut self) -> Self {
        self.detail.even_if_deprecated = true;
        self
    }

    /// Has it stored even if it has a [placement](crate::placement::Placement) and a node of
    /// Quartz, which heeds none, is a member of the cluster. Only the moment of storing knows of
    /// it.
    pub fn even_beside_quartz(mut self) -> Self {
        self.detail.even_beside_quartz = true;
        self
    }

    /// Adds one entry of data. All data together take at most 65,535 bytes as they are stored: keep
    /// a reference to what is larger.
    pub fn data(mut self, key: impl Into<String>, value: impl Into<DataValue>) -> Self {
        self.detail.data.put(key, value);
        self
    }

    /// Replaces all data: at most 65,535 bytes as they are stored.
    pub fn data_map(mut self, data: JobDataMap) -> Self {
        self.detail.data = data;
        self
    }

    /// The job.
    ///
    /// # Errors
    /// [`Error::Invalid`](crate::Error::Invalid) for a name, type or description that no table can
    /// hold.
    pub fn build(self) -> Result<JobDetail> {
        self.detail.check()?;
        Ok(self.detail)
    }
}
